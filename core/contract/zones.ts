/** Shared memory for modules: what every worker sees and changes, exact over all of them. */
import type { ZoneSize } from './args.js';

/** One record: its numbers, and its strings of bytes (latin1, as requests have them), by the names of its fields. */
export type Fields<F extends string, S extends string = never> = Record<F, number> & Record<S, string>;

/**
 * Changes a record, which has zeros and empty strings in its fields if there is none of that key yet, and returns whether to keep the change. Called without a
 * lock, again if another worker changed the record meanwhile: it must do nothing else.
 */
export type Change<F extends string, C, S extends string = never> = (fields: Fields<F, S>, context: C) => boolean;

/** `full`: the zone has no room for another record, and nothing was changed. */
export type Updated = 'stored' | 'unchanged' | 'full';

export interface RecordOptions<F extends string, S extends string = never> {
  /** Names of the numbers in a record, 8 bytes each. */
  readonly fields: readonly F[];
  /** Names of the strings in a record, and the most bytes that each of them may have: every record has room for as many. */
  readonly strings?: Readonly<Record<S, number>>;
  /** Milliseconds after the last change until a record expires; 0 (default): never. */
  readonly ttl?: number;
  /** Whether a full zone drops the records used longest ago for new ones. Default: true. */
  readonly evict?: boolean;
}

/**
 * Records by key, in the order of their last use. A record takes about 50 bytes besides its fields and its key. One that a worker was storing
 * when it died is dropped: no record has some fields new and some old.
 */
export interface Records<F extends string, S extends string = never> {
  /** A copy; undefined: there is none, or it has expired. Does not count as a use. */
  get(key: string): Fields<F, S> | undefined;
  /** Changes a record, or makes it. @throws RangeError for a string that is too long, or has characters that are no bytes */
  update<C>(key: string, change: Change<F, C, S>, context: C): Updated;
  /** Adds to one number, and returns its new value; undefined: the zone is full. */
  add(key: string, field: F, amount: number): number | undefined;
  /** False if there was none. */
  delete(key: string): boolean;
  /** Records in the zone, expired ones that nobody needed room for included. */
  readonly size: number;
  /** Records dropped for new ones so far. */
  readonly evicted: number;
  /** Copies of all that have not expired, the one used last first. Holds the lock while it copies: for listings, not for requests. */
  entries(): [key: string, fields: Fields<F, S>][];
}

/** `rejected`: as many are held as the limit allows. `full`: the zone has no room for another key. */
export type Held = 'held' | 'rejected' | 'full';

/** How much is held under a key at this moment, by all workers. What a worker holds when it dies is released. */
export interface Holds {
  /** Holds one more, unless `limit` are held. */
  acquire(key: string, limit: number): Held;
  /** Releases what {@link acquire} has held. In the worker that held it. */
  release(key: string): void;
  count(key: string): number;
  /** Keys that something is held under. */
  readonly size: number;
}

/**
 * The shared memory zones that directives declare with a `zone` argument. A zone is there before anything is compiled, is the same memory in
 * every worker, and outlives reloads: as long as its directive has the same name, size and positional arguments (the key).
 */
export abstract class Zones {
  /**
   * Keyed records in a zone. The same fields find the same records. For `compile`.
   * @throws RangeError if the zone is too small for its table
   */
  abstract records<F extends string, S extends string = never>(zone: ZoneSize, options: RecordOptions<F, S>): Records<F, S>;
  /** Counts of what is held in a zone. For `compile`. @throws RangeError if the zone is too small for its table */
  abstract holds(zone: ZoneSize): Holds;
}
