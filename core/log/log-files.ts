import { closeSync, existsSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { LogFiles, type LogFile, type LogFileCache, type NamedLogFiles } from '../module/services.js';
import { makeFolder } from '../config/make-folder.js';
import { systemErrorText } from '../module/system-error.js';
import { LogFileError } from './log-file-error.js';
import { NamedFiles } from './named-files.js';

/** Bytes (about) that may wait for the end of the turn before they are written at once. */
const BUFFER_LIMIT = 65_536;
/** What may wait for a slow terminal or pipe; more is dropped, so that a stuck reader never costs memory. */
const BACKLOG_LIMIT = 4 * 1024 * 1024;
const RETRY_MS = 50;

/** One open file. Lines wait in one string until the turn of the event loop ends, then leave in one write. */
class AppendedFile implements LogFile {
  #descriptor: number;
  /** How often it was opened and not closed yet. */
  #users = 1;
  #waiting = '';
  /** What a write that was cut short has left over. */
  #rest: Buffer | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Lines are being lost, which has been told. */
  #isLosing = false;

  /** @param isNew it was not there before */
  constructor(
    private readonly path: string,
    private readonly files: AppendedLogFiles,
    private readonly isNew: boolean,
    private onLost: ((reason: string) => void) | undefined,
  ) {
    this.#descriptor = openForAppending(path);
  }

  write(line: string): void {
    if (this.#waiting === '') this.files.schedule(this);
    this.#waiting += line + '\n';
    if (this.#waiting.length > BUFFER_LIMIT) this.flush();
  }

  flush(): void {
    if (this.#waiting === '' && !this.#rest) return;
    const fresh = Buffer.from(this.#waiting, 'utf8');
    this.#waiting = '';
    this.#drain(this.#rest ? Buffer.concat([this.#rest, fresh]) : fresh);
  }

  reopen(): void {
    this.flush();
    const previous = this.#descriptor;
    this.#descriptor = openForAppending(this.path);
    closeDescriptor(previous);
  }

  use(onLost: ((reason: string) => void) | undefined): this {
    this.#users++;
    this.onLost = onLost ?? this.onLost;
    return this;
  }

  close(isUnused = false): void {
    if (--this.#users > 0) return;
    this.files.forget(this.path);
    if (isUnused && this.isNew && !this.files.keepsUnused) removeEmpty(this.path);
  }

  /** Whoever uses it. */
  shut(): void {
    this.flush();
    clearTimeout(this.#retry);
    closeDescriptor(this.#descriptor);
    this.#descriptor = -1;
  }

  #drain(data: Buffer): void {
    if (this.#descriptor < 0) return;
    let offset = 0;
    this.#rest = undefined;
    try {
      while (offset < data.length) offset += writeSync(this.#descriptor, data, offset);
      this.#isLosing = false;
    } catch (error) {
      // A full pipe is worth waiting for. A full disk or a closed pipe is not: as in nginx, traffic goes on and the lines are lost.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || data.length - offset > BACKLOG_LIMIT) {
        this.#lost(error);
        return;
      }
      this.#rest = data.subarray(offset);
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.flush();
      }, RETRY_MS).unref();
    }
  }

  #lost(error: unknown): void {
    if (this.#isLosing) return;
    this.#isLosing = true;
    this.onLost?.(`write() to "${this.path}" failed (${systemErrorText(error)})`);
  }
}

/** Where log files lie: for whoever hands them to another user. */
export class LogPaths {
  /** Files that were opened, and folders that were made for them. */
  readonly all = new Set<string>();
  /** Those that were not there before. */
  readonly made = new Set<string>();

  add(path: string, isNew: boolean): void {
    this.all.add(path);
    if (isNew) this.made.add(path);
  }
}

/** The log files of one thread. */
export class AppendedLogFiles extends LogFiles {
  /**
   * A file that was made for a change stays although the change did not come into force: what is checked as root is made for the user that the
   * server becomes. A server that runs leaves nothing behind.
   */
  keepsUnused = true;
  readonly #files = new Map<string, AppendedFile>();
  readonly #named = new Set<NamedFiles>();
  #scheduled: AppendedFile[] = [];

  /** @param paths also those of files that are closed again */
  constructor(readonly paths = new LogPaths()) {
    super();
  }

  /**
   * The file at `path`, which is absolute; the same object for the same path, as long as it is open. `stderr`, `/dev/stderr` and `/dev/stdout` are the
   * process's own streams.
   * @throws LogFileError when it cannot be opened, for example because its directory is missing.
   */
  open(path: string, onLost?: (reason: string) => void): LogFile {
    const known = this.#files.get(path);
    if (known) return known.use(onLost);
    const isNew = !existsSync(path);
    const file = new AppendedFile(path, this, isNew, onLost);
    this.#files.set(path, file);
    if (standardStream(path) === undefined) this.paths.add(path, isNew);
    return file;
  }

  named(cache?: LogFileCache): NamedLogFiles {
    const files = new NamedFiles(cache, () => this.#named.delete(files));
    this.#named.add(files);
    return files;
  }

  /** As {@link open}, and makes the missing directories. For the default files, which must work in an empty prefix. */
  openMakingDirectories(path: string): LogFile {
    if (!this.#files.has(path) && standardStream(path) === undefined) {
      try {
        makeFolder(dirname(path), undefined, (made) => this.paths.add(made, true));
      } catch (error) {
        throw new LogFileError(path, error);
      }
    }
    return this.open(path);
  }

  /** Opens every file anew, so that a rotated one is let go. Returns the reasons of those that could not: they go on in the old file. */
  reopen(): readonly LogFileError[] {
    const failures: LogFileError[] = [];
    for (const files of this.#named) files.shut();
    for (const file of this.#files.values()) {
      try {
        file.reopen();
      } catch (error) {
        if (!(error instanceof LogFileError)) throw error;
        failures.push(error);
      }
    }
    return failures;
  }

  /** Closes a file that nobody uses any more. */
  forget(path: string): void {
    this.#files.get(path)?.shut();
    this.#files.delete(path);
  }

  /** Writes what waits. Called at the end of a thread, where no later turn comes. */
  flush(): void {
    for (const file of this.#files.values()) file.flush();
    for (const files of this.#named) files.flush();
    this.#scheduled = [];
  }

  close(): void {
    for (const file of this.#files.values()) file.shut();
    for (const files of this.#named) files.close();
    this.#files.clear();
    this.#scheduled = [];
  }

  /** Called by a file whose first line of this turn has come. */
  schedule(file: AppendedFile): void {
    if (this.#scheduled.push(file) === 1) setImmediate(() => this.#flushScheduled());
  }

  #flushScheduled(): void {
    const due = this.#scheduled;
    this.#scheduled = [];
    for (const file of due) file.flush();
  }
}

/** What is not empty, or not there, stays as it is. */
function removeEmpty(path: string): void {
  try {
    const { size } = statSync(path);
    if (size === 0 && standardStream(path) === undefined) unlinkSync(path);
  } catch {
    // Somebody else has removed it.
  }
}

function standardStream(path: string): number | undefined {
  if (path === 'stderr' || path === '/dev/stderr') return 2;
  return path === '/dev/stdout' ? 1 : undefined;
}

function openForAppending(path: string): number {
  const stream = standardStream(path);
  if (stream !== undefined) return stream;
  try {
    return openSync(path, 'a', 0o644);
  } catch (error) {
    throw new LogFileError(path, error);
  }
}

function closeDescriptor(descriptor: number): void {
  if (descriptor > 2) closeSync(descriptor);
}
