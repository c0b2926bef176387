import { randomInt } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { CheckedTable } from './checked-table.js';
import { DamagedRow } from './damaged-row.js';
import { loadSqlite } from './sqlite.js';
import { damageText, StoreError } from './store-error.js';

/** Marks the file as ours (`PRAGMA application_id`): "srv1". */
const APPLICATION_ID = 0x73727631;
const SCHEMA_VERSION = 9;
/** Every row ends with its checksum, see checked-table.ts. */
const SCHEMA = `
  CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE overlay (
    address TEXT PRIMARY KEY, op TEXT NOT NULL, parent TEXT NOT NULL, text TEXT NOT NULL, was TEXT, key INTEGER, seq INTEGER NOT NULL,
    sibling TEXT, previous TEXT, sum INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE state_lines (
    block TEXT NOT NULL, key INTEGER NOT NULL, text TEXT, written TEXT, since INTEGER NOT NULL, old_text TEXT, old_since INTEGER,
    next_text TEXT, next_version INTEGER, place REAL NOT NULL, born INTEGER NOT NULL, changed INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (block, key)
  ) WITHOUT ROWID;
  CREATE TABLE state_files (
    block TEXT PRIMARY KEY, version INTEGER NOT NULL, digest TEXT NOT NULL, next_version INTEGER, next_digest TEXT, sum INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE history (
    version INTEGER PRIMARY KEY, at INTEGER NOT NULL, node TEXT NOT NULL, origin TEXT NOT NULL, actor TEXT NOT NULL, message TEXT NOT NULL,
    changes TEXT NOT NULL, sum INTEGER NOT NULL
  );
  CREATE TABLE keys (
    block TEXT NOT NULL, identity TEXT NOT NULL, occurrence INTEGER NOT NULL, key INTEGER NOT NULL, sum INTEGER NOT NULL,
    PRIMARY KEY (block, identity, occurrence)
  ) WITHOUT ROWID;
  CREATE TABLE next_keys (block TEXT PRIMARY KEY, next INTEGER NOT NULL, sum INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE found (
    upstream TEXT NOT NULL, key INTEGER NOT NULL, text TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (upstream, key)
  ) WITHOUT ROWID;
  CREATE TABLE module_data (
    module TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (module, key)
  ) WITHOUT ROWID;
  CREATE TABLE pairs (
    key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL, expires INTEGER NOT NULL, sum INTEGER NOT NULL
  ) WITHOUT ROWID;
`;

/** Creates the file with mode 0600 before SQLite does with the mode of the umask. */
export function touchPrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600));
}

export const countersOf = (database: DatabaseSync): CheckedTable => new CheckedTable(database, 'counters', ['name', 'value']);

/**
 * Makes a database. It gets its name when it is complete: an empty one was emptied from outside, and srv must not start without its former
 * content.
 */
export function makeDatabase(path: string): void {
  const unfinished = `${path}.new`;
  rmSync(unfinished, { force: true });
  touchPrivate(unfinished);
  const { DatabaseSync } = loadSqlite();
  const database = new DatabaseSync(unfinished);
  try {
    fillDatabase(database);
  } finally {
    database.close();
  }
  renameSync(unfinished, path);
}

/** Makes the tables of an empty database. */
export function fillDatabase(database: DatabaseSync): void {
  database.exec(`BEGIN; ${SCHEMA} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
  countersOf(database).put('id', randomInt(2 ** 48 - 1));
  database.exec('COMMIT');
}

/**
 * Compares the definitions of the tables with ours: SQLite keeps them as text, where a flipped bit makes another column of one.
 * @throws DamagedRow
 */
export function assertSchema(database: DatabaseSync): void {
  const { DatabaseSync } = loadSqlite();
  const ours = new DatabaseSync(':memory:');
  try {
    ours.exec(SCHEMA);
    if (definitionsOf(database) !== definitionsOf(ours)) throw new DamagedRow('sqlite_schema');
  } finally {
    ours.close();
  }
}

function definitionsOf(database: DatabaseSync): string {
  return JSON.stringify(database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name').all());
}

/** @throws StoreError when the file is not a sound database of this version */
export function checkSchema(database: DatabaseSync, path: string): void {
  if (statSync(path).size === 0) throw new StoreError(damageText(path));
  if (pragma(database, 'application_id') !== APPLICATION_ID)
    throw new StoreError(`"${path}" is the database of another program: move it away, or give srv another data folder`);
  const version = pragma(database, 'user_version');
  if (version > SCHEMA_VERSION)
    throw new StoreError(
      `"${path}" was written by a later srv (format ${version}, this one knows ${SCHEMA_VERSION}): start that version, or move the file away`,
    );
  if (version < SCHEMA_VERSION)
    throw new StoreError(
      `"${path}" was written by an srv before its first release (format ${version}), which is not supported: move the file away`,
    );
  const damage = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
  if (damage !== 'ok') throw new StoreError(damageText(path));
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
