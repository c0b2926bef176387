import type { FileStatus, SystemFiles } from '../../core/contract/system-files.js';
import { openPlace, statusOf, type Place } from './file-access.js';
import { OpenedFile } from './opened-file.js';

/** Files up to this many bytes stay in memory with their descriptors; and all files of a cache together up to that many. */
const CONTENT = 32_768;
const ALL_CONTENT = 16_777_216;
/** Milliseconds for which a file must not have changed: within a tick of its file system two changes have the same time. */
const SETTLED = 2000;

/** `open_file_cache_valid`, `_min_uses`, `_errors`. */
export interface CacheRules {
  readonly validMs: number;
  readonly minUses: number;
  readonly errors: boolean;
}

/** Entry of one path. */
interface Entry {
  /** Undefined: it could not be opened, see `error`. */
  file: CachedFile | undefined;
  error: unknown;
  /** Uses since it came, or since it was not used for `inactive`. */
  uses: number;
  usedAt: number;
  checkedAt: number;
}

/** `open_file_cache`: open files, their status, and errors, by path. Times are milliseconds since 1970. */
export class OpenFileCache {
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();
  /** Bytes of files in memory. */
  #content = 0;
  #users = 0;

  /** @param max entries; then the one used longest ago goes. @param inactiveMs those not used for as long go */
  constructor(
    private readonly max: number,
    private readonly inactiveMs: number,
  ) {}

  /** Announces a scope that uses it. Without any it closes all files. */
  retain(): void {
    this.#users++;
  }

  release(): void {
    if (--this.#users > 0) return;
    for (const path of this.#entries.keys()) this.#remove(path);
  }

  /** A file that is the caller's until its `release()`. Undefined without `waits`: a disk has to be asked. @throws an error of the system */
  open(files: SystemFiles, place: Place, now: number, rules: CacheRules, waits: boolean): OpenedFile | undefined {
    const entry = this.#entry(files, place, now, rules, true, waits);
    if (entry === undefined) return undefined;
    if (entry.file === undefined) throw entry.error;
    return entry.file.hold(entry.uses >= rules.minUses);
  }

  /** As {@link open}. */
  status(files: SystemFiles, place: Place, now: number, rules: CacheRules, waits: boolean): FileStatus | undefined {
    const entry = this.#entry(files, place, now, rules, false, waits);
    if (entry === undefined) return undefined;
    if (entry.file === undefined) throw entry.error;
    return entry.file.stats;
  }

  /** Memory for the whole of a file, if there is any left. */
  reserve(bytes: number): boolean {
    if (bytes > CONTENT || this.#content + bytes > ALL_CONTENT) return false;
    this.#content += bytes;
    return true;
  }

  free(bytes: number): void {
    this.#content -= bytes;
  }

  #entry(files: SystemFiles, place: Place, now: number, rules: CacheRules, opens: boolean, waits: boolean): Entry | undefined {
    const key = keyOf(place);
    const known = this.#entries.get(key);
    const entry = known ?? { file: undefined, error: undefined, uses: 0, usedAt: now, checkedAt: 0 };
    const isValid = now - entry.checkedAt < rules.validMs && (entry.file !== undefined || rules.errors);
    const mustCheck = !isValid || (opens && entry.file?.needsOpening === true);
    if (mustCheck && !this.#check(files, entry, place, opens, waits)) return undefined;
    if (known !== undefined) this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (now - entry.usedAt > this.inactiveMs) entry.uses = 0;
    entry.uses++;
    entry.usedAt = now;
    if (!isValid) entry.checkedAt = now;
    this.#expire(now);
    return entry;
  }

  /** Looks at the file itself. One that is the same stays open. @returns false: a disk has to be asked */
  #check(files: SystemFiles, entry: Entry, place: Place, opens: boolean, waits: boolean): boolean {
    const { file } = entry;
    try {
      if (!opens || file?.isOpen === true) {
        const stats = statusOf(files, place, waits);
        if (stats === undefined) return false;
        if (file !== undefined && isSame(file.stats, stats)) return true;
        if (!opens) {
          this.#replace(entry, new CachedFile(files, place.path, stats, -1, this));
          return true;
        }
      }
      const opened = openPlace(files, place, waits);
      if (opened === undefined) return false;
      this.#replace(entry, new CachedFile(files, place.path, opened.stats, opened.descriptor, this));
    } catch (error) {
      this.#replace(entry, undefined);
      entry.error = error;
    }
    return true;
  }

  #replace(entry: Entry, file: CachedFile | undefined): void {
    entry.file?.forget();
    entry.file = file;
    entry.error = undefined;
  }

  /** From the front of the map: what was used longest ago. */
  #expire(now: number): void {
    for (const [path, { usedAt }] of this.#entries) {
      if (this.#entries.size <= this.max && now - usedAt <= this.inactiveMs) return;
      this.#remove(path);
    }
  }

  #remove(path: string): void {
    this.#entries.get(path)?.file?.forget();
    this.#entries.delete(path);
  }
}

/** One that the cache has, or had while a response still needs it. */
class CachedFile extends OpenedFile {
  #holders = 0;
  #isForgotten = false;
  #content: Buffer | undefined = undefined;
  /** Used often enough to stay open. */
  #stays = false;

  constructor(
    private readonly system: SystemFiles,
    path: string,
    stats: FileStatus,
    descriptor: number,
    private readonly cache: OpenFileCache,
  ) {
    super(system, path, stats, descriptor);
  }

  get isOpen(): boolean {
    return this.descriptor >= 0;
  }

  /** It is a file, its descriptor is closed, and it is not in memory. */
  get needsOpening(): boolean {
    return this.descriptor < 0 && this.#content === undefined && this.stats.isFile();
  }

  override get content(): Buffer | undefined {
    return this.#content;
  }

  hold(stays: boolean): this {
    this.#holders++;
    this.#stays = stays;
    if (stays && this.#content === undefined && this.stats.size <= CONTENT && this.isOpen) this.#load();
    return this;
  }

  override release(): void {
    if (--this.#holders === 0 && (this.#isForgotten || !this.#stays)) this.close();
  }

  /** It is out of the cache. */
  forget(): void {
    this.#isForgotten = true;
    if (this.#content !== undefined) this.cache.free(this.#content.length);
    if (this.#holders === 0) this.close();
  }

  /** Takes the file into memory, if it has not changed for a while, nor while it was read. */
  #load(): void {
    const { size, ctimeMs } = this.stats;
    if (!(Date.now() - ctimeMs > SETTLED) || !this.cache.reserve(size)) return;
    const content = Buffer.allocUnsafeSlow(size);
    try {
      if (this.system.read(this.descriptor, content, 0) === size && isSame(this.stats, this.system.statusOf(this.descriptor))) {
        this.#content = content;
        return;
      }
    } catch {
      // The sender of the file gets the error as well, and logs it.
    }
    this.cache.free(size);
  }
}

function isSame(known: FileStatus, now: FileStatus): boolean {
  return (
    known.ino === now.ino &&
    known.dev === now.dev &&
    known.size === now.size &&
    known.mtimeMs === now.mtimeMs &&
    known.ctimeMs === now.ctimeMs
  );
}

/** A path that is followed by other rules may be another file. */
function keyOf({ path, unchecked, symlinks }: Place): string {
  return symlinks === undefined ? path : `${symlinks.ifOwner ? 'owner' : 'on'}:${unchecked}\0${path}`;
}
