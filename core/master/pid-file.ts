import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../config/make-folder.js';
import { systemErrorText } from '../module/system-error.js';

/**
 * Writes the number of this process. Appears whole or not at all; one that a killed server left behind is replaced.
 * @throws Error in the words of nginx
 */
export function writePidFile(path: string): void {
  const temporary = `${path}.${process.pid}`;
  try {
    // Where the folder may be missing the configuration has not been refused: it is the one of the default.
    makeFolder(dirname(path));
    writeFileSync(temporary, `${process.pid}\n`, { mode: 0o644 });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Error(`open() "${path}" failed (${systemErrorText(error)})`, { cause: error });
  }
}

/**
 * Removes the file, unless another server has put its own number there meanwhile. A server that gave its privileges up may not be allowed
 * to: it empties it then.
 * @returns false if the empty file stays
 */
export function removePidFile(path: string): boolean {
  if (readPidFile(path) !== process.pid) return true;
  try {
    rmSync(path);
    return true;
  } catch {
    writeFileSync(path, '');
    return false;
  }
}

function readPidFile(path: string): number | undefined {
  return existsSync(path) ? Number(readFileSync(path, 'utf8')) : undefined;
}
