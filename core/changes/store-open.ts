import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CheckedTable } from './checked-table.js';
import { CommitMark, markedCommits } from './commit-mark.js';
import { FoundTable } from './found-table.js';
import { ModuleTable } from './module-table.js';
import { StateFileTable, StateLineTable } from './state-tables.js';
import { explained, STORE_FILE, StoreError } from './store-error.js';
import { FolderWatch, keepDatabase, makePrivate, openDatabase, takeLock } from './store-folder.js';
import { assertSchema, countersOf } from './store-schema.js';
import { HistoryTable, KeyTable, OverlayTable, PairTable } from './store-tables.js';

const MARK_FILE = 'srv.commit';

/** Further parts of a store that is open for writing, beside its database. */
export interface Guards {
  readonly lock: DatabaseSync;
  readonly watch: FolderWatch;
  readonly mark: CommitMark;
}

/** The tables of a database, ready to be used. */
export class Tables {
  readonly overlay: OverlayTable;
  readonly history: HistoryTable;
  readonly keys: KeyTable;
  readonly pairs: PairTable;
  readonly moduleData: ModuleTable;
  readonly found: FoundTable;
  readonly stateLines: StateLineTable;
  readonly stateFiles: StateFileTable;
  readonly counters: CheckedTable;
  readonly #readCounter: StatementSync;

  constructor(readonly database: DatabaseSync) {
    this.overlay = new OverlayTable(database);
    this.history = new HistoryTable(database);
    this.keys = new KeyTable(database);
    this.pairs = new PairTable(database);
    this.moduleData = new ModuleTable(database);
    this.found = new FoundTable(database);
    this.stateLines = new StateLineTable(database);
    this.stateFiles = new StateFileTable(database);
    this.counters = countersOf(database);
    this.#readCounter = database.prepare('SELECT value FROM counters WHERE name = ?');
  }

  /** Random; distinguishes this database from others. */
  get id(): number {
    return this.counter('id');
  }

  /** Transactions so far. */
  get commits(): number {
    return this.counter('commits');
  }

  counter(name: string): number {
    return Number(this.#readCounter.get(name)?.['value'] ?? 0);
  }

  /** @throws DamagedRow */
  assertSound(): void {
    const { overlay, history, keys, pairs, moduleData, found, stateLines, stateFiles, counters } = this;
    const tables = [overlay, history, keys, pairs, moduleData, found, stateLines, stateFiles].map(({ table }) => table);
    for (const table of [...tables, keys.nextTable, counters]) table.assertSound();
  }
}

/**
 * Opens the database of a folder for this process alone, and makes it if there is none.
 * @param volatile becomes the database, if given: there is none in the folder then
 * @throws StoreError
 */
export function openGuarded(folder: string, volatile?: DatabaseSync): [DatabaseSync, Guards] {
  const opened: { close(): void }[] = [];
  try {
    makePrivate(folder);
    const lock = takeLock(folder);
    opened.push(lock);
    if (volatile !== undefined) keepDatabase(volatile, folder);
    const database = openDatabase(folder);
    opened.push(database);
    const { id } = assertSound(database, folder);
    const mark = new CommitMark(join(folder, MARK_FILE), id);
    return [database, { lock, mark, watch: new FolderWatch(folder) }];
  } catch (error) {
    for (const one of opened.reverse()) one.close();
    throw explained(error, folder);
  }
}

/** Compares every row with its checksum, and the last commit with the mark. @throws DamagedRow, StoreError */
export function assertSound(database: DatabaseSync, folder: string): Tables {
  assertSchema(database);
  const tables = new Tables(database);
  tables.assertSound();
  const mark = join(folder, MARK_FILE);
  const missing = markedCommits(mark, tables.id) - tables.commits;
  if (missing > 0) throw new StoreError(missingText(join(folder, STORE_FILE), mark, missing));
  return tables;
}

function missingText(path: string, mark: string, count: number): string {
  const what = count === 1 ? 'the last change that was' : `the last ${count} changes that were`;
  return (
    `"${path}" lacks ${what} made through the API: its -wal file was removed, cut short or damaged, or it is an older copy; ` +
    `restore the data folder from a backup, or, to start without them, remove "${mark}"`
  );
}
