import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../config/make-folder.js';
import { systemErrorText } from '../contract/system-error.js';

/**
 * Writes the number of this process. Appears whole or not at all; one that a killed server left behind is replaced.
 * @throws Error in the words of nginx
 */
export function writePidFile(path: string): void {
  try {
    // The folder may be missing only for the default path: otherwise the configuration was rejected.
    makeFolder(dirname(path));
    writeWhole(path, `${process.pid}\n`, 0o644);
  } catch (error) {
    throw new Error(`open() "${path}" failed (${systemErrorText(error)})`, { cause: error });
  }
}

/** Writes a file that appears whole or not at all. @throws Error of the system */
export function writeWhole(path: string, text: string, mode: number): void {
  const temporary = `${path}.${process.pid}`;
  try {
    // Never through a link.
    rmSync(temporary, { force: true });
    writeFileSync(temporary, text, { mode, flag: 'wx' });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
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
