import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HttpRequest } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { Holds, RecordFields, Records, Zones } from '../../core/contract/zones.js';
import { ARRIVAL_RECORDS, Arrivals, type SeenArrival } from './arrivals.js';
import { ArrivingFile, type ArrivingFetch } from './arriving-file.js';
import { CacheDisk } from './cache-disk.js';
import type { CacheFigures } from './cache-figures.js';
import { HeadMemory } from './head-memory.js';
import { KeptEntries, type KeptEntry } from './kept-entries.js';
import { filePath, type CachePath } from './directives.js';
import { RecentDigests } from './entry-names.js';
import { encodeHead, EntryFile, expired, FIRST_READ, rewriteHead, type StoredHead } from './entry-file.js';
import type { Verdict } from './purge-list.js';
import { EntryWriter, type LiveEntry } from './entry-writing.js';
import type { ZonePurges } from './purges.js';

const FIELDS = ['bytes', 'used', 'uses', 'updating', 'purged', 'variants', 'stamp', 'fetched'] as const;
type Field = (typeof FIELDS)[number];
/** The index about a name. */
export type IndexRecord = RecordFields<Field>;
const TOTALS = ['stored', 'loaded', 'turn', 'local'] as const;
/** The one record of the totals. */
const ALL = 'all';

/** Fetches at a time that there are short ways to. */
const FETCHES = 1024;

/** A renewal that has not ended after this time, in milliseconds, has failed: another request may try. */
const LONGEST_UPDATE = 60_000;

/** A response that is about to be stored. */
export type Unstored = Omit<StoredHead, 'bodyLength' | 'generation'>;

/** When a member was asked for what is to be stored: see {@link CacheZone.beginFetch}. */
export interface Moment {
  /** Number of the last purge before it. */
  readonly generation: number;
  /** A number that no other fetch has, and later ones have larger ones. */
  readonly turn: number;
}

/** Milliseconds. A response from a later future is none that can be called fresh. */
const CLOCK_STEP = 60_000;

/** Milliseconds since its last use in which a file is still in memory, as good as certainly: it is read without a switch of threads. */
const RECENT = 60_000;

/** Stored responses of one key that differ by the fields that Vary names. */
const MOST_VARIANTS = 64;

/** One cache: its files, and the index of them in shared memory. The same cache in every worker. */
export class CacheZone {
  readonly #index: Records<Field>;
  readonly #totals: Records<(typeof TOTALS)[number]>;
  readonly holds: Holds;
  readonly arrivals: Arrivals;
  /** Undefined: none are. */
  readonly kept: KeptEntries | undefined = undefined;
  readonly disk: CacheDisk;
  readonly #writer: EntryWriter;
  readonly digests = new RecentDigests();
  readonly #heads = new HeadMemory();
  #isLoaded = false;

