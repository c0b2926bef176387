import { messageWithPlace } from '../config/error-report.js';
import { configErrorsOf } from '../config/errors.js';
import type { EventRecord } from '../control/event-record.js';
import { ParticipantGone, type Participant } from '../control/participant.js';
import type { Log } from '../module/services.js';
import type { WorkerStart, WorkerState } from '../worker/protocol.js';
import type { ZoneSet } from '../zone/zone-set.js';
import { BackOff } from './back-off.js';
import { WATCH_MS } from './hang-watch.js';
import { WorkerHandle, type WorkerEnd, type WorkerOwner } from './worker-handle.js';

const MEGABYTE = 1024 * 1024;
/** What requests of a worker that failed may take when its replacement serves. */
const FAILED_MS = 5000;

export interface WorkerPoolOptions {
  readonly log: Log;
  readonly events: EventRecord;
  /** Bytes of heap that a worker may use before it alone is ended. */
  readonly heapSize: () => number;
  /** Calls `join` when no transaction is under way, and begins none before it resolves. */
  readonly joining: (join: () => Promise<unknown>) => Promise<void>;
  readonly start: (index: number, place: number) => WorkerStart;
  /** What is in force at this moment. */
  readonly state: () => WorkerState;
  readonly zones: ZoneSet;
  /** Places for workers in shared memory. */
  readonly places: number;
  /** Requests that the workers at that place have been sent so far. */
  readonly requestsOf: (place: number) => number;
  /** Gives up what the worker at that place had under way when it died. */
  readonly release: (place: number) => void;
}

/** The worker threads: started, replaced when they die, ended. */
export class WorkerPool {
  /** Those that serve, by number. */
  readonly #workers = new Map<number, WorkerHandle>();
  /** Those that finish their last requests; others may serve under their numbers already. */
  readonly #leaving = new Set<WorkerHandle>();
  /** Those among them that serve until others do under their numbers. */
  readonly #failed = new Set<WorkerHandle>();
  readonly #backOff = new BackOff();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Started by {@link start}, whose caller hears of their failure: they are not tried again. */
  readonly #onTrial = new Set<WorkerHandle>();
  /** Why those that are started again have failed, by number. */
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

  /** Those that changes have to reach: also one that is shutting down serves requests until it ends. */
  get participants(): Iterable<Participant> {
    return this.#all.filter(({ follows }) => follows);
  }

