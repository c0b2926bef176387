import type { GracefulEnd } from '../config/change.js';
import { messageWithPlace } from '../config/error-report.js';
import { configErrorsOf } from '../config/errors.js';
import type { MasterChannels } from '../kernel/channel-hub.js';
import type { EventRecord } from '../api/event-record.js';
import { within } from '../changes/time-limit.js';
import { ParticipantGone, type Participant } from '../changes/participant.js';
import type { Log } from '../contract/log.js';
import type { WorkerStart, WorkerState } from '../worker/protocol.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { BackOff } from './back-off.js';
import type { BoundSockets } from './bound-sockets.js';
import { inodeOf, type OpenSocket } from './upgrade.js';
import { WATCH_MS } from './hang-watch.js';
import { StopTurns } from './stop-turns.js';
import { WorkerHandle, type WorkerEnd, type WorkerOwner } from './worker-handle.js';

/** A worker that is asked what it listens on responds in this time. Milliseconds. */
const SOCKETS_MS = 10_000;
const FLOWS_MS = 1000;
const MEGABYTE = 1024 * 1024;
/** Time limit for requests of a failed worker once its replacement serves. */
const FAILED_MS = 5000;

export interface WorkerPoolOptions {
  readonly log: Log;
  readonly events: EventRecord;
  readonly channels: Pick<MasterChannels, 'take'>;
  /** Bytes of heap that a worker may use before it alone is ended. */
  readonly heapSize: () => number;
  /** Calls `join` when no transaction is under way, and begins none before it resolves. */
  readonly joining: (join: () => Promise<unknown>) => Promise<void>;
  readonly start: (index: number, place: number) => WorkerStart;
  /** The current state. */
  readonly state: () => WorkerState;
  readonly zones: ZoneSet;
  /** Places for workers in shared memory. */
  readonly places: number;
  /** Requests that the workers at that place have been sent so far. */
  readonly requestsOf: (place: number) => number;
  /** Gives up what the worker at that place had under way when it died. */
  readonly release: (place: number) => void;
  /** Absent: the workers bind their sockets. */
  readonly sockets: BoundSockets | undefined;
}

