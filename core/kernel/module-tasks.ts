import type { LimitedCall } from './call-limit.js';
import { Tasks, type Log, type Task, type TaskWork } from '../module/services.js';

/** Longest delay a timer can have, in milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** The timers and the background work of one module, open from just before its `start` until it stops. */
export class ModuleTasks extends Tasks {
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #working = new Set<Promise<void>>();
  #isOpen = false;

  /**
   * @param log the server's, without the module's name
   * @param limited ends work that loops, until it waits for something
   */
  constructor(
    private readonly name: string,
    private readonly log: Log,
    private readonly limited: LimitedCall = (call) => call(),
  ) {
    super();
  }

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  open(): void {
    this.#isOpen = true;
  }

  /** Cancels every timer, aborts the signal, and resolves when no work is under way. */
  async close(): Promise<void> {
    this.#isOpen = false;
    this.#ending.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#working);
  }

  run(work: TaskWork): void {
    this.#assertOpen();
    void this.#work(work);
  }

  after(ms: number, work: TaskWork): Task {
    this.#assertOpen();
    assertDelay(ms, 0);
    return this.#schedule(ms, () => this.#work(work));
  }

  every(ms: number, work: TaskWork): Task {
    this.#assertOpen();
    assertDelay(ms, 1);
    let isCancelled = false;
    const round = async (): Promise<void> => {
      const due = performance.now() + ms;
      await this.#work(work);
      if (!isCancelled && this.#isOpen) next = this.#schedule(Math.max(0, due - performance.now()), round);
    };
    let next = this.#schedule(ms, round);
    return {
      cancel: () => {
        isCancelled = true;
        next.cancel();
      },
    };
  }

  #schedule(ms: number, run: () => Promise<void>): Task {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void run();
    }, ms);
    this.#timers.add(timer);
    return {
      cancel: () => {
        clearTimeout(timer);
        this.#timers.delete(timer);
      },
    };
  }

  /** Never rejects: what the work throws is logged. */
  async #work(work: TaskWork): Promise<void> {
    const working = this.#attempt(work).catch((error: unknown) => {
      // The end of the module ends what waits for something, and that is no failure.
      if (this.signal.aborted) return;
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.log.write('error', `module "${this.name}": task failed: ${reason}`);
    });
    this.#working.add(working);
    await working;
    this.#working.delete(working);
  }

  async #attempt(work: TaskWork): Promise<void> {
    await this.limited(() => work(this.signal));
  }

  #assertOpen(): void {
    if (!this.#isOpen) throw new Error(`module "${this.name}" may have tasks from its "start" until its "stop"`);
  }
}

function assertDelay(ms: number, least: number): void {
  if (!(ms >= least && ms <= MAX_DELAY_MS)) throw new RangeError(`a delay must be ${least} to ${MAX_DELAY_MS} milliseconds, not ${ms}`);
}
