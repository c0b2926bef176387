import { join } from 'node:path';
import { ApiError } from '../contract/control.js';
import { DamagedRow } from './damaged-row.js';
import { isBusy, isDamaged, isFull } from './sqlite.js';

export const STORE_FILE = 'srv.db';

/** Why the data folder cannot be used, and what to do about it. For the operator: it names paths. */
export class StoreError extends Error {}

/** The folder, or a file in it, cannot be made or written: by this user, on this file system, or for want of room. */
export class FolderUnusable extends StoreError {}

/** The folder of an open store, or a file of it, was removed, or another one was put in its place. */
export class StoreGone extends StoreError {
  constructor(path: string) {
    super(`"${path}" was removed or replaced while srv uses it: put it back as it was, or restart srv; until then no change is accepted`);
  }
}

/** Another program has the data folder, or is about to: what would be read may be old, and nothing may be written. */
export class StoreReleased extends ApiError {
  constructor() {
    super(503, 'DataPlaneUnavailable', 'the data plane is being upgraded; nothing was changed: repeat the call');
  }
}

export const WITHOUT_IT =
  'without it srv starts from the configuration file alone, without the changes and keys that were made through the API';

export function damageText(path: string): string {
  return `"${path}" is empty, damaged or not a database of srv: restore it from a backup, or move it and its -wal and -shm files away; ${WITHOUT_IT}`;
}

/** In words of the operator what went wrong with the store in `folder`. */
export function explained(error: unknown, folder: string): Error {
  if (error instanceof StoreError) return error;
  if (isBusy(error))
    return new StoreError(
      `data folder "${folder}" is in use by another srv: if that one is still ending, wait for it; else stop it, or give this one another prefix (-p)`,
    );
  if (isDamaged(error) || error instanceof DamagedRow) return new StoreError(damageText(join(folder, STORE_FILE)));
  if (isFull(error)) return new FolderUnusable(`the disk of data folder "${folder}" is full: make room on it`);
  const reason = error instanceof Error ? error.message : String(error);
  const text = `data folder "${folder}" cannot be used: ${reason}`;
  // Of the system or of SQLite; what has no code is an error of this program.
  return error instanceof Error && 'code' in error ? new FolderUnusable(text) : new StoreError(text);
}
