import { isAlive, type PairChange, type PairData } from './key-value-copy.js';
import type { PairEntry } from './pair-entry.js';
import type { Store } from './store.js';

/** Their name in the storage of modules. */
const STORAGE = 'srv.local_pairs';
/** Versions of pairs that only this node has: later than all of a log, and never used twice. */
const FIRST_VERSION = 2 ** 52;
/** Bytes of pairs that are merged at once. */
const MOST_BYTES = 256 * 1024;
/** Ends of two pairs that differ less are the same. Milliseconds. */
const SAME_MS = 1000;

/** A write of this node that the log does not have. */
interface LocalWrite {
  /** Epoch milliseconds, by the clock of this node. */
  readonly at: number;
  /** Version of the pair when it was first written here; 0: there was none. */
  readonly base: number;
  /** The pair as the log has it. */
  readonly shared?: PairData | undefined;
  /** Time of the last change in the log since then. Undefined: there was none, or its time is unknown. */
  readonly changedAt?: number | undefined;
}

/** Of two writes of a pair, one here and one at another node, the one that does not count. */
export interface LostWrite {
  readonly key: string;
  /** Whose write was lost: that of this node, or that of another one. */
  readonly lost: 'local' | 'shared';
  /** Epoch milliseconds of the write here, and of the other one; undefined: unknown. */
  readonly at: number;
  readonly changedAt: number | undefined;
}

export interface Merge {
  /** Writes that count, for the log. */
  readonly entry: PairEntry;
  /** Pairs of the log that replace writes of this node. */
  readonly replaced: PairChange;
  /** Keys of both. */
  readonly keys: readonly string[];
  readonly lost: readonly LostWrite[];
}

/**
 * Pairs that were written while the log of several nodes was out of reach: this node and its disk have them, and they are merged when the log is back. The
 * pairs of the store are as requests see them; a record beside each local one has what the log has in its place.
 */
export class LocalPairs {
  readonly #writes = new Map<string, LocalWrite>();
  #last = FIRST_VERSION;

  /** @param save writes into the store. @throws ApiError when it could not */
  constructor(private readonly save: (work: (store: Store) => void) => void) {}

  get size(): number {
    return this.#writes.size;
  }

  /** Part of the version of all pairs; empty: that of the log says it all. */
  get version(): string {
    return this.size === 0 ? '' : `-${this.#last}`;
  }

  load(store: Store): void {
    for (const [key, text] of store.moduleData.all(STORAGE, '')) this.#writes.set(key, JSON.parse(text) as LocalWrite);
  }

  /**
   * Writes a change that the log does not have, as far as this node knows.
   * @param at when it was to be made (epoch milliseconds)
   * @throws ApiError
   */
  write({ set, deleted }: PairEntry, pairs: ReadonlyMap<string, PairData>, at: number): PairChange {
    const version = Math.max(this.#last + 1, FIRST_VERSION + Date.now() * 1000);
    const local = set.map((pair) => ({ ...pair, version }));
    const writes = new Map<string, LocalWrite>();
    for (const key of [...set.map((pair) => pair.key), ...deleted]) {
      const known = this.#writes.get(key) ?? { base: pairs.get(key)?.version ?? 0, shared: pairs.get(key) };
      writes.set(key, { ...known, at });
    }
    this.save((store) => {
      for (const pair of local) store.pairs.put(pair);
      for (const key of deleted) store.pairs.delete(key);
      putWrites(store, writes);
    });
    this.#last = version;
    for (const [key, write] of writes) this.#writes.set(key, write);
    return { set: local, deleted };
  }

  /**
   * Takes note of an entry of the log that another node has made.
   * @param timeOf when a key was written
   * @returns changes of pairs that were not written here
   * @throws ApiError
   */
  follow(change: PairChange, timeOf: (key: string) => number | undefined): PairChange {
    return this.#follow(change, (write, key, shared) => ({ ...write, shared, changedAt: timeOf(key) }));
  }

  /**
   * Takes note of an entry of this node that it did not know to be in the log: a write here is that entry, or is later.
   * @param pairs those of this node
   * @returns changes of pairs that were not written here since then
   * @throws ApiError
   */
  followOwn(change: PairChange, pairs: ReadonlyMap<string, PairData>): PairChange {
    const isThat = (key: string, shared: PairData | undefined): boolean => isSame(shared, aliveOrNone(pairs.get(key)));
    return this.#follow(change, (write, key, shared) =>
      isThat(key, shared) ? undefined : { at: write.at, base: shared?.version ?? 0, shared },
    );
  }

