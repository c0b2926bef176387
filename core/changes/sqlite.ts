import type * as Sqlite from 'node:sqlite';
import { experimentalBuiltin } from '../config/experimental-builtin.js';

/** node:sqlite: Node 24 warns of it at the first import; the part used here has not changed since. */
export function loadSqlite(): typeof Sqlite {
  return experimentalBuiltin('node:sqlite', 'SQLite') as typeof Sqlite;
}

/** Result codes of SQLite that mean something to an operator (sqlite.org/rescode.html). The first: a table or a column is missing. */
const ERROR = 1;
const BUSY = 5;
const CORRUPT = 11;
const FULL = 13;
const NOT_A_DATABASE = 26;

/** Extended code: the shared memory of the log (`-shm`) cannot be made. */
const NO_SHARED_MEMORY = 4874;

function codeOf(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

/** Also those of the disk: SQLite says them in its own words. */
export const isSqliteError = (error: unknown): error is Error => codeOf(error) !== undefined;
export const isBusy = (error: unknown): boolean => codeOf(error) === BUSY;
export const isFull = (error: unknown): boolean => codeOf(error) === FULL;
export const isDamaged = (error: unknown): boolean => [ERROR, CORRUPT, NOT_A_DATABASE].includes(codeOf(error) ?? -1);
/** True if a database could be used without shared memory, which a full disk has no room for. */
export const lacksSharedMemory = (error: unknown): boolean =>
  isFull(error) || (error instanceof Error && 'errcode' in error && error.errcode === NO_SHARED_MEMORY);
