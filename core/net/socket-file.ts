import { chmodSync, mkdtempSync, renameSync, rmdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MAX_SOCKET_PATH } from '../contract/address.js';

/** Length that the name of the private folder adds to that of the folder it is in: `/.srvXXXXXX/s`. */
const FOLDER_PREFIX = '.srv';
const NAME = 's';
/** Bytes by which the path of the bound socket can be longer than that of the folder of the final one. */
const PRIVATE_PATH_LENGTH = FOLDER_PREFIX.length + NAME.length + 8;

/** True if the path of a socket leaves room for the private one. */
export const hasPrivatePath = (path: string): boolean => Buffer.byteLength(dirname(path)) + PRIVATE_PATH_LENGTH <= MAX_SOCKET_PATH;

/**
 * The file of a unix socket. It is bound in a folder that is open to this user alone, and gets its name when it has its mode: at no moment
 * can unauthorized users connect to it. A file that a dead worker has left at that name is replaced, and libuv, which removes the path that
 * a socket was bound to, does not know the name: another program may listen on the socket.
 */
export class SocketFile {
  #folder = '';
  /** Of the file, once it has its name. */
  #inode: number | undefined;

  private constructor(private readonly path: string) {}

  /** Makes the private folder. @throws Error of the system */
  static make(path: string): SocketFile {
    const file = new SocketFile(path);
    file.#folder = mkdtempSync(join(dirname(path), FOLDER_PREFIX));
    return file;
  }

  /** That of a socket which another process has bound. */
  static of(path: string): SocketFile {
    const file = new SocketFile(path);
    file.#inode = statSync(path, { throwIfNoEntry: false })?.ino;
    return file;
  }

  /** Where to bind it. */
  get privatePath(): string {
    return join(this.#folder, NAME);
  }

  /** Gives the bound socket its mode, then its name. @param mode undefined: as the system has made it @throws Error of the system: the folder is gone then */
  publish(mode: number | undefined): void {
    try {
      if (mode !== undefined) chmodSync(this.privatePath, mode);
      this.#inode = statSync(this.privatePath).ino;
      renameSync(this.privatePath, this.path);
      rmdirSync(this.#folder);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** The socket could not be bound. */
  abandon(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** @throws Error of the system */
  changeMode(mode: number): void {
    if (this.#isThere()) chmodSync(this.path, mode);
  }

  /** The socket is closed. Another one may have its name by now, that of the worker which takes over. */
  remove(): void {
    if (this.#isThere()) unlinkSync(this.path);
  }

  #isThere(): boolean {
    return this.#inode !== undefined && statSync(this.path, { throwIfNoEntry: false })?.ino === this.#inode;
  }
}
