import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isBusy, isDamaged, isFull, loadSqlite } from './sqlite.js';
import { isWalDamaged } from './wal-damage.js';
import { HistoryTable, KeyTable, OverlayTable, PairTable } from './store-tables.js';

/** Marks the file as ours (`PRAGMA application_id`): "srv1". */
const APPLICATION_ID = 0x73727631;
const SCHEMA_VERSION = 1;
const SCHEMA = `
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE overlay (
    address TEXT PRIMARY KEY, op TEXT NOT NULL, parent TEXT NOT NULL, text TEXT NOT NULL, was TEXT, key INTEGER, seq INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE history (version INTEGER PRIMARY KEY, at INTEGER NOT NULL, origin TEXT NOT NULL, changes TEXT NOT NULL);
  CREATE TABLE keys (
    block TEXT NOT NULL, identity TEXT NOT NULL, occurrence INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (block, identity, occurrence)
  ) WITHOUT ROWID;
  CREATE TABLE next_keys (block TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE pairs (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
`;

const FILE = 'srv.db';
const LOCK = 'srv.lock';

/** Why the data folder cannot be used, and what to do about it. For the operator: it names paths. */
export class StoreError extends Error {}

/**
 * What outlives the process: the journal of API changes as an overlay over the file, the lasting keys of members, the key-value pairs.
 * One SQLite file in the data folder, in WAL mode, synced at every commit. Only the master opens it.
 */
export class Store {
  readonly overlay: OverlayTable;
  readonly history: HistoryTable;
  readonly keys: KeyTable;
  readonly pairs: PairTable;

  readonly #readCounter: StatementSync;
  readonly #writeCounter: StatementSync;

  private constructor(
    private readonly database: DatabaseSync,
    private readonly lock: DatabaseSync | undefined,
  ) {
    this.overlay = new OverlayTable(database);
    this.history = new HistoryTable(database);
    this.keys = new KeyTable(database);
    this.pairs = new PairTable(database);
    this.#readCounter = database.prepare('SELECT value FROM counters WHERE name = ?');
    this.#writeCounter = database.prepare('INSERT OR REPLACE INTO counters VALUES (?, ?)');
  }

  /**
   * Opens or makes the store in `folder` (0700, files 0600) and keeps every other process out until it is closed or dies.
   * @throws StoreError when another process holds it, or when it is damaged, foreign, or of a later version.
   */
  static open(folder: string): Store {
    try {
      makePrivate(folder);
      const lock = takeLock(folder);
      try {
        assertNotMissing(join(folder, FILE));
        assertWholeLog(join(folder, FILE));
        return new Store(openDatabase(join(folder, FILE)), lock);
      } catch (error) {
        lock.close();
        throw error;
      }
    } catch (error) {
      throw explained(error, folder);
    }
  }

  /** For looking while a server runs (`srv -T`). Undefined if there is none yet. @throws StoreError as {@link open} does. */
  static openReadOnly(folder: string): Store | undefined {
    const path = join(folder, FILE);
    try {
      assertNotMissing(path);
      if (!existsSync(path)) return undefined;
      const { DatabaseSync } = loadSqlite();
      const database = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
      checkSchema(database, path);
      return new Store(database, undefined);
    } catch (error) {
      throw explained(error, folder);
    }
  }

  /** Version of the configuration tree; grows by one with every transaction and every start, and never goes back. */
  get version(): number {
    return this.#counter('version');
  }

  set version(value: number) {
    this.#setCounter('version', value);
  }

  /** Version of the key-value pair that was written last. */
  get pairVersion(): number {
    return this.#counter('pair_version');
  }

  set pairVersion(value: number) {
    this.#setCounter('pair_version', value);
  }

  /** Everything `work` writes is on disk when this returns, or nothing of it if it throws. */
  transaction<T>(work: () => T): T {
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.database.exec('COMMIT');
      return result;
    } catch (error) {
      // A failed COMMIT (disk full) may have rolled back by itself.
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.database.close();
    this.lock?.close();
  }

