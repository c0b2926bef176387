import { closeSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import type { LogFileCache, NamedLogFiles } from '../contract/log-files.js';
import { LogFileError } from './log-file-error.js';

/** Files that are open at once in one turn of the event loop, whatever the cache allows. */
const OPEN_IN_TURN = 16;
const NO_CACHE: LogFileCache = { max: 0, inactiveMs: 0, minUses: 1, validMs: 0 };

interface NamedFile {
  readonly path: string;
  /** -1: it is closed, and remembered for its uses. */
  descriptor: number;
  /** Device and number of the file, to notice that another one has its name. */
  identity: string;
  waiting: string;
  /** A line has come in this turn. */
  isDue: boolean;
  /** Since it was last inactive. */
  uses: number;
  usedAt: number;
  checkedAt: number;
}

/**
 * Log files whose names requests make (`access_log logs/$host.log`). The first line of a turn of the event loop is written at once, the
 * others when it ends; then the file is closed, unless the cache keeps it (open_log_file_cache).
 */
export class NamedFiles implements NamedLogFiles {
  /** The one used longest ago comes first. */
  readonly #files = new Map<string, NamedFile>();
  #due: NamedFile[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly cache: LogFileCache = NO_CACHE,
    private readonly onClose: () => void = () => undefined,
  ) {}

  write(path: string, line: string): void {
    const file = this.#use(path, Date.now());
    file.waiting += `${line}\n`;
    if (file.isDue) return;
    file.isDue = true;
    drain(file);
    if (this.#due.push(file) === 1) setImmediate(() => this.flush());
    if (this.#due.length >= OPEN_IN_TURN) this.flush();
  }

  /** Writes what waits, and closes what the cache does not keep. */
  flush(): void {
    const due = this.#due;
    this.#due = [];
    for (const file of due) {
      file.isDue = false;
      drain(file);
      if (this.cache.max === 0) this.#forget(file);
      else if (file.uses < this.cache.minUses) shut(file);
    }
    if (this.#files.size > 0) this.#timer ??= setTimeout(() => this.#expire(), this.cache.inactiveMs).unref();
  }

  close(): void {
    this.shut();
    this.onClose();
  }

  /** Closes all of them: each is opened again for its next line. */
  shut(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const file of this.#files.values()) this.#forget(file);
    this.#due = [];
  }

  /** @throws LogFileError */
  #use(path: string, now: number): NamedFile {
    const known = this.#files.get(path);
    const file = known ?? { path, descriptor: -1, identity: '', waiting: '', isDue: false, uses: 0, usedAt: now, checkedAt: now };
    if (now - file.usedAt >= this.cache.inactiveMs) file.uses = 0;
    if (file.descriptor >= 0 && !file.isDue && now - file.checkedAt >= this.cache.validMs) {
      file.checkedAt = now;
      if (identityOf(path) !== file.identity) shut(file);
    }
    if (file.descriptor < 0) reopen(file, now);
    file.uses++;
    file.usedAt = now;
    this.#files.delete(path);
    this.#files.set(path, file);
    if (this.cache.max > 0) for (const oldest of this.#files.values()) if (this.#files.size > this.cache.max) this.#forget(oldest);
    return file;
  }

  /** Closes unused files. */
  #expire(): void {
    this.#timer = undefined;
    const now = Date.now();
    for (const file of this.#files.values()) {
      if (now - file.usedAt < this.cache.inactiveMs) break;
      this.#forget(file);
    }
    if (this.#files.size > 0) this.#timer = setTimeout(() => this.#expire(), this.cache.inactiveMs).unref();
  }

  #forget(file: NamedFile): void {
    drain(file);
    shut(file);
    this.#files.delete(file.path);
  }
}

function reopen(file: NamedFile, now: number): void {
  try {
    file.descriptor = openSync(file.path, 'a', 0o644);
    file.checkedAt = now;
    const { dev, ino } = fstatSync(file.descriptor);
    file.identity = `${dev}:${ino}`;
  } catch (error) {
    throw new LogFileError(file.path, error);
  }
}

/** Undefined if there is no such file. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/** A full disk does not fail a request: as in nginx, lines are lost then. */
function drain(file: NamedFile): void {
  if (file.waiting === '') return;
  const data = Buffer.from(file.waiting, 'utf8');
  file.waiting = '';
  try {
    for (let offset = 0; offset < data.length;) offset += writeSync(file.descriptor, data, offset);
  } catch {
    return;
  }
}

function shut(file: NamedFile): void {
  if (file.descriptor >= 0) closeSync(file.descriptor);
  file.descriptor = -1;
}
