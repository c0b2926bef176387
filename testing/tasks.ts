/** Timers of a module in unit tests: time passes when the test says so. */
import { setImmediate } from 'node:timers/promises';
import { Tasks, type Task, type TaskWork } from '../core/contract/tasks.js';

interface Timer {
  due: number;
  /** Milliseconds between two runs; 0: one run. */
  readonly every: number;
  readonly work: TaskWork;
}

/**
 * ```ts
 * const tasks = new FakeTasks();
 * const module = new Refresh(tasks);
 * module.start();
 * await tasks.pass(60_000); // what is due within a minute has run
 * ```
 *
 * Exceptions of the work fail the test: {@link pass} and {@link settled} throw it.
 */
export class FakeTasks extends Tasks {
  /** Milliseconds that have passed. */
  now = 0;
  readonly #ending = new AbortController();
  readonly #timers = new Set<Timer>();
  readonly #working = new Set<Promise<void>>();

  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#timers.size;
  }

  run(work: TaskWork): void {
    const working = Promise.resolve(work(this.signal));
    // It is thrown where the test waits for it.
    working.catch(() => undefined);
    this.#working.add(working);
  }

  after(ms: number, work: TaskWork): Task {
    return this.#add({ due: this.now + ms, every: 0, work });
  }

  every(ms: number, work: TaskWork): Task {
    return this.#add({ due: this.now + ms, every: ms, work });
  }

  /** Lets milliseconds pass: what is due runs in its order, each run after the one before. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.now = next.due;
      next.due += next.every;
      if (next.every === 0) this.#timers.delete(next);
      await next.work(this.signal);
    }
    this.now = end;
    // Work that waits for a promise of its own goes on.
    await setImmediate();
  }

  /** Resolves when all work of {@link run} is over. */
  async settled(): Promise<void> {
    await Promise.all(this.#working);
  }

  /** Ends as with the module: cancels every timer, and aborts the signal. */
  stop(): void {
    this.#timers.clear();
    this.#ending.abort();
  }

  #add(timer: Timer): Task {
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  #next(end: number): Timer | undefined {
    const due = [...this.#timers].filter((timer) => timer.due <= end);
    return due.sort((one, other) => one.due - other.due)[0];
  }
}
