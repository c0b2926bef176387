import { chmodSync, mkdtempSync, renameSync, rmdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** What the name of the private folder adds to that of the folder it is in: `/.srvXXXXXX/s`. */
const FOLDER_PREFIX = '.srv';
const NAME = 's';
/** Bytes by which the path of the bound socket can be longer than that of the folder of the final one. */
export const PRIVATE_PATH_LENGTH = FOLDER_PREFIX.length + NAME.length + 8;

/**
 * The file of a unix socket with a mode of its own. It is bound in a folder that is open to this user alone, and gets its name when it has its
 * mode: at no moment can others connect to it who may not.
 */
export class SocketFile {
  readonly #folder: string;
  /** Of the file, once it has its name. */
  #inode: number | undefined;

  /** @throws Error of the system */
  constructor(private readonly path: string) {
    this.#folder = mkdtempSync(join(dirname(path), FOLDER_PREFIX));
  }

  /** Where to bind it. */
  get privatePath(): string {
    return join(this.#folder, NAME);
  }

  /** Gives the bound socket its mode, then its name. @throws Error of the system: the folder is gone then */
  publish(mode: number): void {
    try {
      chmodSync(this.privatePath, mode);
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
