/** The system's facts about a file. `Stats` of node:fs has this form. */
export interface FileStatus {
  /** Bytes. */
  readonly size: number;
  /** Kind and permissions, as the system has them (`st_mode`). */
  readonly mode: number;
  /** Milliseconds since 1970, of the last change of its content; `ctimeMs` that of its other facts as well. */
  readonly mtimeMs: number;
  readonly ctimeMs: number;
  /** Its file system, and its number there. */
  readonly dev: number;
  readonly ino: number;
  isFile(): boolean;
  isDirectory(): boolean;
}

/**
 * Files, opened for reading and examined by calls of the system: with the event method `epoll` they go past the layers of node:fs, which cost more
 * than the calls themselves, and wait for no disk unless that is asked for. Undefined is the result of a call that would have to wait:
 * {@link prepare} does so in another thread, and the call is made again with `waits`. Paths are texts of single bytes. A descriptor is
 * closed by {@link close} alone. Since api `'1.2'`.
 */
export abstract class SystemFiles {
  /** All calls wait for disks: nothing says what the system has in memory. */
  abstract readonly alwaysWaits: boolean;
  /** Opens a file; a pipe does not wait for its other end. @returns a descriptor @throws an error of the system */
  abstract open(path: string, waits: true): number;
  abstract open(path: string, waits?: boolean): number | undefined;
  /** @throws an error of the system */
  abstract statusOf(descriptor: number): FileStatus;
  /** Follows symbolic links. @throws an error of the system */
  abstract status(path: string, waits: true): FileStatus;
  abstract status(path: string, waits?: boolean): FileStatus | undefined;
  /** As {@link status}. False: there is no such file. */
  abstract find(path: string, waits: true): FileStatus | false;
  abstract find(path: string, waits?: boolean): FileStatus | false | undefined;
  /** Has the system look a path up, so that a call with `waits` hardly has to. */
  abstract prepare(path: string): Promise<void>;
  /** Reads as much as the system has in memory of a file. @returns how many bytes; 0: there are no more @throws an error of the system */
  abstract read(descriptor: number, into: Buffer, from: number): number | undefined;
  abstract close(descriptor: number): void;
}