  /** @param after what becomes of a write here; undefined: the log has it */
  #follow(change: PairChange, after: (write: LocalWrite, key: string, shared: PairData | undefined) => LocalWrite | undefined): PairChange {
    if (this.size === 0) return change;
    const writes = new Map<string, LocalWrite | undefined>();
    const note = (key: string, shared?: PairData): void => {
      const write = this.#writes.get(key);
      if (write !== undefined) writes.set(key, after(write, key, shared));
    };
    for (const pair of change.set) note(pair.key, pair);
    for (const key of change.deleted) note(key);
    this.#update(writes);
    const set = change.set.filter(({ key }) => !this.#writes.has(key));
    const deleted = change.deleted.filter((key) => !this.#writes.has(key));
    return { set, deleted };
  }

  /** As {@link follow}, for all pairs of the log. @returns the others */
  replace(state: readonly PairData[]): readonly PairData[] {
    if (this.size === 0) return state;
    const shared = new Map(state.map((pair) => [pair.key, pair]));
    const writes = new Map<string, LocalWrite>();
    for (const [key, write] of this.#writes) {
      const pair = shared.get(key);
      if (pair?.version !== write.shared?.version) writes.set(key, { at: write.at, base: write.base, shared: pair });
    }
    this.#update(writes);
    return state.filter(({ key }) => !this.#writes.has(key));
  }

  has(key: string): boolean {
    return this.#writes.has(key);
  }

  /** The pairs as the log has them. */
  inLog(pairs: ReadonlyMap<string, PairData>): PairData[] {
    const others = [...pairs.values()].filter(({ key }) => !this.#writes.has(key));
    return [...others, ...[...this.#writes.values()].flatMap(({ shared }) => shared ?? [])];
  }

  /** Decides for some of the writes, against the last state of the log. */
  merge(pairs: ReadonlyMap<string, PairData>): Merge {
    const [set, deleted, conditions]: [PairData[], string[], Pick<PairData, 'key' | 'version'>[]] = [[], [], []];
    const replaced: { set: PairData[]; deleted: string[] } = { set: [], deleted: [] };
    const keys: string[] = [];
    const times = new Map<string, number>();
    const lost: LostWrite[] = [];
    let bytes = 0;
    for (const [key, write] of this.#writes) {
      const { shared, at, changedAt } = write;
      const pair = aliveOrNone(pairs.get(key));
      keys.push(key);
      bytes += key.length + (pair?.value.length ?? 0);
      const counts = whichCounts(write, pair);
      if (counts !== 'local') {
        if (shared === undefined) replaced.deleted.push(key);
        else replaced.set.push(shared);
      } else {
        times.set(key, at);
        conditions.push({ key, version: shared?.version ?? 0 });
        if (pair === undefined) deleted.push(key);
        else set.push(pair);
      }
      const isOther = (shared?.version ?? 0) !== write.base;
      if (isOther && counts !== 'both') lost.push({ key, lost: counts === 'local' ? 'shared' : 'local', at, changedAt });
      if (bytes > MOST_BYTES) break;
    }
    return { entry: { set, deleted, conditions, times }, replaced, keys, lost };
  }

  /** The log has these writes: its changes of the pairs are applied from now on. */
  release(keys: readonly string[]): void {
    for (const key of keys) this.#writes.delete(key);
  }

  /** Removes the records of released writes. @param replaced written with them @throws ApiError */
  forget(keys: readonly string[], replaced: PairChange): void {
    this.save((store) => {
      for (const pair of replaced.set) store.pairs.put(pair);
      for (const key of replaced.deleted) store.pairs.delete(key);
      for (const key of keys) store.moduleData.delete(STORAGE, key);
    });
  }

  #update(writes: ReadonlyMap<string, LocalWrite | undefined>): void {
    if (writes.size === 0) return;
    // Before the version of the log is written that has these changes.
    this.save((store) => putWrites(store, writes));
    for (const [key, write] of writes) {
      if (write === undefined) this.#writes.delete(key);
      else this.#writes.set(key, write);
    }
  }
}

function putWrites({ moduleData }: Store, writes: ReadonlyMap<string, LocalWrite | undefined>): void {
  for (const [key, write] of writes) {
    if (write === undefined) moduleData.delete(STORAGE, key);
    else moduleData.put(STORAGE, key, JSON.stringify(write));
  }
}

const aliveOrNone = (pair: PairData | undefined): PairData | undefined => (pair !== undefined && isAlive(pair) ? pair : undefined);

/** By version, else by time. A change whose time is unknown counts: the write here may be older. */
function whichCounts({ at, base, shared, changedAt }: LocalWrite, pair: PairData | undefined): 'local' | 'shared' | 'both' {
  if (isSame(shared, pair)) return 'both';
  const isOther = (shared?.version ?? 0) !== base;
  return !isOther || (changedAt !== undefined && at > changedAt) ? 'local' : 'shared';
}

/** @param pair alive */
function isSame(shared: PairData | undefined, pair: PairData | undefined): boolean {
  const other = aliveOrNone(shared);
  return other?.value === pair?.value && Math.abs((other?.expires ?? 0) - (pair?.expires ?? 0)) <= SAME_MS;
}
