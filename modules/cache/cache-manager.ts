import { constants } from 'node:fs';
import { access, mkdir, opendir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { CacheZone } from './cache-zone.js';

/** Names of files in a cache, as `filePath` makes them. */
const NAME = /^[0-9a-f]{32}$/;
/** Names of files that are being written; those of a server that was killed stay. */
const ASIDE = /^\.[0-9a-f]{32}\.[0-9a-f]{16}$/;
/** Milliseconds after which a file that was being written is abandoned. */
const ABANDONED = 3_600_000;

/** Milliseconds after which every worker knows a purge, and no file that it has missed is under way. */
const SETTLED = 60_000;

/** Milliseconds after which files are removed although there are purges again and again. */
const LONGEST_PURGE = 600_000;

/** Names of a folder that are read at a time: one may have a million. */
const NAMES = 256;

/** Takes the files of a cache into its index, and removes the excessive and the unused ones. In the main thread, which no request waits for. */
export class CacheManager {
  constructor(
    private readonly zone: CacheZone,
    private readonly log: Log,
  ) {}

  /** Makes the folder, and logs why it cannot be used. */
  async prepare(): Promise<void> {
    const { path } = this.zone.path;
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
      await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
      await this.zone.disk.look(path);
    } catch (error) {
      this.log.write(
        'crit',
        `the folder "${path}" of cache "${this.zone.name}" cannot be used (${systemErrorText(error)}): nothing is stored`,
      );
    }
  }

  /** Reads the folder, with pauses (`loader_files`, `loader_sleep`, `loader_threshold`). */
  async load(signal: AbortSignal): Promise<void> {
    const { path } = this.zone;
    const pace = new Pace(path.loader_files, path.loader_threshold, path.loader_sleep, signal);
    try {
      await this.#visit(path.path, path.levels.length, pace, (name, file) => this.#loadFile(name, file));
    } catch (error) {
      if (signal.aborted) return;
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        this.log.write('crit', `cache "${this.zone.name}" cannot be loaded (${systemErrorText(error)})`);
    }
    this.zone.index.loaded();
    this.log.write('info', `cache "${this.zone.name}": ${this.zone.index.entries} entries, ${this.zone.index.size} bytes`);
  }

  /** Calls `found` for the files of stored responses, and removes abandoned ones. */
  async #visit(folder: string, levels: number, pace: Pace, found: (name: string, path: string) => Promise<void>): Promise<void> {
    for await (const { name } of await opendir(folder, { bufferSize: NAMES })) {
      const path = join(folder, name);
      if (levels > 0) {
        if (/^[0-9a-f]{1,2}$/.test(name)) await this.#visit(path, levels - 1, pace, found).catch(ifMissing);
      } else if (NAME.test(name)) await found(name, path);
      else if (ASIDE.test(name)) await this.#removeAbandoned(path);
      await pace.step();
    }
  }

  /**
   * Removes the files of what was purged, and makes what was purged softly stale: after it these purges need not be remembered. Those of the last minute
   * wait: a worker that is very busy may not know them yet.
   */
  async sweep(signal: AbortSignal, now = Date.now()): Promise<void> {
    const { purges, path } = this.zone;
    const { first, last } = purges;
    const isDue = first > 0 && (last <= now - SETTLED || first <= now - LONGEST_PURGE);
    if (!isDue) return;
    const number = Math.min(last, now - SETTLED);
    const pace = new Pace(path.loader_files, path.loader_threshold, path.loader_sleep, signal);
    try {
      await this.#visit(path.path, path.levels.length, pace, (name, file) => this.zone.settle(name, file));
    } catch (error) {
      if (signal.aborted || (error as NodeJS.ErrnoException).code === 'ENOENT') return;
      this.log.write('crit', `cache "${this.zone.name}" cannot be purged (${systemErrorText(error)})`);
      return;
    }
    await purges.finish(number);
  }

  async #loadFile(name: string, path: string): Promise<void> {
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined) this.zone.index.add(name, facts.size, facts.mtimeMs);
  }

  async #removeAbandoned(path: string): Promise<void> {
    const facts = await stat(path).catch(() => undefined);
    if (facts !== undefined && Date.now() - facts.mtimeMs > ABANDONED) await rm(path, { force: true });
  }

  /** A look at the file system, which must be repeated every minute. A folder that is missing is on none. */
  look(): Promise<void> {
    return this.zone.disk.look(this.zone.path.path).catch(() => undefined);
  }

  /** Removes what is too old, and what is too much (`inactive`, `max_size`, `min_free`), the response used longest ago first. */
  async tidy(signal: AbortSignal): Promise<void> {
    const { zone } = this;
    const { path } = zone;
    const pace = new Pace(path.manager_files, path.manager_threshold, path.manager_sleep, signal);
    for (;;) {
      const oldest = zone.index.oldest(path.manager_files);
      const missing = await this.#missingRoom();
      let excess = Math.max(zone.index.size - (path.max_size ?? Infinity), missing);
      const removed = oldest.filter(({ bytes, used }) => {
        const goes = used + path.inactive < Date.now() || excess > 0;
        if (goes) excess -= bytes;
        return goes;
      });
      for (const { name } of removed) {
        await zone.remove(name);
        await pace.step();
      }
      if (removed.length < path.manager_files) return;
    }
  }

  /** Bytes that `min_free` lacks. */
  async #missingRoom(): Promise<number> {
    const { min_free: least, path } = this.zone.path;
    if (least === undefined) return 0;
    const { bavail, bsize } = await statfs(path).catch(() => ({ bavail: Infinity, bsize: 1 }));
    return least - bavail * bsize;
  }
}

/** A folder that was removed meanwhile has nothing any more. @throws what else an error is */
function ifMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

/** Pauses after so many files, or so much time. */
class Pace {
  #files = 0;
  #since = Date.now();

  constructor(
    private readonly files: number,
    private readonly threshold: number,
    private readonly sleep: number,
    private readonly signal: AbortSignal,
  ) {}

  async step(): Promise<void> {
    this.signal.throwIfAborted();
    if (++this.#files < this.files && Date.now() - this.#since < this.threshold) return;
    await pause(this.sleep, undefined, { signal: this.signal });
    this.#files = 0;
    this.#since = Date.now();
  }
}