  #counter(name: string): number {
    return Number(this.#readCounter.get(name)?.['value'] ?? 0);
  }

  #setCounter(name: string, value: number): void {
    this.#writeCounter.run(name, value);
  }
}

function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

/** Creates the file with mode 0600 before SQLite does with the mode of the umask. */
function touchPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
}

/** One that came from a backup may have any mode. */
function closeToOthers(path: string): void {
  if (existsSync(path) && (statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}

/**
 * An exclusive transaction on an empty database that is held for the life of the process: Node has no flock, SQLite does, and the system lets
 * go of it when the process dies. The store itself stays readable for `srv -T`.
 */
function takeLock(folder: string): DatabaseSync {
  const path = join(folder, LOCK);
  touchPrivate(path);
  const { DatabaseSync } = loadSqlite();
  const lock = new DatabaseSync(path, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

/** SQLite would make a new database, and lay the log of the old one over it. */
function assertNotMissing(path: string): void {
  if (existsSync(path) || !existsSync(`${path}-wal`)) return;
  throw new StoreError(
    `"${path}" is missing, and its "${path}-wal" is there: restore both from a backup, or move the -wal and -shm files away as well; ${WITHOUT_IT}`,
  );
}

/** SQLite would start from what stands before the damage, without a word about changes that were answered after it. */
function assertWholeLog(path: string): void {
  if (!isWalDamaged(`${path}-wal`)) return;
  throw new StoreError(
    `"${path}-wal" is damaged, changes that were made through the API stand behind the damage: restore it and "${path}" from a backup; or start ` +
      `without those changes, after sqlite3 "${path}" "PRAGMA wal_checkpoint(TRUNCATE)"`,
  );
}

function openDatabase(path: string): DatabaseSync {
  if (!existsSync(path)) makeDatabase(path);
  // SQLite gives its other files the mode of this one.
  for (const file of [path, `${path}-wal`, `${path}-shm`]) closeToOthers(file);
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(path, { timeout: 2000 });
  try {
    checkSchema(database, path);
    // FULL: a commit is on disk before it returns, so that what was answered survives a power cut as well.
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** It gets its name when it is complete: an empty one was emptied by somebody, and is no reason to start without what it held. */
function makeDatabase(path: string): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  touchPrivate(unfinished);
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(unfinished);
  try {
    database.exec(`BEGIN; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
  } finally {
    database.close();
  }
  renameSync(unfinished, path);
}

function checkSchema(database: DatabaseSync, path: string): void {
  if (statSync(path).size === 0) throw new StoreError(damageText(path));
  if (pragma(database, 'application_id') !== APPLICATION_ID)
    throw new StoreError(`"${path}" is the database of another program: move it away, or give srv another data folder`);
  const version = pragma(database, 'user_version');
  if (version > SCHEMA_VERSION)
    throw new StoreError(
      `"${path}" was written by a later srv (format ${version}, this one knows ${SCHEMA_VERSION}): start that version, or move the file away`,
    );
  const damage = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (damage !== 'ok') throw new StoreError(damageText(path));
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

const WITHOUT_IT = 'without it srv starts from the configuration file alone, without the changes and keys that were made through the API';

function damageText(path: string): string {
  return `"${path}" is empty, damaged or not a database of srv: restore it from a backup, or move it and its -wal and -shm files away; ${WITHOUT_IT}`;
}

/** In words of the operator what went wrong with the store in `folder`. */
export function explained(error: unknown, folder: string): Error {
  if (error instanceof StoreError) return error;
  if (isBusy(error))
    return new StoreError(
      `data folder "${folder}" is in use by another srv: if that one is still ending, wait for it; else stop it, or give this one another prefix (-p)`,
    );
  if (isDamaged(error)) return new StoreError(damageText(join(folder, FILE)));
  if (isFull(error)) return new StoreError(`the disk of data folder "${folder}" is full: make room on it`);
  const reason = error instanceof Error ? error.message : String(error);
  return new StoreError(`data folder "${folder}" cannot be used: ${reason}`);
}
