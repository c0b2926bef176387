import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HttpRequest } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import type { SystemFiles } from '../../core/contract/system-files.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { Holds, Zones } from '../../core/contract/zones.js';
import { ARRIVAL_RECORDS, Arrivals, type SeenArrival } from './arrivals.js';
import { ArrivingFile, type ArrivingFetch } from './arriving-file.js';
import { CacheDisk } from './cache-disk.js';
import { ALL, CacheIndex, type IndexRecord } from './cache-index.js';
import type { CacheFigures } from './cache-figures.js';
import { HeadMemory } from './head-memory.js';
import { KeptEntries, type KeptEntry } from './kept-entries.js';
import { filePath, type CachePath } from './directives.js';
import { RecentDigests } from './entry-names.js';
import { encodeHead, EntryFile, expired, FIRST_READ, rewriteHead, type StoredHead } from './entry-file.js';
import type { Verdict } from './purge-list.js';
import { EntryWriter, type LiveEntry } from './entry-writing.js';
import type { ZonePurges } from './purges.js';

/** Fetches at a time that there are short ways to. */
const FETCHES = 1024;

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

/**
 * Milliseconds since its last use in which a file is still in memory, as good as certainly: it is read without a switch of threads where the system
 * does not say what is in memory.
 */
const RECENT = 60_000;

/** One cache: its files, and the index of them in shared memory. The same cache in every worker. */
export class CacheZone {
  readonly index: CacheIndex;
  readonly holds: Holds;
  readonly arrivals: Arrivals;
  /** Undefined: none are. */
  readonly kept: KeptEntries | undefined = undefined;
  readonly disk: CacheDisk;
  readonly #writer: EntryWriter;
  readonly digests = new RecentDigests();
  readonly #heads = new HeadMemory();
  /** Paths of its files have no characters of several bytes. */
  readonly #hasPlainPath: boolean;

  constructor(
    readonly path: CachePath,
    zones: Zones,
    /** Where files are written before they belong to the cache: on the same file system, or they would be copied. */
    private readonly temporary: string,
    private readonly log: Log,
    readonly purges: ZonePurges,
    readonly figures: CacheFigures,
    private readonly files: SystemFiles,
  ) {
    const zone = path.keys_zone;
    this.#hasPlainPath = /^[\x20-\x7e]*$/.test(path.path);
    if (path.memory !== undefined)
      this.kept = new KeptEntries(zones.copies(zone, path.memory), (name, now, uses) => void this.index.use(name, now, uses));
    this.index = new CacheIndex(zones, zone, this.kept, (name) => this.#forgotten(name));
    this.holds = zones.holds(zone, FETCHES);
    this.disk = new CacheDisk(this.index.totals, ALL, this.holds);
    this.#writer = new EntryWriter(this.disk, (text) => log.write('crit', `cache "${this.name}": ${text}`));
    this.arrivals = new Arrivals(zones.records(zone, { ...ARRIVAL_RECORDS, expected: FETCHES }), this.holds, () => this.index.nextTurn());
  }

  get name(): string {
    return this.path.keys_zone.name;
  }

  /** Before a member is asked for what is to be stored. */
  beginFetch(): Moment {
    return { generation: this.purges.last, turn: this.index.nextTurn() };
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
   * A promise only if a disk has to be asked, or is not a local one; where the system does not say so, if the file is large or was not used for a while, or the disk is slow.
   * @param known from {@link use}
   * @throws (and rejects) Error of the system
   */
  open(name: string, key: string, known = this.index.get(name)): EntryFile | undefined | Promise<EntryFile | undefined> {
    if (this.index.isLoaded && (known?.bytes ?? 0) === 0) return undefined;
    const path = filePath(this.path, name);
    const file = known !== undefined && known.bytes > 0 ? this.#openNow(path, name, known) : 'elsewhere';
    if (file !== 'elsewhere') return this.#judged(this.#opened(name, key, known, file));
    return this.#openElsewhere(name, key, known, path);
  }

  #openNow(path: string, name: string, { bytes, used }: IndexRecord): EntryFile | 'elsewhere' | undefined {
    const { files, disk } = this;
    const systemPath = this.#hasPlainPath ? path : Buffer.from(path).latin1Slice();
    if (!files.alwaysWaits) return disk.isLocal ? EntryFile.openNow(files, systemPath, name, this.#heads) : 'elsewhere';
    if (bytes > FIRST_READ || used <= Date.now() - RECENT || !disk.mayRead) return 'elsewhere';
    return disk.read(EntryFile.openNow, files, systemPath, name, this.#heads);
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
    if (file === undefined) this.index.missing(name, known?.stamp ?? 0);
    else this.#found(name, file);
    const whole = this.kept && file?.whole;
    if (whole !== undefined && known !== undefined) this.kept?.offer(name, whole, () => this.index.get(name)?.stamp === known.stamp);
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
    const purged = this.index.purgedOf(keyName);
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
    if (!this.index.isLoaded) this.index.add(name, encodeHead(stored).length + stored.bodyLength, Date.now());
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
      isWanted: () => !this.#wasPurged(name, entry, since) && this.index.claim(name, since.turn),
      add: (bytes) => this.index.add(name, (written = bytes), head.date, since.turn),
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
    if (this.index.purgedOf(name) > turn) return true;
    return generation < this.purges.last && (generation < this.purges.done || this.purges.verdictOn(entry) !== 'valid');
  }

  /** Gives a stored response another head. @param fetch turn of the fetch that it is from; 0: of none */
  async renew(name: string, former: StoredHead, head: StoredHead, fetch: number): Promise<void> {
    try {
      await rewriteHead(filePath(this.path, name), former, head);
      this.index.changed(name, fetch);
    } catch (error) {
      // It was purged meanwhile.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }

  /** Removes the response with a name, also one that is being fetched. @returns whether there was one @throws (rejects) Error of the system */
  purge(name: string): Promise<boolean> {
    this.index.purge(name);
    return this.#unlink(name);
  }

  /** @returns whether there was such a response */
  async remove(name: string): Promise<boolean> {
    this.index.remove(name);
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

  /** The index had no room for it any more. */
  #forgotten(name: string): void {
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

/** Loaded where something is stored: workers start without it. */
function randomName(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(8).toString('hex');
}