/** The worker threads: started, replaced when they die, ended. */
export class WorkerPool {
  /** Workers that serve, by number. */
  readonly #workers = new Map<number, WorkerHandle>();
  /** Workers that finish their last requests; others may serve under their numbers already. */
  readonly #leaving = new Set<WorkerHandle>();
  /** Leaving workers that serve until others do under their numbers. */
  readonly #failed = new Set<WorkerHandle>();
  readonly #backOff = new BackOff();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Given up although their threads exist. */
  readonly #stuck = new Set<WorkerHandle>();
  readonly #stopTurns = new StopTurns<WorkerHandle>(
    (worker) => worker.retire(true),
    (worker) => worker.retire(false),
  );
  /** Started by {@link start}, whose caller hears of their failure: they are not tried again. */
  readonly #onTrial = new Set<WorkerHandle>();
  /** Why workers that are started again have failed, by number. */
  readonly #failures = new Map<number, string>();
  /** How many were started again because they had failed. */
  restarts = 0;
  #closing = false;
  /** How many workers there should be. */
  #size = 0;

  readonly #watch = setInterval(() => {
    for (const worker of this.#all) worker.suspect();
  }, WATCH_MS).unref();

  constructor(private readonly options: WorkerPoolOptions) {}

  /** How many workers there should be. */
  get size(): number {
    return this.#size;
  }

  /** Workers that changes have to reach: also one that is shutting down serves requests until it ends. */
  get participants(): Iterable<Participant> {
    return this.#all.filter(({ follows }) => follows);
  }

  /** Workers with a number, in the order of the numbers. */
  get serving(): readonly WorkerHandle[] {
    return [...this.#workers.values()].toSorted((a, b) => a.index - b.index);
  }

  /**
   * Starts the first workers. Resolves when they serve traffic. Rejects with the reasons if one of them cannot; it is not tried again then.
   * @param loaded is waited for when their modules are there
   */
  async start(count: number, loaded: () => Promise<void> | undefined): Promise<void> {
    this.#size = count;
    const started = Array.from({ length: count }, (_, index) => this.#create(index));
    for (const worker of started) this.#onTrial.add(worker);
    await this.#boot(started, loaded);
    const results = await Promise.allSettled(started.map((worker) => worker.ready));
    for (const worker of started) this.#onTrial.delete(worker);
    // A worker that had to end meanwhile has not failed.
    const failed = results.find((result, at) => result.status === 'rejected' && started[at]?.leaving === false);
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /**
   * Starts or ends workers until there are `count`. Resolves when new ones serve, or have failed: they are started again then, like any
   * worker that dies.
   * @returns the reasons of failures
   */
  async resize(count: number, shutdownTimeoutMs: number | undefined): Promise<readonly string[]> {
    this.#size = count;
    this.#closing = false;
    const leaving = this.#dismissFrom(count);
    await this.options.sockets?.releaseWorkers(count);
    for (const worker of leaving) void worker.quit({ timeoutMs: shutdownTimeoutMs, waitsForIdle: true });
    this.#relieve((index) => index >= count, FAILED_MS);
    return (await Promise.all(Array.from({ length: count }, (_, index) => this.#startAgain(index)))).flat();
  }

  /**
   * Lets new workers join. They load their modules while changes go on; then all take the state of one moment between two transactions, and
   * part in every transaction after it.
   */
  async #boot(workers: readonly WorkerHandle[], loaded?: () => Promise<void> | undefined): Promise<void> {
    if (workers.length === 0) return;
    await Promise.allSettled(workers.map((worker) => worker.loaded));
    await loaded?.();
    await this.options.joining(() => {
      const state = this.options.state();
      return Promise.all(workers.map((worker) => worker.boot(state)));
    });
  }

  /** Closes connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): void {
    for (const worker of this.#all) worker.cutOff(time);
  }

  /** Current sockets of workers. A worker that hangs has to be detected first. */
  async sockets(): Promise<readonly OpenSocket[]> {
    const all = await Promise.all(
      this.serving.map(async (worker) => {
        const descriptors = await within(SOCKETS_MS, worker.descriptors());
        return descriptors.map(([key, descriptor]) => ({ key, owner: worker.index, descriptor, inode: inodeOf(descriptor) }));
      }),
    );
    return all.flat();
  }

  /** Another program is about to listen on the same sockets. A worker that hangs is not waited for. */
  async moveFlows(): Promise<void> {
    await Promise.all(this.serving.map((worker) => within(FLOWS_MS, worker.moveFlows()).catch(() => undefined)));
  }

  /** Another program listens on the same sockets. */
  leaveFiles(): void {
    for (const worker of this.#all) worker.leaveFiles();
  }

  reopenLogs(): void {
    for (const worker of this.#all) worker.reopenLogs();
  }

  /** Ends all of them when their requests are finished, or when the time is over. None is replaced; {@link resize} starts others. */
  async quit(end: GracefulEnd): Promise<void> {
    this.#close();
    const leaving = this.#dismissFrom(0);
    await this.options.sockets?.releaseWorkers(0);
    for (const worker of leaving) void worker.quit(end);
    this.#relieve(() => true, end.timeoutMs ?? FAILED_MS);
    await Promise.all([...this.#leaving].map((worker) => worker.ended));
  }

  /** Threads are left that keep the process from ending by itself. */
  get hasStuckThreads(): boolean {
    return [...this.#stuck].some(({ isStuck }) => isStuck);
  }

  /** Ends all of them now. None is replaced. */
  async stop(): Promise<void> {
    this.#close();
    this.#dismissFrom(0);
    await Promise.all([...this.#leaving].map((worker) => worker.stop()));
    clearInterval(this.#watch);
  }

  get #all(): readonly WorkerHandle[] {
    return [...this.#workers.values(), ...this.#leaving];
  }

  /** Workers whose number is not below `from`. */
  #dismissFrom(from: number): readonly WorkerHandle[] {
    return this.serving.filter(({ index }) => index >= from).map((worker) => this.#dismiss(worker));
  }

  /** From now on its number is free. */
  #dismiss(worker: WorkerHandle): WorkerHandle {
    this.#workers.delete(worker.index);
    this.#leaving.add(worker);
    return worker;
  }

  #close(): void {
    this.#closing = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #create(index: number): WorkerHandle {
    const { log, heapSize, start, zones } = this.options;
    const limits = { maxOldGenerationSizeMb: Math.ceil(heapSize() / MEGABYTE) };
    // Where there is none, it shares the figures of the one that leaves.
    const place = this.#freePlace() ?? index;
    const requests = this.options.requestsOf(place);
    const worker = new WorkerHandle(start(index, place), limits, { zones, requests }, this.#owner);
    log.write('notice', `start ${worker.name}, thread ${worker.threadId}`);
    this.#workers.set(index, worker);
    void worker.ended.then((end) => this.#ended(worker, end));
    return worker;
  }

  #freePlace(): number | undefined {
    const taken = new Set(this.#all.map(({ place }) => place));
    for (let place = 0; place < this.options.places; place++) if (!taken.has(place)) return place;
    return undefined;
  }

  readonly #owner: WorkerOwner = {
    onHang: (worker, reason) => {
      const fate = worker.leaving ? 'cut off' : this.#onTrial.has(worker) ? 'ended' : 'replaced';
      this.options.log.write('alert', `${worker.name} is ${fate}: ${reason}`);
      void worker.terminate();
    },
    onFailing: (worker, reason) => this.#replaceFailing(worker, reason),
    onRetire: (worker, step) => (step === 'retiring' ? this.#stopTurns.ask(worker) : this.#stopTurns.done(worker)),
    onEvent: (event) => this.options.events.record(event),
    onTold: ({ index }, message) => this.options.channels.take(message, index),
    onSocket: async ({ index }, request) => this.options.sockets?.open(request, index),
  };

  /** Another one is started, and the worker serves as long as there is none. */
  #replaceFailing(worker: WorkerHandle, cause: string): void {
    if (this.#workers.get(worker.index) !== worker) return;
    if (this.#onTrial.has(worker) || this.#freePlace() === undefined) return void worker.terminate();
    this.#failed.add(this.#dismiss(worker));
    const delay = this.#delayAfter(worker);
    const when = delay > 0 ? `in ${delay} ms` : 'now';
    this.#tellFailure(worker, cause);
    this.options.log.write('alert', `${worker.name} (thread ${worker.threadId}) failed, its replacement is started ${when}`);
    this.#replace(worker.index, delay);
  }

  /** Ends workers that failed. */
  #relieve(isRelieved: (index: number) => boolean, timeoutMs: number): void {
    for (const worker of this.#failed) {
      if (!isRelieved(worker.index)) continue;
      this.#failed.delete(worker);
      void worker.quit({ timeoutMs, waitsForIdle: false });
    }
  }

  #ended(worker: WorkerHandle, end: WorkerEnd): void {
    this.#leaving.delete(worker);
    if (this.#workers.get(worker.index) === worker) this.#workers.delete(worker.index);
    // It may have died with a lock in its hands, and with requests that shared memory counts.
    this.options.zones.releaseOf(worker.threadId);
    if (this.#all.every(({ place }) => place !== worker.place)) this.options.release(worker.place);
    if (end.isStuck) this.#tellStuck(worker);
    const skipped = this.#stopTurns.gone(worker, !worker.leaving);
    if (skipped > 0)
      this.options.log.write(
        'alert',
        `${worker.name} was lost in the "stop" of a module that is not used any more: ${skipped} workers do not call it`,
      );
    if (worker.leaving || this.#failed.delete(worker)) {
      this.options.log.write('notice', `${worker.name} exited with code ${end.code}`);
      return;
    }
    // The caller gets the reason.
    if (this.#onTrial.has(worker)) return;
    const isReplaced = !this.#closing && worker.index < this.#size;
    const delay = isReplaced ? this.#delayAfter(worker) : 0;
    const reason = end.error ? `: ${end.error.message}` : '';
    const next = delay > 0 ? `, it is started again in ${delay} ms` : '';
    this.#tellFailure(worker, end.reason);
    this.options.log.write('alert', `${worker.name} (thread ${worker.threadId}) exited with code ${end.code}${reason}${next}`);
    if (isReplaced) this.#replace(worker.index, delay);
  }

  #tellStuck(worker: WorkerHandle): void {
    this.#stuck.add(worker);
    const what = `${worker.name} (thread ${worker.threadId}) cannot be ended: it is in a call of the system that does not return`;
    this.options.log.write('alert', worker.leaving ? what : `${what}, and new connections may still come to it: restart the server`);
  }

  /**
   * Milliseconds until a worker is replaced. None for one that was at work, however often that happens: as long as no worker serves,
   * connections are refused.
   */
  #delayAfter({ index, place, startedAt, requestsBefore }: WorkerHandle): number {
    const served = this.options.requestsOf(place) > requestsBefore;
    if (served) this.#backOff.reset(index);
    return this.#backOff.next(index, Date.now() - startedAt);
  }

  #tellFailure({ index }: WorkerHandle, reason: string): void {
    this.#failures.set(index, reason);
    this.options.events.publish('worker.failed', { worker: index, reason }, [String(index)]);
  }

  #tellRestart(index: number): void {
    const reason = this.#failures.get(index);
    if (reason === undefined) return;
    this.restarts++;
    this.#failures.delete(index);
    this.options.events.publish('worker.restarted', { worker: index, reason }, [String(index)]);
  }

  #replace(index: number, delay: number): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#startAgain(index);
    }, delay);
    this.#timers.add(timer);
  }

  /** Returns why it could not, which the log says too. */
  async #startAgain(index: number): Promise<readonly string[]> {
    if (index >= this.#size || this.#workers.has(index)) return [];
    const worker = this.#create(index);
    try {
      await this.#boot([worker]);
      await worker.ready;
      this.#tellRestart(index);
      this.#relieve((number) => number === index, FAILED_MS);
      return [];
    } catch (error) {
      // No worker joins a server that ends.
      if (error instanceof ParticipantGone || this.#closing) return [];
      // No caller waits for a replacement.
      const messages = configErrorsOf(error)?.map(messageWithPlace) ?? [(error as Error).message];
      const reasons = messages.map((message) => `${worker.name}: ${message}`);
      for (const reason of reasons) this.options.log.write('emerg', reason);
      return reasons;
    }
  }
}
