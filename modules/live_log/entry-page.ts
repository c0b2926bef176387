import type { FedEntry } from './entry.js';

/** A call of the control plane for the next entries. */
export interface ReadParams {
  /** Names the process that reads. */
  readonly reader: string;
  /** Filters of its clients; none: it reads no more. */
  readonly filters: readonly string[];
  /** Absent: from now on. */
  readonly after?: number;
  readonly limit: number;
  /** Milliseconds to wait for an entry if there is none. */
  readonly wait: number;
}

export interface EntryPage {
  readonly entries: readonly FedEntry[];
  readonly next: number;
}
