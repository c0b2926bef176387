import type { GracefulEnd } from '../config/change.js';
import { Worker } from 'node:worker_threads';
import type { EventMessage } from '../api/event-message.js';
import type { ToldMessage } from '../kernel/channel-hub.js';
import { ParticipantGone, type ChangeInputs, type Participant } from '../changes/participant.js';
import { within } from '../changes/time-limit.js';
import { failureOf } from '../worker/failure.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { LifeSigns } from '../worker/life-signs.js';
import { HangWatch } from './hang-watch.js';
import type { FromWorker, ToWorker, WorkerData, WorkerStart, WorkerState } from '../worker/protocol.js';
import { ELSEWHERE, type SocketRequest } from '../net/socket-source.js';
import { OpenDescriptors } from '../net/transport/open-descriptors.js';
import { freeAbandoned } from '../net/transport/transports.js';
import type { BoundSocket } from './bound-sockets.js';

const WORKER_FILE = new URL('../worker/main.js', import.meta.url);
/** Milliseconds for a worker that has to end at once, before it is cut off. */
const STOP_MS = 2000;
/** Milliseconds in which a thread ends when it is cut off: only one in a system call takes longer. */
const TERMINATE_MS = 3000;

/** How a worker thread ended. */
export interface WorkerEnd {
  readonly code: number;
  /** Cause of its death, when it is known: an out-of-memory, an uncaught error outside of its own handlers. */
  readonly error: Error | undefined;
  /** Why, for people. */
  readonly reason: string;
  /** The thread is still there: it is in a call of the system that does not return. */
  readonly isStuck: boolean;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** The owner of a worker, which takes care of it. */
export interface WorkerOwner {
  /** It has to be ended from outside, also after a request to end: it would keep the server from ending. */
  onHang(handle: WorkerHandle, reason: string): void;
  /** It had an unexpected error, and serves until it is replaced. */
  onFailing(handle: WorkerHandle, reason: string): void;
  onEvent(event: EventMessage): void;
  /** A module there sends its half in this thread a message. */
  onTold(handle: WorkerHandle, message: ToldMessage): void;
  /** It has modules to stop: {@link WorkerHandle.retire} is to follow; or it has done so. */
  onRetire(handle: WorkerHandle, step: 'retiring' | 'retired'): void;
  /** It wants a socket. @throws Error of the system */
  onSocket(handle: WorkerHandle, request: SocketRequest): Promise<BoundSocket | typeof ELSEWHERE | undefined>;
}

/** One worker thread as the master sees it. */
export class WorkerHandle implements Participant {
  readonly name: string;
  readonly threadId: number;
  /** Resolves when {@link boot} can be called. */
  readonly loaded: Promise<void>;
  /** Resolves when it serves traffic; rejects with the reasons when it cannot, or with {@link ParticipantGone}. */
  readonly ready: Promise<void>;
  readonly ended: Promise<WorkerEnd>;
  readonly startedAt = Date.now();
  readonly index: number;
  /** See {@link WorkerStart.place}. */
  readonly place: number;
  /** Requests that the workers at its place had been sent when it started. */
  readonly requestsBefore: number;
  /** True after a request to end: it need not be replaced. */
  leaving = false;
  /** True from the moment whose state it got: it gets every change since. */
  follows = false;
  readonly #thread: Worker;
  /** Responses that are due, by `kind number`. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #zones: ZoneSet;
  #publications = 0;
  /** The newest zone that was shared with it. */
  #lastZone = 0;
  /** It has applied that state and opens its sockets, or has done so. */
  #booted = false;
  #gone = false;
  /** As it has reported them last. */
  #descriptors: readonly (readonly [key: string, descriptor: number])[] = [];
  readonly #watch: HangWatch;
  readonly #signs = new LifeSigns();
  readonly #open = new OpenDescriptors();
  #error: Error | undefined;
  #isStuck = false;
  #giveUp: () => void = () => undefined;
  /** Why it was ended from outside. */
  #hang: string | undefined;
  #hangingModule: string | undefined;

