/** Timers and background work. */

/** Work of a module beside its requests. Called with a signal that is aborted when the module stops. */
export type TaskWork = (signal: AbortSignal) => void | Promise<void>;

export interface Task {
  /** Does not run it (again). Work under way goes on. */
  cancel(): void;
}

/**
 * Timers and background work of one module. Exceptions of the work are logged with the module's name, and have no other effect. They end
 * with the module: timers are cancelled, the signal is aborted, and work under way is waited for up to 5 seconds. Tasks created before
 * `start`, in a constructor or in hooks that look at the configuration, begin when `start` is over; delays count from then on.
 * @throws Error after `stop`
 */
export abstract class Tasks {
  /** Aborted when the module stops: for what waits, as in `fetch(url, { signal })`. */
  abstract readonly signal: AbortSignal;
  /** Starts `work` now, or after `start`, and does not wait for it. */
  abstract run(work: TaskWork): void;
  /** Runs `work` once, `ms` milliseconds from now. @throws RangeError for a negative delay or one above 2^31 - 1 */
  abstract after(ms: number, work: TaskWork): Task;
  /** Runs `work` every `ms` milliseconds, first in `ms`. The next run waits for the one before. @throws RangeError below 1 or above 2^31 - 1 */
  abstract every(ms: number, work: TaskWork): Task;
}
