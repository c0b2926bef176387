/** Shared memory for modules: what every worker sees and changes, exact over all of them. */
import type { ZoneSize } from './args.js';
import type { FigureTable } from './figures.js';

/** One record: its numbers, and its strings of bytes (latin1, as requests have them), by the names of its fields. */
export type RecordFields<F extends string, S extends string = never> = Record<F, number> & Record<S, string>;

/**
 * Changes a record, which has zeros and empty strings in its fields if there is none of that key yet, and returns whether to keep the change. Called without a
 * lock, again if another worker changed the record meanwhile: it must do nothing else.
 */
export type RecordChange<F extends string, C, S extends string = never> = (fields: RecordFields<F, S>, context: C) => boolean;

/** `full`: the zone has no room for another record, and nothing was changed. */
export type Updated = 'stored' | 'unchanged' | 'full';

export interface RecordOptions<F extends string, S extends string = never> {
  /** Names of the numbers in a record, 8 bytes each. */
  readonly fields: readonly F[];
  /** Names of the strings in a record, and the most bytes that each of them may have: every record has room for as many. */
  readonly strings?: Readonly<Record<S, number>>;
  /** Milliseconds after the last change until a record expires; 0 (default): never. */
  readonly ttl?: number;
  /**
   * Records that the table is made for: with many more it is slower. Default: as many as the zone has room for, at 4 to 8 bytes each. The first table of
   * these fields in a zone decides.
   */
  readonly expected?: number;
  /** True if a full zone drops the records used longest ago for new ones. Default: true. */
  readonly evict?: boolean;
  /**
   * Called for each record that was dropped for a new one, or for what is held, in the thread that stored the new one, when that is stored: to release resources
   * of the record outside of the zone. Not for records that expire or are deleted, nor for any that a thread was dropping when it died. The
   * storing call throws its exceptions.
   */
  readonly evicted?: (key: string, fields: RecordFields<F, S>) => void;
  /** How records are shared between nodes, in a zone with `sync`. No effect in others. */
  readonly sync?: RecordSync<F, S>;
}

/** See {@link ZoneSync}. */
export interface RecordSync<F extends string, S extends string = never> {
  /** Of `count`: the numbers whose growth is sent to the other nodes. Default: all. */
  readonly counts?: readonly F[];
  /**
   * Applies what another node has sent, in the main thread: of `count` the growth of its numbers (other fields are 0), of `last` its
   * record. Default: the growth is added; the record that was changed last wins. As a {@link RecordChange} it may be called again.
   */
  readonly merge?: (fields: RecordFields<F, S>, received: Readonly<RecordFields<F, S>>) => void;
}

/**
 * Records by key, in the order of their last use. A record takes about 50 bytes besides its fields and its key. One that a worker was storing
 * when it died is dropped: no record has some fields new and some old.
 */
export interface Records<F extends string, S extends string = never> {
  /** A copy; undefined: there is none, or it has expired. Does not count as a use. */
  get(key: string): RecordFields<F, S> | undefined;
  /**
   * Changes a record, or makes it.
   * @param change may be called again when another worker was faster: it must not change records
   * @throws RangeError for a string that is too long, or has characters other than bytes; TypeError for what is not a number
   */
  update<C>(key: string, change: RecordChange<F, C, S>, context: C): Updated;
  /** Adds to one number, and returns its new value; undefined: the zone is full. */
  add(key: string, field: F, amount: number): number | undefined;
  /** False if there was none. */
  delete(key: string): boolean;
  /** Records in the zone, including expired ones whose room was not needed yet. */
  readonly size: number;
  /** About how many records a full zone has, with keys as long as the one used last. */
  readonly capacity: number;
  /** Records dropped for new ones so far. */
  readonly evicted: number;
  /** Copies of all that have not expired, the one used last first. Holds the lock while it copies: for listings, not for requests. */
  entries(): [key: string, fields: RecordFields<F, S>][];
  /** Copies of the `count` ones that were used longest ago, the oldest first, expired ones included. */
  oldest(count: number): [key: string, fields: RecordFields<F, S>][];
}

