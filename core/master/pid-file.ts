import { existsSync, readFileSync, renameSync, rmSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes the number of this process. Appears whole or not at all; one that a killed server left behind is replaced. */
export function writePidFile(path: string): void {
  if (!existsSync(dirname(path))) mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, `${process.pid}\n`, { mode: 0o644 });
  renameSync(temporary, path);
}

/** Removes the file, unless another server has put its own number there meanwhile. */
export function removePidFile(path: string): void {
  try {
    if (readFileSync(path, 'utf8').trim() === String(process.pid)) rmSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
