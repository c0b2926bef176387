import type { ZoneSync } from '../../contract/spec.js';
import type { BatchWriter, Section, Shape } from './batch.js';

/** One table of a zone that nodes share, as the main thread sends and receives it. */
export interface SyncedTable {
  /** The same on all nodes that share it. */
  readonly id: string;
  readonly kind: ZoneSync;
  readonly shape: Shape;
  /** More keys than the zone has room for. */
  readonly mostKeys: number;
  /** Of records, milliseconds until they expire; 0: they do not. */
  readonly ttl: number;
  /** Changes that wait to be sent. */
  readonly waiting: number;
  /**
   * Takes changes, the oldest first, as far as there is room for them.
   * @param offset milliseconds that the common clock of all nodes is ahead
   * @returns how many
   */
  take(most: number, batch: BatchWriter, offset: number): number;
  /** Applies changes of another node. @param node which, for sums @throws RangeError for content that is malformed */
  apply(section: Section, offset: number, node: string): void;
  /** Everything that was used since a time is sent once more. Epoch milliseconds; -Infinity: all. */
  resend(since: number): void;
  /** Drops what waits to be sent. */
  forget(): void;
  /** Drops what another node holds. */
  release(node: string): void;
}
