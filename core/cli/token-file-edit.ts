import { readFileSync, statSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Lines of the file; none if it does not exist. */
export function readTokenFile(path: string): readonly string[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Replaces the file by one with other lines, which only its owner can read. A reader gets the old one or the new one, whole; an edit
 * meanwhile is rejected.
 * @throws Error of the system, and errors of `edit`: the file is as it was then
 */
export async function editTokenFile(path: string, edit: (lines: readonly string[]) => readonly string[]): Promise<void> {
  const aside = `${path}.new`;
  const file = await open(aside, 'wx', 0o600).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(`"${aside}" exists: another "srv token" is at work, or was killed; then remove it`);
  });
  try {
    const owner = statSync(path, { throwIfNoEntry: false });
    const text = edit(readTokenFile(path))
      .map((line) => `${line}\n`)
      .join('');
    await file.writeFile(text);
    if (owner !== undefined && owner.uid !== process.getuid?.()) await file.chown(owner.uid, owner.gid);
    await file.sync();
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
