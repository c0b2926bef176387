/** Logs that modules write: files and syslog servers. */
import type { LogFileOptions } from './log-file-options.js';
import type { LogLevel } from './log.js';

/**
 * Files that are appended to line by line, shared by path, reopened on USR1. The first line of a turn of the event loop is written at once,
 * those after it together when the turn ends.
 */
export abstract class LogFiles {
  /**
   * A file opened in `compile` is closed with its scope: `scope.register({ abort: () => file.close(true), release: () => file.close() })`.
   * {@link openLog} does that as well.
   * @param path `syslog:server=…` is not a file, but a syslog server that gets a datagram for each line, or lines over TCP
   * @throws Error in nginx's words, for {@link Scope.fail}: `open() "/nodir/a.log" failed (2: No such file or directory)`
   */
  abstract open(path: string, options?: LogFileOptions): LogFile;
  /** Files whose names are known with each line only. Without a cache they are opened for the line, and closed after it. */
  abstract named(cache?: LogFileCache): NamedLogFiles;
}

export interface LogFile {
  /** Rejects with nginx's text where it turns out later that nothing can be written: a name of a syslog server that has no address. */
  readonly ready?: Promise<void> | undefined;
  /** @param level of the message, for syslog */
  write(line: string, level?: LogLevel): void;
  /**
   * Ends one use of the file. It is closed when as many are ended as were begun by opening it.
   * @param isUnused the change that opened it did not take effect: a file that was made for it goes again
   */
  close(isUnused?: boolean): void;
}

/** How long such files stay open (open_log_file_cache). */
export interface LogFileCache {
  /** Files that may be open; then the one used longest ago is closed. */
  readonly max: number;
  /** Time without a line after which a file is closed. */
  readonly inactiveMs: number;
  /** Lines within that time that a file needs to stay open. */
  readonly minUses: number;
  /** Time after which it is checked that the file still has its name. */
  readonly validMs: number;
}

export interface NamedLogFiles {
  /** @throws Error in nginx's words: `open() "/nodir/a.log" failed (2: No such file or directory)` */
  write(path: string, line: string): void;
  /** Closes what is open. Nothing may be written afterwards. */
  close(): void;
}
