import type { LimitedCall } from './call-limit.js';
import type { Log } from '../contract/log.js';
import { Tasks, type Task, type TaskWork } from '../contract/tasks.js';
import { stackOf } from '../contract/thrown.js';

/** Longest delay a timer can have, in milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * The timers and the background work of one module, from just before its `start` until it stops. Work that is asked for earlier begins after its
 * `start`: hooks such as `health` are called before, for a configuration that may be rejected.
 */
export class ModuleTasks extends Tasks {
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #working = new Set<Promise<void>>();
  readonly #repeated = new Set<Task>();
  /** Work that was asked for before the module was started. */
  #early = new Set<() => void>();
  #state: 'early' | 'open' | 'closed' = 'early';

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
    this.#state = 'open';
  }

  /** The module has started: what was asked for earlier begins. */
  begin(): void {
    const early = this.#early;
    this.#early = new Set();
    if (this.#state === 'open') for (const step of early) step();
  }

  /** The module is replaced: what is repeated ends, and the signal is aborted. Requests under way may still have tasks. */
  retire(): void {
    this.#ending.abort();
    for (const task of this.#repeated) task.cancel();
    this.#repeated.clear();
  }

  /** Cancels every timer, aborts the signal, and resolves when no work is under way. */
  async close(): Promise<void> {
    this.#state = 'closed';
    this.#early.clear();
    this.#ending.abort();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    await Promise.all(this.#working);
  }

  run(work: TaskWork): void {
    this.#whenStarted(() => void this.#work(work));
  }

  after(ms: number, work: TaskWork): Task {
    assertDelay(ms, 0);
    return this.#task(() => this.#schedule(ms, () => this.#work(work)));
  }

  every(ms: number, work: TaskWork): Task {
    assertDelay(ms, 1);
    return this.#task(() => this.#repeat(ms, work));
  }

  #repeat(ms: number, work: TaskWork): Task {
    let isCancelled = false;
    const round = async (): Promise<void> => {
      const due = performance.now() + ms;
      await this.#work(work);
      if (!isCancelled && this.#state === 'open') next = this.#schedule(Math.max(0, due - performance.now()), round);
    };
    let next = this.#schedule(ms, round);
    const task = {
      cancel: () => {
        isCancelled = true;
        next.cancel();
        this.#repeated.delete(task);
      },
    };
    if (this.signal.aborted) task.cancel();
    else this.#repeated.add(task);
    return task;
  }

  /** Makes a task, at once if the module is started. It may be cancelled before. */
  #task(make: () => Task): Task {
    let task: Task | undefined;
    const step = this.#whenStarted(() => void (task = make()));
    return {
      cancel: () => {
        this.#early.delete(step);
        task?.cancel();
      },
    };
  }

  #whenStarted(step: () => void): () => void {
    if (this.#state === 'closed') throw new Error(`module "${this.name}" may have no tasks after its "stop"`);
    if (this.#state === 'early') this.#early.add(step);
    else step();
    return step;
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
      // The end of the module ends everything that waits, which is not a failure.
      if (this.signal.aborted) return;
      this.log.write('error', `module "${this.name}": task failed: ${stackOf(error)}`);
    });
    this.#working.add(working);
    await working;
    this.#working.delete(working);
  }

  async #attempt(work: TaskWork): Promise<void> {
    await this.limited(() => work(this.signal));
  }
}

function assertDelay(ms: number, least: number): void {
  if (!(ms >= least && ms <= MAX_DELAY_MS)) throw new RangeError(`a delay must be ${least} to ${MAX_DELAY_MS} milliseconds, not ${ms}`);
}