/**
 * `rejected`: as many are held as the limit allows. `full`: the zone has no room for another key, and no records that it may drop for one
 * ({@link RecordOptions.evict}).
 */
export type Held = 'held' | 'rejected' | 'full';

/** How much is held under a key at this moment, by all workers. The holds of a worker that dies are released. */
export interface Holds {
  /** Holds one more, unless `limit` are held. */
  acquire(key: string, limit: number): Held;
  /** Releases what {@link acquire} has held. In the worker that held it. */
  release(key: string): void;
  /**
   * Waits until fewer than `limit` are held under a key, in all workers, and the zone has room for it: then {@link acquire} may succeed, unless another
   * one is faster. A worker that dies releases what it held. For work that one does for all, `findOrHold` of srv/toolkit/find-or-hold.js uses this.
   * @param ms longest wait in milliseconds
   * @param signal ends the wait, as the time does
   * @returns false if the time is over
   */
  whenBelow(key: string, limit: number, ms: number, signal?: AbortSignal): Promise<boolean>;
  count(key: string): number;
  /** Keys that something is held under. */
  readonly size: number;
  /** About how many keys a full zone has, as long as the one used last. */
  readonly capacity: number;
}

/** A copy as it was found: until it goes, or is moved. */
export interface FoundCopy {
  /** Bytes. */
  readonly length: number;
  /** Where it is in the zone, and which one that has been there. */
  readonly place: number;
  readonly version: number;
}

/**
 * Copies of bytes in memory, of which the ones that are used often stay: one for all workers. Names are 128-bit digests, as 32 hexadecimal digits. Any
 * may go at any moment. A use of one takes no lock. They do not outlive an upgrade.
 */
export interface Copies {
  /** Bytes of the longest copy: more are not kept. */
  readonly longest: number;
  /** How many there are, and the bytes of all. */
  readonly count: number;
  readonly bytes: number;
  find(name: string): FoundCopy | undefined;
  /**
   * Reads the bytes of a copy from an offset on; counts as a use.
   * @returns false if it has gone: then what `into` has is of no use
   */
  read(found: FoundCopy, from: number, into: Buffer): boolean;
  /**
   * Keeps a copy, unless there is one. For what others may change meanwhile, who call {@link drop} afterwards.
   * @param isValid asked when the copy is made and cannot be found yet; false: it is one of before a change
   */
  offer(name: string, bytes: Uint8Array, isValid: () => boolean): void;
  /** When it returns, no worker finds the copy, nor one that is being offered. */
  drop(name: string): void;
}

/**
 * The shared memory zones that directives declare with a `zone` argument. A zone exists before anything is compiled, is the same memory in
 * every worker, and outlives reloads: as long as its directive has the same name, size and positional arguments (the key).
 */
export abstract class Zones {
  /**
   * Memory of the module itself, which no directive declares: a zone for {@link records} and {@link holds}. The same name and size are the same memory in
   * every thread, apart from that of other modules; it keeps its content over reloads and ends with the module. For constructors.
   * @param size bytes, 8192 at least @throws RangeError
   */
  abstract own(name: string, size: number): ZoneSize;
  /**
   * Keyed records in a zone. The same fields find the same records. For `compile`.
   * @throws RangeError if the zone is too small for its table
   */
  abstract records<F extends string, S extends string = never>(zone: ZoneSize, options: RecordOptions<F, S>): Records<F, S>;
  /**
   * Counts of what is held in a zone. For `compile`.
   * @param expected keys that the table is made for, as {@link RecordOptions.expected}
   * @throws RangeError if the zone is too small for its table
   */
  abstract holds(zone: ZoneSize, expected?: number): Holds;
  /** Rows of figures in a zone. For `compile`; in each thread the same object for a zone. @throws RangeError if the zone is too small for its table */
  abstract figures(zone: ZoneSize): FigureTable;
  /**
   * The copies in the memory that the directive of a zone declares for them, with an argument of the type `copies()`. For `compile`.
   * @param bytes the value of that argument
   * @throws RangeError if there is no such memory
   */
  abstract copies(zone: ZoneSize, bytes: number): Copies;
}
