import type { ZoneSize } from '../../core/contract/args.js';
import type { RecordFields, Records, Zones } from '../../core/contract/zones.js';
import type { KeptEntries } from './kept-entries.js';

const FIELDS = ['bytes', 'used', 'uses', 'updating', 'purged', 'variants', 'stamp', 'fetched'] as const;
type Field = (typeof FIELDS)[number];
/** The index about a name. */
export type IndexRecord = RecordFields<Field>;
const TOTALS = ['stored', 'loaded', 'turn', 'local'] as const;
/** The one record of the totals. */
export const ALL = 'all';

/** A renewal that has not ended after this time, in milliseconds, has failed: another request may try. */
const LONGEST_UPDATE = 60_000;

/** Stored responses of one key that differ by the fields that Vary names. */
const MOST_VARIANTS = 64;

/** The index of a cache's files, in shared memory. Copies in memory go when their files change. */
export class CacheIndex {
  readonly #records: Records<Field>;
  readonly totals: Records<(typeof TOTALS)[number]>;
  #isLoaded = false;

  /** @param forgotten the index had no room for a file any more */
  constructor(
    zones: Zones,
    zone: ZoneSize,
    private readonly kept: KeptEntries | undefined,
    forgotten: (name: string) => void,
  ) {
    this.#records = zones.records(zone, {
      fields: FIELDS,
      evicted: (name, { bytes }) => {
        kept?.drop(name);
        if (bytes === 0) return;
        this.totals.add(ALL, 'stored', -bytes);
        forgotten(name);
      },
    });
    this.totals = zones.records(zone, { fields: TOTALS, evict: false, expected: 1 });
  }

  /** Bytes of the files. */
  get size(): number {
    return this.totals.get(ALL)?.stored ?? 0;
  }

  get entries(): number {
    return this.#records.size;
  }

  /** All files that were there at the start are in the index. */
  get isLoaded(): boolean {
    this.#isLoaded ||= (this.totals.get(ALL)?.loaded ?? 0) > 0;
    return this.#isLoaded;
  }

  loaded(): void {
    this.totals.add(ALL, 'loaded', 1);
  }

  /** Counts requests for a name. @returns the index about it, with the time of the use before */
  use(name: string, now: number, count = 1): IndexRecord {
    const use: Use = { now, count, before: 0, record: undefined };
    this.#records.update(name, counted, use);
    const record = use.record as unknown as IndexRecord;
    record.used = use.before;
    return record;
  }

  /** Another number than before: a response was stored with the name, or renewed. */
  stampOf(name: string): number {
    return this.#records.get(name)?.stamp ?? 0;
  }

  get(name: string): IndexRecord | undefined {
    return this.#records.get(name);
  }

  /** Turn of the last purge of a name; 0: there was none. */
  purgedOf(name: string): number {
    return this.#records.get(name)?.purged ?? 0;
  }

  /** A number that is larger than all before it. */
  nextTurn(): number {
    return this.totals.add(ALL, 'turn', 1) ?? 0;
  }

  /**
   * Takes a file into the index.
   * @param used epoch milliseconds
   * @param fetch turn of the fetch that it is from
   * @returns false: its key was purged after that, or a later fetch is stored, and the file is not used
   */
  add(name: string, bytes: number, used: number, fetch?: number): boolean {
    let before = 0;
    let isValid = false;
    const stamp = this.nextTurn();
    const result = this.#records.update(
      name,
      (fields) => {
        isValid = fetch === undefined || claimed(fields, fetch);
        if (!isValid) return false;
        before = fields.bytes;
        fields.bytes = bytes;
        fields.stamp = stamp;
        fields.used = Math.max(fields.used, used);
        fields.updating = 0;
        return true;
      },
      undefined,
    );
    if (result === 'stored') this.totals.add(ALL, 'stored', bytes - before);
    this.kept?.drop(name);
    return isValid;
  }

  /** A fetch is about to store its response. @returns false: its key was purged, or a later one has come as far */
  claim(name: string, fetch: number): boolean {
    let isValid = false;
    this.#records.update(name, (fields) => (isValid = claimed(fields, fetch)), undefined);
    return isValid;
  }

  /**
   * Counts a further variant of a key before it is stored.
   * @returns false if there are as many as a key may have: they are counted from the beginning
   */
  addVariant(keyName: string, variantName: string): boolean {
    if ((this.#records.get(variantName)?.bytes ?? 0) > 0) return true;
    let hasRoom = false;
    this.#records.update(
      keyName,
      (fields) => {
        hasRoom = fields.variants < MOST_VARIANTS;
        fields.variants = hasRoom ? fields.variants + 1 : 0;
        return true;
      },
      undefined,
    );
    return hasRoom;
  }

  /** The copy in memory is that of before. @param fetch turn of the fetch that it was changed by */
  changed(name: string, fetch: number): void {
    const stamp = this.nextTurn();
    this.#records.update(
      name,
      (fields) => {
        fields.stamp = stamp;
        fields.fetched = Math.max(fields.fetched, fetch);
        return fields.bytes > 0;
      },
      undefined,
    );
    this.kept?.drop(name);
  }

  /** True for one request at a time that renews a response. */
  beginUpdate(name: string, now: number): boolean {
    let begun = false;
    this.#records.update(
      name,
      (fields) => {
        begun = fields.updating < now;
        if (begun) fields.updating = now + LONGEST_UPDATE;
        return begun;
      },
      undefined,
    );
    return begun;
  }

  endUpdate(name: string): void {
    this.#records.update(
      name,
      (fields) => {
        const was = fields.updating > 0;
        fields.updating = 0;
        return was;
      },
      undefined,
    );
  }

  /** Names that were used longest ago, the oldest first. */
  oldest(count: number): { name: string; bytes: number; used: number }[] {
    return this.#records.oldest(count).map(([name, { bytes, used }]) => ({ name, bytes, used }));
  }

  /** There is no file any more. */
  remove(name: string): void {
    const bytes = this.#records.get(name)?.bytes ?? 0;
    if (this.#records.delete(name) && bytes > 0) this.totals.add(ALL, 'stored', -bytes);
    this.kept?.drop(name);
  }

  /** There is no file. Records of fetches and purges stay. @param stamp of the index before the look: another one has a file that came later */
  missing(name: string, stamp: number): void {
    let before = 0;
    this.#records.update(
      name,
      (fields) => {
        before = fields.stamp === stamp ? fields.bytes : 0;
        if (before > 0) fields.bytes = 0;
        return before > 0;
      },
      undefined,
    );
    if (before === 0) return;
    this.totals.add(ALL, 'stored', -before);
    this.kept?.drop(name);
  }

  /** A response that is being fetched for the name is not stored. */
  purge(name: string): void {
    const turn = this.nextTurn();
    this.remove(name);
    this.#records.update(
      name,
      (fields) => {
        fields.purged = turn;
        return true;
      },
      undefined,
    );
  }
}

interface Use {
  readonly now: number;
  readonly count: number;
  before: number;
  record: IndexRecord | undefined;
}

/** Later fetches than the claimed one may store what they bring, earlier ones may not. */
function claimed(fields: IndexRecord, fetch: number): boolean {
  if (fields.purged > fetch || fields.fetched > fetch) return false;
  fields.fetched = fetch;
  return true;
}

function counted(record: IndexRecord, use: Use): true {
  record.uses += use.count;
  use.before = record.used;
  record.used = use.now;
  use.record = record;
  return true;
}