  constructor(
    start: WorkerStart,
    limits: { readonly maxOldGenerationSizeMb: number },
    { zones, requests }: { readonly zones: ZoneSet; readonly requests: number },
    private readonly owner: WorkerOwner,
  ) {
    const { index, place } = start;
    this.index = index;
    this.place = place;
    this.name = `worker ${index}`;
    this.#zones = zones;
    this.requestsBefore = requests;
    this.#watch = new HangWatch({
      ask: () => this.#post({ kind: 'ping' }),
      folder: () => (this.#signs.thread === 0 ? undefined : `/proc/self/task/${this.#signs.thread}`),
      progress: () => this.#signs.steps,
      onHang: (reason) => {
        const { module } = this.#signs;
        this.#hangingModule = module;
        this.#hang = module === undefined ? reason : `${reason}, in a call of module "${module}"`;
        owner.onHang(this, this.#hang);
      },
    });
    this.#thread = new Worker(WORKER_FILE, {
      workerData: { ...start, signs: this.#signs.memory, descriptors: this.#open.memory } satisfies WorkerData,
      name: `srv ${this.name}`,
      resourceLimits: limits,
    });
    this.threadId = this.#thread.threadId;
    this.loaded = this.#response('loaded');
    this.ready = this.#response('ready');
    this.ended = new Promise((resolve) => {
      this.#thread.once('exit', (code) => {
        this.#isStuck = false;
        this.#open.closeAll(freeAbandoned);
        resolve(this.#end(code));
      });
      this.#giveUp = () => resolve(this.#end(1));
    });
    this.#thread.on('error', (error: unknown) => (this.#error = error instanceof Error ? error : new Error(String(error))));
    this.#thread.on('message', (message: FromWorker) => this.#take(message));
    // Callers that wait for it see the rejection as well; it is fine if there are none.
    this.loaded.catch(() => undefined);
    this.ready.catch(() => undefined);
  }

  /** Gives it the current state: no transaction may be under way. Resolves when it is applied there; {@link ready} has failures. */
  async boot(state: WorkerState): Promise<void> {
    if (this.#gone || this.leaving) return;
    this.follows = true;
    this.#lastZone = this.#zones.last;
    const booted = this.#response('booted');
    this.#post({ kind: 'boot', state });
    await booted.catch(() => undefined);
  }

  prepare(tx: number, operations: string, { rereads, files, modules }: ChangeInputs): Promise<void> {
    const zones = this.#zones.shares(this.#lastZone);
    this.#lastZone = this.#zones.last;
    return this.#ask({ kind: 'prepare', tx, operations, rereads, files, modules, zones }, `prepared ${tx}`);
  }

  commit(tx: number): Promise<void> {
    return this.#ask({ kind: 'commit', tx }, `committed ${tx}`);
  }

  abort(tx: number): void {
    this.#waiting.delete(`prepared ${tx}`);
    this.#post({ kind: 'abort', tx });
  }

  publish(channel: string, data: unknown): Promise<void> {
    const id = ++this.#publications;
    // One that boots takes it before it opens its sockets: no caller has to wait for that.
    if (!this.#booted) return Promise.resolve(this.#post({ kind: 'publish', id, channel, data }));
    return this.#ask({ kind: 'publish', id, channel, data }, `published ${id}`);
  }

  /** Finds out whether it hangs, from its start on: a long start gives signs of life. */
  suspect(): void {
    if (!this.#gone) this.#watch.ask();
  }

  /** Closes connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): void {
    this.#post({ kind: 'cutOff', time });
  }

  /** @param stops false: it leaves modules that are not used any more as they are */
  retire(stops: boolean): void {
    this.#post({ kind: 'retire', stops });
  }

  /** The sockets that it has open. Resolves with none for one that has ended. */
  async descriptors(): Promise<readonly (readonly [key: string, descriptor: number])[]> {
    this.#descriptors = [];
    await this.#ask({ kind: 'descriptors' }, 'descriptors').catch(() => undefined);
    return this.#descriptors;
  }

  /** Another program is about to listen on the same sockets. Resolves also for one that has ended. */
  async moveFlows(): Promise<void> {
    await this.#ask({ kind: 'moveFlows' }, 'flowsMoved').catch(() => undefined);
  }

  /** Another program listens on the same sockets. */
  leaveFiles(): void {
    this.#post({ kind: 'leaveFiles' });
  }

  reopenLogs(): void {
    this.#post({ kind: 'reopen' });
  }

  /** Ends it when its requests are finished, or when its time is over. */
  async quit(end: GracefulEnd): Promise<void> {
    this.leaving = true;
    this.#post({ kind: 'quit', end });
    await this.ended;
  }

  /** Ends it now. */
  async stop(): Promise<void> {
    this.leaving = true;
    this.#post({ kind: 'stop' });
    const cut = setTimeout(() => void this.terminate(), STOP_MS);
    await this.ended;
    clearTimeout(cut);
  }

  /** Ends it without asking: it hangs. */
  async terminate(): Promise<void> {
    try {
      await within(TERMINATE_MS, this.#thread.terminate());
    } catch {
      this.#isStuck = true;
      this.#giveUp();
    }
  }

  /** It was given up, and its thread keeps the process from ending. */
  get isStuck(): boolean {
    return this.#isStuck;
  }

  #ask(message: ToWorker, response: string): Promise<void> {
    if (this.#gone) return Promise.reject(new ParticipantGone(this.name));
    const responded = this.#response(response);
    this.#post(message);
    return responded;
  }

  #response(key: string): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.set(key, { resolve, reject }));
  }

  #post(message: ToWorker): void {
    if (!this.#gone) this.#thread.postMessage(message);
  }

  #take(message: FromWorker): void {
    switch (message.kind) {
      case 'loaded':
        return this.#settle('loaded');
      case 'ready':
        return this.#settle('ready');
      case 'booted':
        this.#booted = true;
        this.#post({ kind: 'open' });
        return this.#settle('booted');
      case 'failed':
        for (const step of ['loaded', 'booted', 'ready']) this.#settle(step, failureOf(message.failure));
        return;
      case 'failing':
        return this.owner.onFailing(this, message.reason);
      case 'prepared':
        return this.#settle(`prepared ${message.tx}`, message.failure && failureOf(message.failure));
      case 'committed':
        return this.#settle(`committed ${message.tx}`);
      case 'published':
        return this.#settle(`published ${message.id}`);
      case 'flowsMoved':
        return this.#settle('flowsMoved');
      case 'descriptors':
        this.#descriptors = message.descriptors;
        return this.#settle('descriptors');
      case 'socket':
        return void this.#bind(message.id, message.request);
      case 'event':
        return this.owner.onEvent(message.event);
      case 'told':
        return this.owner.onTold(this, message.message);
      case 'retiring':
      case 'retired':
        return this.owner.onRetire(this, message.kind);
      case 'pong':
        return this.#watch.responded();
    }
  }

  async #bind(id: number, request: SocketRequest): Promise<void> {
    try {
      const socket = await this.owner.onSocket(this, request);
      if (socket === ELSEWHERE) return this.#post({ kind: 'socket', id, descriptor: ELSEWHERE });
      if (this.#gone) return socket?.close();
      socket?.passOn();
      this.#post({ kind: 'socket', id, descriptor: socket?.descriptor });
    } catch (error) {
      this.#post({ kind: 'socket', id, error: (error as NodeJS.ErrnoException).code ?? String(error) });
    }
  }

  #settle(key: string, failure?: Error): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    this.#waiting.delete(key);
    if (failure) waiting.reject(failure);
    else waiting.resolve();
  }

  #end(code: number): WorkerEnd {
    this.#gone = true;
    this.#watch.responded();
    const reason = this.#causeOf(code);
    const gone = new ParticipantGone(this.name, reason, this.#hang !== undefined || this.#signs.prepares !== 0, this.#hangingModule);
    for (const { reject } of this.#waiting.values()) reject(gone);
    this.#waiting.clear();
    return { code, error: this.#error, reason, isStuck: this.#isStuck };
  }

  #causeOf(code: number): string {
    if (this.#hang !== undefined) return this.#hang;
    if (this.#error === undefined) return `exit code ${code}`;
    const { code: kind, message } = this.#error as NodeJS.ErrnoException;
    return kind === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory: raise "worker_heap_size"' : message;
  }
}
