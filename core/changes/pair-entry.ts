import type { PairData } from './key-value-copy.js';

/** An entry of the log of key-value pairs: pairs that are written, and keys that are removed, in one step. The version of a pair is the number of its entry. */
export interface PairEntry {
  readonly set: readonly Omit<PairData, 'version'>[];
  readonly deleted: readonly string[];
  /** For a log that lets other entries be between: pairs that must be as this node knows them, by key and version; 0: there is none. */
  readonly conditions?: readonly Pick<PairData, 'key' | 'version'>[];
  /** No other entry may be between. */
  readonly isExact?: boolean;
  /** When pairs were written (epoch milliseconds), if that was before the entry was made. */
  readonly times?: ReadonlyMap<string, number>;
}
