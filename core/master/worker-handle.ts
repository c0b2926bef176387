import type { FileContents } from '../config/input-files.js';
import { Worker } from 'node:worker_threads';
import type { EventMessage } from '../control/event-message.js';
import { ParticipantGone, type Participant } from '../control/participant.js';
import { failureOf } from '../worker/failure.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { HangWatch } from './hang-watch.js';
import type { FromWorker, ToWorker, WorkerStart, WorkerState } from '../worker/protocol.js';

const WORKER_FILE = new URL('../worker/main.js', import.meta.url);
/** What a worker that was told to end at once may take before it is cut off. */
const STOP_MS = 2000;

/** How a worker thread ended. */
export interface WorkerEnd {
  readonly code: number;
  /** What it died of, when it is known: an out-of-memory, an uncaught error outside of its own handlers. */
  readonly error: Error | undefined;
  /** Why, for people. */
  readonly reason: string;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Who takes care of a worker. */
export interface WorkerOwner {
  /** It has to be ended from outside, also if it was told to end: it would keep the server from ending. */
  onHang(handle: WorkerHandle, reason: string): void;
  /** It had an error nobody expected, and serves until it is replaced. */
  onFailing(handle: WorkerHandle, reason: string): void;
  onEvent(event: EventMessage): void;
}

/** One worker thread as the master sees it. */
export class WorkerHandle implements Participant {
  readonly name: string;
  readonly threadId: number;
  /** Resolves when it can be told to {@link boot}. */
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
  /** It was told to end: it need not be replaced. */
  leaving = false;
  /** It has been given the state of one moment, and is told of every change since. */
  follows = false;
  readonly #thread: Worker;
  /** Responses that are due, by `kind number`. */
  readonly #waiting = new Map<string, Waiting>();
  readonly #zones: ZoneSet;
  #publications = 0;
  /** The newest zone that was shared with it. */
  #lastZone = 0;
  /** It has that state in force and opens its sockets, or has done so. */
  #booted = false;
  #serves = false;
  #gone = false;
  readonly #watch: HangWatch;
  #error: Error | undefined;
  /** Why it was ended from outside. */
  #hang: string | undefined;

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
    this.#watch = new HangWatch(
      () => this.#post({ kind: 'ping' }),
      (reason) => owner.onHang(this, (this.#hang = reason)),
    );
    this.#thread = new Worker(WORKER_FILE, {
      workerData: start,
      name: `srv ${this.name}`,
      resourceLimits: limits,
      execArgv: [...process.execArgv, '--enable-source-maps'],
    });
    this.threadId = this.#thread.threadId;
    this.loaded = this.#response('loaded');
    this.ready = this.#response('ready');
    this.ended = new Promise((resolve) => this.#thread.once('exit', (code) => resolve(this.#end(code))));
    this.#thread.on('error', (error: unknown) => (this.#error = error instanceof Error ? error : new Error(String(error))));
    this.#thread.on('message', (message: FromWorker) => this.#take(message));
    // Whoever waits for it sees the rejection as well; nobody waiting is no fault.
    this.loaded.catch(() => undefined);
    this.ready.catch(() => undefined);
  }

  /** Gives it what is in force: no transaction may be under way. Resolves when it is in force there; {@link ready} has what fails. */
  async boot(state: WorkerState): Promise<void> {
    if (this.#gone || this.leaving) return;
    this.follows = true;
    this.#lastZone = this.#zones.last;
    const booted = this.#response('booted');
    this.#post({ kind: 'boot', state });
    await booted.catch(() => undefined);
  }

  prepare(tx: number, operations: string, rereads = false, files: FileContents = new Map()): Promise<void> {
    const zones = this.#zones.shares(this.#lastZone);
    this.#lastZone = this.#zones.last;
    return this.#ask({ kind: 'prepare', tx, operations, rereads, files, zones }, `prepared ${tx}`);
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
    // One that boots takes it before it opens its sockets: nobody needs to wait for that.
    if (!this.#booted) return Promise.resolve(this.#post({ kind: 'publish', id, channel, data }));
    return this.#ask({ kind: 'publish', id, channel, data }, `published ${id}`);
  }

  /** Finds out whether it hangs. One that is starting may take as long as its configuration and its modules need. */
  suspect(): void {
    if (this.#serves && !this.#gone) this.#watch.ask();
  }

  /** Closes connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): void {
    this.#post({ kind: 'cutOff', time });
  }

  reopenLogs(): void {
    this.#post({ kind: 'reopen' });
  }

  /** Ends it when its requests are finished, or after `timeoutMs` milliseconds; without a time it may take as long as they do. */
  async quit(timeoutMs: number | undefined): Promise<void> {
    this.leaving = true;
    this.#post({ kind: 'quit', timeoutMs });
    await this.ended;
  }

  /** Ends it now. */
  async stop(): Promise<void> {
    this.leaving = true;
    this.#post({ kind: 'stop' });
    const cut = setTimeout(() => void this.#thread.terminate(), STOP_MS);
    await this.ended;
    clearTimeout(cut);
  }

  /** Ends it without asking: it hangs. */
  async terminate(): Promise<void> {
    await this.#thread.terminate();
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
        this.#serves = true;
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
      case 'event':
        return this.owner.onEvent(message.event);
      case 'pong':
        return this.#watch.responded();
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
    const gone = new ParticipantGone(this.name, reason, this.#hang !== undefined);
    for (const { reject } of this.#waiting.values()) reject(gone);
    this.#waiting.clear();
    return { code, error: this.#error, reason };
  }

  #causeOf(code: number): string {
    if (this.#hang !== undefined) return this.#hang;
    if (this.#error === undefined) return `exit code ${code}`;
    const { code: kind, message } = this.#error as NodeJS.ErrnoException;
    return kind === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory: raise "worker_heap_size"' : message;
  }
}