  /** Those that have a number, in the order of the numbers. */
  get serving(): readonly WorkerHandle[] {
    return [...this.#workers.values()].toSorted((a, b) => a.index - b.index);
  }

  /** Starts the first workers. Resolves when they serve traffic. Rejects with the reasons if one of them cannot; it is not tried again then. */
  async start(count: number): Promise<void> {
    this.#size = count;
    const started = Array.from({ length: count }, (_, index) => this.#create(index));
    for (const worker of started) this.#onTrial.add(worker);
    await this.#boot(started);
    const results = await Promise.allSettled(started.map((worker) => worker.ready));
    for (const worker of started) this.#onTrial.delete(worker);
    // One that was told to end meanwhile has not failed.
    const failed = results.find((result, at) => result.status === 'rejected' && started[at]?.leaving === false);
    if (failed?.status === 'rejected') throw failed.reason;
  }

  /**
   * Starts or ends workers until there are `count`. Resolves when those that are new serve, or have failed: they are started again then,
   * like any worker that dies.
   */
  async resize(count: number, shutdownTimeoutMs: number | undefined): Promise<void> {
    this.#size = count;
    this.#closing = false;
    for (const worker of this.#workers.values()) if (worker.index >= count) void this.#dismiss(worker).quit(shutdownTimeoutMs);
    this.#relieve((index) => index >= count, FAILED_MS);
    await Promise.all(Array.from({ length: count }, (_, index) => this.#startAgain(index)));
  }

  /**
   * Lets new workers join. They load their modules while changes go on; then all take the state of one moment between two transactions, and
   * part in every transaction after it.
   */
  async #boot(workers: readonly WorkerHandle[]): Promise<void> {
    if (workers.length === 0) return;
    await Promise.allSettled(workers.map((worker) => worker.loaded));
    await this.options.joining(() => {
      const state = this.options.state();
      return Promise.all(workers.map((worker) => worker.boot(state)));
    });
  }

  /** Closes connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): void {
    for (const worker of this.#all) worker.cutOff(time);
  }

  reopenLogs(): void {
    for (const worker of this.#all) worker.reopenLogs();
  }

  /** Ends all of them when their requests are finished, or after `timeoutMs` milliseconds. None is replaced; {@link resize} starts others. */
  async quit(timeoutMs: number | undefined): Promise<void> {
    this.#close();
    for (const worker of this.#workers.values()) void this.#dismiss(worker).quit(timeoutMs);
    this.#relieve(() => true, timeoutMs ?? FAILED_MS);
    await Promise.all([...this.#leaving].map((worker) => worker.ended));
  }

  /** Ends all of them now. None is replaced. */
  async stop(): Promise<void> {
    this.#close();
    for (const worker of this.#workers.values()) this.#dismiss(worker);
    await Promise.all([...this.#leaving].map((worker) => worker.stop()));
    clearInterval(this.#watch);
  }

  get #all(): readonly WorkerHandle[] {
    return [...this.#workers.values(), ...this.#leaving];
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
      this.options.log.write('alert', `${worker.name} is ${worker.leaving ? 'cut off' : 'replaced'}: ${reason}`);
      void worker.terminate();
    },
    onFailing: (worker, reason) => this.#replaceFailing(worker, reason),
    onEvent: (event) => this.options.events.record(event),
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
      void worker.quit(timeoutMs);
    }
  }

  #ended(worker: WorkerHandle, end: WorkerEnd): void {
    this.#leaving.delete(worker);
    if (this.#workers.get(worker.index) === worker) this.#workers.delete(worker.index);
    // It may have died with a lock in its hands, and with requests that shared memory counts.
    this.options.zones.releaseOf(worker.threadId);
    if (this.#all.every(({ place }) => place !== worker.place)) this.options.release(worker.place);
    if (worker.leaving || this.#failed.delete(worker)) {
      this.options.log.write('notice', `${worker.name} exited with code ${end.code}`);
      return;
    }
    // Whoever started it hears why it failed.
    if (this.#onTrial.has(worker)) return;
    const isReplaced = !this.#closing && worker.index < this.#size;
    const delay = isReplaced ? this.#delayAfter(worker) : 0;
    const reason = end.error ? `: ${end.error.message}` : '';
    const next = delay > 0 ? `, it is started again in ${delay} ms` : '';
    this.#tellFailure(worker, end.reason);
    this.options.log.write('alert', `${worker.name} (thread ${worker.threadId}) exited with code ${end.code}${reason}${next}`);
    if (isReplaced) this.#replace(worker.index, delay);
  }

  /**
   * Milliseconds until a worker is replaced. None for one that was at work, however often that happens: as long as no worker serves,
   * clients are refused.
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

  async #startAgain(index: number): Promise<void> {
    if (index >= this.#size || this.#workers.has(index)) return;
    const worker = this.#create(index);
    try {
      await this.#boot([worker]);
      await worker.ready;
      this.#tellRestart(index);
      this.#relieve((number) => number === index, FAILED_MS);
    } catch (error) {
      // Nobody joins a server that ends.
      if (error instanceof ParticipantGone || this.#closing) return;
      // Nobody else waits for a replacement.
      const reasons = configErrorsOf(error)?.map(messageWithPlace) ?? [(error as Error).message];
      for (const reason of reasons) this.options.log.write('emerg', `${worker.name}: ${reason}`);
    }
  }
}
