import { constants } from 'node:fs';
import { access, copyFile, link, open, readFile, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasKey } from '../contract/secrets.js';
import { fileMark } from './replace-file.js';

/**
 * A file of the operator that gets another content: whole or not at all, with the mode and the owner that it had; for its owner alone
 * if it gets a private key. The one before stays beside
 * it, under a name that no `include` with a mask finds.
 */
export class WrittenFile {
  private constructor(
    /** The file itself, where the configuration names a link to it. */
    private readonly real: string,
    private readonly mark: string | undefined,
  ) {}

  /**
   * Writes the new content beside the file.
   * @throws Error of the system; nothing is left then
   */
  static async prepare(path: string, content: Buffer): Promise<WrittenFile> {
    const real = await realpath(path);
    const file = new WrittenFile(real, fileMark(real));
    await access(real, constants.W_OK);
    try {
      await file.#write(content);
    } catch (error) {
      await file.abort();
      throw error;
    }
    return file;
  }

  /** It has not changed since it was prepared. */
  get isAsItWas(): boolean {
    return fileMark(this.real) === this.mark;
  }

  get backup(): string {
    return this.#beside('bak');
  }

  async commit(): Promise<void> {
    await rm(this.backup, { force: true });
    // The same file under another name; not every file system has that.
    await link(this.real, this.backup).catch(() => copyFile(this.real, this.backup, constants.COPYFILE_EXCL));
    await rename(this.#beside('new'), this.real);
    const folder = await open(dirname(this.real), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  async abort(): Promise<void> {
    await rm(this.#beside('new'), { force: true });
  }

  #beside(ending: string): string {
    return join(dirname(this.real), `.${basename(this.real)}.${ending}`);
  }

  async #write(content: Buffer): Promise<void> {
    const { mode, uid, gid } = await stat(this.real);
    const aside = this.#beside('new');
    await rm(aside, { force: true });
    const file = await open(aside, 'wx', 0o600);
    try {
      await giveTo(file, uid, gid);
      await file.chmod(savedMode(mode, content.latin1Slice(), (await readFile(this.real)).latin1Slice()));
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** True if a file gets a private key: others may read it, and would read the key from now on. */
export function bringsKey(text: string, before: string): boolean {
  return hasKey(text) && !hasKey(before);
}

/** The mode of a file with another text. */
export function savedMode(mode: number, text: string, before: string): number {
  return mode & (bringsKey(text, before) ? 0o700 : 0o7777);
}

async function giveTo(file: FileHandle, uid: number, gid: number): Promise<void> {
  const own = await file.stat();
  if (own.uid !== uid || own.gid !== gid) await file.chown(uid, gid);
}
