import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { LogFiles, type LogFile, type LogFileCache, type NamedLogFiles } from '../contract/log-files.js';
import type { LogFileOptions } from '../contract/log-file-options.js';
import { makeFolder } from '../config/make-folder.js';
import { Dialer } from '../net/dialer.js';
import { AppendedFile, standardStream } from './appended-file.js';
import { CompressedLog } from './compressed-log.js';
import { LogFileError } from './log-file-error.js';
import { NamedFiles } from './named-files.js';
import type { OpenLog } from './open-log.js';
import { SyslogLog } from './syslog-log.js';
import { isSyslog, syslogTarget } from './syslog-target.js';

const PRIVATE_FOLDER = 0o700;

/** Paths of log files: for handing them to another user. */
export class LogPaths {
  /** Files that were opened, and folders that were made for them. */
  readonly all = new Set<string>();
  /** New ones. */
  readonly made = new Set<string>();

  add(path: string, isNew: boolean): void {
    this.all.add(path);
    if (isNew) this.made.add(path);
  }
}

/** The log files of one thread. */
export class AppendedLogFiles extends LogFiles {
  /**
   * A file that was made for a change stays although the change did not take effect: what is checked as root is made for the user that the
   * server becomes. A server that runs leaves nothing behind.
   */
  keepsUnused = true;
  /** By path, and by how it is written. */
  readonly #files = new Map<string, OpenLog>();
  readonly #named = new Set<NamedFiles>();
  #scheduled: OpenLog[] = [];
  #dialer: Dialer | undefined;

  /** @param paths also those of files that are closed again */
  constructor(readonly paths = new LogPaths()) {
    super();
  }

  /**
   * The file at `path`, which is absolute; the same object for the same path, as long as it is open. `stderr`, `/dev/stderr` and `/dev/stdout` are the
   * process's own streams; `syslog:…` is a server.
   * @throws LogTargetError when it cannot be opened, for example because its directory is missing.
   */
  open(path: string, options: LogFileOptions = {}): LogFile {
    const { onLost, gzip } = options;
    const key = gzip === undefined ? path : `${path} ${JSON.stringify(gzip)}`;
    const known = this.#files.get(key);
    if (known) return known.use(onLost);
    const log = isSyslog(path)
      ? new SyslogLog(syslogTarget(path), this.#dialerOf(), () => this.forget(path))
      : this.#openFile(path, key, options);
    this.#files.set(key, gzip === undefined || log instanceof SyslogLog ? log : new CompressedLog(log, gzip));
    return this.#files.get(key) as OpenLog;
  }

  /** Connects to servers of logs from now on. */
  useDialer(dialer: Dialer): void {
    this.#dialer = dialer;
  }

  #dialerOf(): Dialer {
    return (this.#dialer ??= Dialer.plain());
  }

  #openFile(path: string, key: string, options: LogFileOptions): AppendedFile {
    const isNew = !existsSync(path);
    if (options.makesFolder === true && standardStream(path) === undefined) this.#makeFolderOf(path, PRIVATE_FOLDER);
    const owner = { keepsUnused: this.keepsUnused, schedule: (log: OpenLog) => this.#schedule(log), forget: () => this.forget(key) };
    const file = new AppendedFile(path, owner, isNew, options);
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
    if (!this.#files.has(path) && standardStream(path) === undefined) this.#makeFolderOf(path);
    return this.open(path);
  }

  #makeFolderOf(path: string, mode?: number): void {
    try {
      makeFolder(dirname(path), mode, (made) => this.paths.add(made, true));
    } catch (error) {
      throw new LogFileError(path, error);
    }
  }

  /** Opens every file again, so that a rotated one is let go. Returns the reasons of failures: those logs continue in the old file. */
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

  /** Closes a file that is not used any more. */
  forget(key: string): void {
    this.#files.get(key)?.shut();
    this.#files.delete(key);
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

  #schedule(file: OpenLog): void {
    if (this.#scheduled.push(file) === 1) setImmediate(() => this.#flushScheduled());
  }

  #flushScheduled(): void {
    const due = this.#scheduled;
    this.#scheduled = [];
    for (const file of due) file.flush();
  }
}
