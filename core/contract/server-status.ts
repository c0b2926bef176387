/** Parts of a server at run time. */

/** Figures of one worker, and of earlier workers in its place. */
export interface WorkerStatistics {
  readonly accepted: number;
  readonly handled: number;
  readonly requests: number;
  readonly active: number;
  readonly reading: number;
  readonly writing: number;
}

/** Threads, processes and shared memory of this server. Master only. */
export abstract class ServerStatus {
  /** Workers and helpers that were started again because they had failed. */
  abstract readonly respawned: number;
  /** Reloads that took effect. */
  abstract readonly reloads: number;
  /** When the configuration was read that is active (epoch milliseconds). */
  abstract readonly loadedAt: number;
  /** The workers that serve. `place` is that of their figures. */
  abstract workers(): Iterable<{ readonly index: number; readonly place: number }>;
  /** The zones of shared memory. Bytes. */
  abstract zones(): Iterable<{ readonly name: string; readonly used: number; readonly free: number }>;
}
