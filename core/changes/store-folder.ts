/** The files of a store in its folder. */
import { accessSync, chmodSync, constants, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { lacksSharedMemory, loadSqlite } from './sqlite.js';
import { makeFolder } from '../config/make-folder.js';
import { STORE_FILE, StoreError, StoreGone, WITHOUT_IT } from './store-error.js';
import { checkSchema, fillDatabase, makeDatabase, touchPrivate } from './store-schema.js';
import { isWalDamaged } from './wal-damage.js';

const LOCK_FILE = 'srv.lock';

export function makePrivate(folder: string): void {
  makeFolder(folder, 0o700);
  chmodSync(folder, 0o700);
}

/** @throws Error of the system when the folder is neither there, to be written into, nor could be made */
export function assertUsable(folder: string): void {
  let nearest = folder;
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest);
  // With the slash, something else than a folder is an error as well.
  accessSync(`${nearest}/`, constants.W_OK | constants.X_OK);
}

/**
 * An exclusive transaction on an empty database that is held for the life of the process: Node has no flock, SQLite does, and the system lets
 * go of it when the process dies. The store itself stays readable for `srv -T`.
 */
export function takeLock(folder: string): DatabaseSync {
  const path = join(folder, LOCK_FILE);
  touchPrivate(path);
  const { DatabaseSync } = loadSqlite();
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written into it: it needs no journal, which a full disk has no room for.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** Opens the database for writing, makes it if there is none. @throws StoreError, or what SQLite says */
export function openDatabase(folder: string): DatabaseSync {
  const path = join(folder, STORE_FILE);
  assertNotMissing(path);
  assertWholeLog(path);
  if (!existsSync(path)) makeDatabase(path);
  // SQLite gives its other files the mode of this one.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) closeToOthers(file);
  try {
    return connect(path, 'NORMAL');
  } catch (error) {
    if (!lacksSharedMemory(error)) throw error;
    // A full disk: the index of the log is kept in the heap then, and "srv -T" cannot look at the store meanwhile.
    return connect(path, 'EXCLUSIVE');
  }
}

function connect(path: string, locking: 'NORMAL' | 'EXCLUSIVE'): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(path, { timeout: 2000 });
  try {
    database.exec(`PRAGMA locking_mode = ${locking}`);
    checkSchema(database, path);
    // FULL: a commit is on disk before it returns, so that what was acknowledged survives a power cut as well.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A database that goes away with this process. */
export function openVolatileDatabase(): DatabaseSync {
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(':memory:');
  fillDatabase(database);
  return database;
}

/** Makes the file of a database that was volatile so far. @throws Error of the system or of SQLite */
export function keepDatabase(database: DatabaseSync, folder: string): void {
  const path = join(folder, STORE_FILE);
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  touchPrivate(unfinished);
  database.prepare('VACUUM INTO ?').run(unfinished);
  renameSync(unfinished, path);
}

/** Opens it for reading. Undefined if there is none. @throws StoreError, or what SQLite says */
export function openReadOnlyDatabase(folder: string): DatabaseSync | undefined {
  const path = join(folder, STORE_FILE);
  assertNotMissing(path);
  if (!existsSync(path)) return undefined;
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
  try {
    checkSchema(database, path);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** One that came from a backup may have any mode. */
function closeToOthers(path: string): void {
  if (existsSync(path) && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/** SQLite would make a new database, and lay the log of the old one over it. */
function assertNotMissing(path: string): void {
  if (existsSync(path) || !existsSync(`${path}-wal`)) return;
  throw new StoreError(
    `"${path}" is missing, and its "${path}-wal" exists: restore both from a backup, or move the -wal and -shm files away as well; ${WITHOUT_IT}`,
  );
}

/** SQLite would start from what is before the damage, without a word about changes that were acknowledged after it. */
function assertWholeLog(path: string): void {
  if (!isWalDamaged(`${path}-wal`)) return;
  throw new StoreError(
    `"${path}-wal" is damaged, changes that were made through the API follow the damage: restore it and "${path}" from a backup; or start ` +
      `without those changes, after sqlite3 "${path}" "PRAGMA wal_checkpoint(TRUNCATE)"`,
  );
}

/** Watches that the files which SQLite has open are those in the folder: it would go on in files without a name. */
export class FolderWatch {
  /** By path. The log may not be there before the first transaction. */
  readonly #marks = new Map<string, string>();
  readonly #paths: readonly string[];

  /** @param folder of a database that is open */
  constructor(folder: string) {
    this.#paths = [STORE_FILE, `${STORE_FILE}-wal`].map((name) => join(folder, name));
    this.note();
  }

  /** After a transaction. */
  note(): void {
    for (const path of this.#paths) {
      const mark = identityOf(path);
      if (mark !== undefined && !this.#marks.has(path)) this.#marks.set(path, mark);
    }
  }

  /** @throws StoreGone */
  assertInPlace(): void {
    for (const [path, mark] of this.#marks) if (identityOf(path) !== mark) throw new StoreGone(path);
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}
