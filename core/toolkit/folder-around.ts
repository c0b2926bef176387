import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { ArgError } from '../contract/spec.js';
import { systemErrorText } from '../contract/system-error.js';

/**
 * For what is going to be made at `path`: the folder around it has to exist.
 * @param call of the system that would fail without it
 * @throws ArgError in nginx's words: `open() "/nodir/x" failed (2: No such file or directory)`
 */
export function assertFolderAround(path: string, call: 'open' | 'mkdir'): void {
  try {
    statSync(`${dirname(path)}/`);
  } catch (error) {
    throw new ArgError(`${call}() "${path}" failed (${systemErrorText(error)})`);
  }
}
