import { readFile, stat } from 'node:fs/promises';
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

  /** @param reject called for lines that cannot be used @throws Error of the system when it cannot be read */
  async read(path: string, reject: (bad: BadLine) => void): Promise<Users> {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    const mark = `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
    let known = this.#known.get(path);
    this.#known.delete(path);
    if (known?.mark !== mark) known = { mark, users: parseUsers(await readFile(path), reject) };
    this.#known.set(path, known);
    if (this.#known.size > MOST_FILES) this.#forgetOldest();
    return known.users;
  }

  #forgetOldest(): void {
    for (const path of this.#known.keys()) {
      this.#known.delete(path);
      return;
    }
  }
}
