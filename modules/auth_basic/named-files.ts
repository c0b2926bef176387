import { readFile } from 'node:fs/promises';
import type { FileStatus, SystemFiles } from '../../core/contract/system-files.js';
import { parseUsers, type BadLine, type Users } from './user-file.js';

const MOST_FILES = 100;

interface Known {
  readonly mark: string;
  readonly users: Users;
}

/** Files of users whose paths are known with each request only. A file is parsed again when it has changed. */
export class NamedUserFiles {
  /** The one used longest ago first. */
  readonly #known = new Map<string, Known>();

  constructor(private readonly files: SystemFiles) {}

  /** Users of a file that is known, and has not changed. Undefined: it has to be read, or a disk to be asked. @throws Error of the system */
  find(path: string): Users | undefined {
    const known = this.files.alwaysWaits ? undefined : this.#known.get(path);
    const status = known && this.files.status(bytesOf(path));
    if (known === undefined || status === undefined || known.mark !== markOf(status)) return undefined;
    this.#keep(path, known);
    return known.users;
  }

  /** @param reject called for lines that cannot be used @throws Error of the system when it cannot be read */
  async read(path: string, reject: (bad: BadLine) => void): Promise<Users> {
    const bytes = bytesOf(path);
    await this.files.prepare(bytes);
    const mark = markOf(this.files.status(bytes, true));
    let known = this.#known.get(path);
    if (known?.mark !== mark) known = { mark, users: parseUsers(await readFile(path), reject) };
    this.#keep(path, known);
    return known.users;
  }

  #keep(path: string, known: Known): void {
    this.#known.delete(path);
    this.#known.set(path, known);
    if (this.#known.size > MOST_FILES) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const path of this.#known.keys()) {
      this.#known.delete(path);
      return;
    }
  }
}

function markOf({ mtimeMs, ctimeMs, size, ino }: FileStatus): string {
  return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
}

/** A path as the system has it. */
function bytesOf(path: string): string {
  return Buffer.from(path).latin1Slice();
}
