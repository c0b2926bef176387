/** What a server is made of at run time. */

/** Figures of one worker, and of those that had its place before it. */
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
  /** Reloads that came into force. */
  abstract readonly reloads: number;
  /** When the configuration was read that is in force (epoch milliseconds). */
  abstract readonly loadedAt: number;
  /** The workers that serve. `place` is that of their figures. */
  abstract workers(): Iterable<{ readonly index: number; readonly place: number }>;
  /** The zones of shared memory. Bytes. */
  abstract zones(): Iterable<{ readonly name: string; readonly used: number; readonly free: number }>;
}
