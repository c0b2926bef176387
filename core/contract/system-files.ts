/** The system's facts about a file. `Stats` of node:fs has this form. */
export interface FileStatus {
  /** Bytes. */
  readonly size: number;
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
 * than the calls themselves. Paths are texts of single bytes. A descriptor is closed by {@link close} alone. Since api `'1.2'`.
 */
export abstract class SystemFiles {
  /**
   * Opens a file; a pipe does not wait for its other end.
   * @returns a descriptor; undefined: the system has to ask a disk for the path, which {@link openLater} does in another thread
   * @throws an error of the system
   */
  abstract open(path: string): number | undefined;
  /** @throws (rejects) an error of the system */
  abstract openLater(path: string): Promise<number>;
  /** @throws an error of the system */
  abstract statusOf(descriptor: number): FileStatus;
  /** Follows symbolic links. @throws an error of the system */
  abstract status(path: string): FileStatus;
  /** As {@link status}. Undefined: there is no such file. */
  abstract find(path: string): FileStatus | undefined;
  abstract close(descriptor: number): void;
}