  constructor(
    readonly path: CachePath,
    zones: Zones,
    /** Where files are written before they belong to the cache: on the same file system, or they would be copied. */
    private readonly temporary: string,
    private readonly log: Log,
    readonly purges: ZonePurges,
    readonly figures: CacheFigures,
  ) {
    const zone = path.keys_zone;
    if (path.memory !== undefined)
      this.kept = new KeptEntries(zones.copies(zone, path.memory), (name, now, uses) => void this.use(name, now, uses));
    this.#index = zones.records(zone, { fields: FIELDS, evicted: (name, { bytes }) => this.#forgotten(name, bytes) });
    this.#totals = zones.records(zone, { fields: TOTALS, evict: false, expected: 1 });
    this.holds = zones.holds(zone, FETCHES);
    this.disk = new CacheDisk(this.#totals, ALL, this.holds);
    this.#writer = new EntryWriter(this.disk, (text) => log.write('crit', `cache "${this.name}": ${text}`));
    this.arrivals = new Arrivals(zones.records(zone, { ...ARRIVAL_RECORDS, expected: FETCHES }), this.holds, () => this.#nextTurn());
  }

  get name(): string {
    return this.path.keys_zone.name;
  }

  /** Bytes of the files. */
  get size(): number {
    return this.#totals.get(ALL)?.stored ?? 0;
  }

  get entries(): number {
    return this.#index.size;
  }

  /** All files that were there at the start are in the index. */
  get isLoaded(): boolean {
    this.#isLoaded ||= (this.#totals.get(ALL)?.loaded ?? 0) > 0;
    return this.#isLoaded;
  }

  loaded(): void {
    this.#totals.add(ALL, 'loaded', 1);
  }

  /** Counts requests for a name. @returns the index about it, with the time of the use before */
  use(name: string, now: number, count = 1): IndexRecord {
    const use: Use = { now, count, before: 0, record: undefined };
    this.#index.update(name, counted, use);
    const record = use.record as unknown as IndexRecord;
    record.used = use.before;
    return record;
  }

  /** Another number than before: a response was stored with the name, or renewed. */
  stampOf(name: string): number {
    return this.#index.get(name)?.stamp ?? 0;
  }

  /** Before a member is asked for what is to be stored. */
  beginFetch(): Moment {
    return { generation: this.purges.last, turn: this.#nextTurn() };
  }

  #nextTurn(): number {
    return this.#totals.add(ALL, 'turn', 1) ?? 0;
  }

  /**
   * The response stored with a name if it is in memory; counted as a request for it. As {@link open} otherwise. Copies go when their files change: the index
   * is not looked at.
   */
  findKept(name: string, key: string, now: number): KeptEntry | undefined {
    const kept = this.kept?.get(name, now);
    if (kept === undefined || kept.stored.key !== key) return undefined;
    const verdict = this.#verdictOn(kept.stored);
    if (verdict === 'valid') return kept;
    if (verdict !== 'gone') return { stored: expired(kept.stored, verdict), body: kept.body };
    this.kept?.drop(name);
    return undefined;
  }

  openKept(name: string, key: string, now: number): EntryFile | undefined {
    const kept = this.findKept(name, key, now);
    return kept && EntryFile.ofKept(kept);
  }

  /**
   * Opens the response stored with a name. Undefined: there is none, or it is that of another key, or was purged; it is stale if it was purged softly.
   * A promise only if the file is large, was not used for a while, or the disk is slow or not a local one.
   * @param known from {@link use}
   * @throws (and rejects) Error of the system
   */
  open(name: string, key: string, known = this.#index.get(name)): EntryFile | undefined | Promise<EntryFile | undefined> {
    if (this.isLoaded && (known?.bytes ?? 0) === 0) return undefined;
    const path = filePath(this.path, name);
    if (known !== undefined && known.bytes > 0 && known.bytes <= FIRST_READ && known.used > Date.now() - RECENT && this.disk.mayRead) {
      const file = this.disk.read(EntryFile.openNow, path, name, this.#heads);
      if (file !== 'damaged') return this.#judged(this.#opened(name, key, known, file));
    }
    return this.#openElsewhere(name, key, known, path);
  }

  /** In another thread. */
  async #openElsewhere(name: string, key: string, known: IndexRecord | undefined, path: string): Promise<EntryFile | undefined> {
    let file = await EntryFile.open(path);
    // A worker may be writing its new head.
    if (file === 'damaged') file = await EntryFile.open(path);
    if (file === 'damaged') {
      this.log.write('error', `cache file "${path}" is damaged, or of another version: it is removed`);
      await this.remove(name);
      return undefined;
    }
    return this.#judged(this.#opened(name, key, known, file));
  }

  /** Undefined: it is that of another key. */
  #opened(name: string, key: string, known: IndexRecord | undefined, file: EntryFile | undefined): EntryFile | undefined {
    if (file === undefined) this.#missing(name, known?.stamp ?? 0);
    else this.#found(name, file);
    const whole = this.kept && file?.whole;
    if (whole !== undefined && known !== undefined) this.kept?.offer(name, whole, () => this.#index.get(name)?.stamp === known.stamp);
    if (file === undefined || file.stored.key === key) return file;
    file.close();
    return undefined;
  }

  /** The file as purges and the clock let it be used. */
  #judged(file: EntryFile | undefined): EntryFile | undefined {
    if (file === undefined) return undefined;
    const verdict = this.#verdictOn(file.stored);
    if (verdict === 'valid') return file;
    if (verdict !== 'gone') return file.expired(verdict);
    // It stays until it is replaced or swept: its name may be that of a new one by now.
    file.close();
    return undefined;
  }

  /**
   * Opens a response that is being stored. Undefined: that is over. `purged`: it was purged meanwhile.
   * @param keyName name of the file of its key @throws (rejects) Error of the system
   */
  async openArriving(
    keyName: string,
    { file, turn }: SeenArrival,
    fetch: ArrivingFetch,
    signal: HttpRequest['signal'],
  ): Promise<ArrivingFile | 'purged' | undefined> {
    const found = await ArrivingFile.open(join(this.#folderAside(file.split('.', 1)[0] ?? ''), `.${file}`), fetch, signal);
    if (found === undefined || !this.#wasPurged(keyName, found.stored, { turn, generation: found.stored.generation })) return found;
    found.close();
    return 'purged';
  }

  /**
   * Name of the lock for fetches of a key or a variant. A purge changes it: the fetches before it do not count. Tags of a response that is not here yet are
   * not known: purges by tag do not change it.
   * @param name of the file of the key, or of the variant
   */
  lockName(name: string, keyName: string, key: string): string {
    const purged = this.#index.get(keyName)?.purged ?? 0;
    const last = this.purges.lastOf(key);
    return purged === 0 && last === 0 ? name : `${name}.${purged}.${last}`;
  }

  #verdictOn(stored: StoredHead): Verdict {
    const verdict = this.purges.verdictOn(stored);
    // The clock was set back: nothing says how old it is.
    return verdict === 'valid' && stored.date > Date.now() + CLOCK_STEP ? 0 : verdict;
  }

  /** One that the loader had not come to. */
  #found(name: string, { stored }: EntryFile): void {
    if (!this.isLoaded) this.add(name, encodeHead(stored).length + stored.bodyLength, Date.now());
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
    const stamp = this.#nextTurn();
    const result = this.#index.update(
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
    if (result === 'stored') this.#totals.add(ALL, 'stored', bytes - before);
    this.kept?.drop(name);
    return isValid;
  }

  /** A fetch is about to store its response. @returns false: its key was purged, or a later one has come as far */
  #claim(name: string, fetch: number): boolean {
    let isValid = false;
    this.#index.update(name, (fields) => (isValid = claimed(fields, fetch)), undefined);
    return isValid;
  }

  /**
   * Counts a further variant of a key before it is stored.
   * @returns false if there are as many as a key may have: they are counted from the beginning
   */
  addVariant(keyName: string, variantName: string): boolean {
    if ((this.#index.get(variantName)?.bytes ?? 0) > 0) return true;
    let hasRoom = false;
    this.#index.update(
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
  #changed(name: string, fetch: number): void {
    const stamp = this.#nextTurn();
    this.#index.update(
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
    this.#index.update(
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
    this.#index.update(
      name,
      (fields) => {
        const was = fields.updating > 0;
        fields.updating = 0;
        return was;
      },
      undefined,
    );
  }

  /**
   * Stores a response: written aside, and renamed when it is whole.
   * @param since before the member was asked: what is purged after it is not stored
   * @param live others read it while it is written
   * @returns bytes of the file; 0: it is not stored
   */
  async write(name: string, since: Moment, head: Unstored, body: AsyncIterable<Buffer>, live?: LiveEntry): Promise<number> {
    const path = filePath(this.path, name);
    const file = `${name}.${randomName()}`;
    const entry = { ...head, generation: since.generation };
    const place = { path, aside: join(this.#folderAside(name), `.${file}`), file };
    let written = 0;
    const isStored = await this.#writer.store(place, entry, body, live, {
      isWanted: () => !this.#wasPurged(name, entry, since) && this.#claim(name, since.turn),
      add: (bytes) => this.add(name, (written = bytes), head.date, since.turn),
    });
    if (!isStored) return 0;
    // In this order: a purge that comes now finds the file.
    if (this.#wasPurged(name, entry, since)) await this.remove(name);
    return written;
  }

  /** Where a file is written that is to get a name. */
  #folderAside(name: string): string {
    return this.path.use_temp_path ? this.temporary : dirname(filePath(this.path, name));
  }

  #wasPurged(name: string, entry: Unstored & { readonly generation: number }, { turn, generation }: Moment): boolean {
    if ((this.#index.get(name)?.purged ?? 0) > turn) return true;
    return generation < this.purges.last && (generation < this.purges.done || this.purges.verdictOn(entry) !== 'valid');
  }

  /** Gives a stored response another head. @param fetch turn of the fetch that it is from; 0: of none */
  async renew(name: string, former: StoredHead, head: StoredHead, fetch: number): Promise<void> {
    try {
      await rewriteHead(filePath(this.path, name), former, head);
      this.#changed(name, fetch);
    } catch (error) {
      // It was purged meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** Removes the response with a name, also one that is being fetched. @returns whether there was one @throws (rejects) Error of the system */
  purge(name: string): Promise<boolean> {
    const turn = this.#nextTurn();
    this.#removed(name);
    this.#index.update(
      name,
      (fields) => {
        fields.purged = turn;
        return true;
      },
      undefined,
    );
    return this.#unlink(name);
  }

  /** @returns whether there was such a response */
  async remove(name: string): Promise<boolean> {
    this.#removed(name);
    try {
      return await this.#unlink(name);
    } catch (error) {
      this.log.write('crit', `unlink() "${filePath(this.path, name)}" failed (${systemErrorText(error)})`);
      return false;
    }
  }

  async #unlink(name: string): Promise<boolean> {
    try {
      await rm(filePath(this.path, name));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  /** Names that were used longest ago, the oldest first. */
  oldest(count: number): { name: string; bytes: number; used: number }[] {
    return this.#index.oldest(count).map(([name, { bytes, used }]) => ({ name, bytes, used }));
  }

  #removed(name: string): void {
    const bytes = this.#index.get(name)?.bytes ?? 0;
    if (this.#index.delete(name) && bytes > 0) this.#totals.add(ALL, 'stored', -bytes);
    this.kept?.drop(name);
  }

  /** There is no file. Records of fetches and purges stay. @param stamp of the index before the look: another one has a file that came later */
  #missing(name: string, stamp: number): void {
    let before = 0;
    this.#index.update(
      name,
      (fields) => {
        before = fields.stamp === stamp ? fields.bytes : 0;
        if (before > 0) fields.bytes = 0;
        return before > 0;
      },
      undefined,
    );
    if (before === 0) return;
    this.#totals.add(ALL, 'stored', -before);
    this.kept?.drop(name);
  }

  /** The index had no room for it any more. */
  #forgotten(name: string, bytes: number): void {
    this.kept?.drop(name);
    if (bytes === 0) return;
    this.#totals.add(ALL, 'stored', -bytes);
    rm(filePath(this.path, name), { force: true }).catch((error: unknown) => {
      this.log.write('crit', `unlink() "${filePath(this.path, name)}" failed (${systemErrorText(error)})`);
    });
  }

  /** Does with a file what purges say. @param path of the file with the name @throws (rejects) Error of the system */
  async settle(name: string, path: string): Promise<void> {
    const file = await EntryFile.open(path);
    if (file === undefined || file === 'damaged') return;
    const { stored } = file;
    file.close();
    const verdict = this.purges.verdictOn(stored);
    if (verdict === 'gone') await this.remove(name);
    else if (verdict !== 'valid') await this.renew(name, stored, { ...expired(stored, verdict), generation: this.purges.last }, 0);
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

/** Loaded where something is stored: workers start without it. */
function randomName(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(8).toString('hex');
}
