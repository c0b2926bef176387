import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CheckedTable } from './checked-table.js';
import { CommitMark, markedCommits } from './commit-mark.js';
import { StateFileTable, StateLineTable } from './state-tables.js';
import { explained, STORE_FILE, StoreError } from './store-error.js';
import { FolderWatch, makePrivate, openDatabase, openReadOnlyDatabase, takeLock } from './store-folder.js';
import { countersOf } from './store-schema.js';
import { HistoryTable, KeyTable, OverlayTable, PairTable } from './store-tables.js';

const MARK_FILE = 'srv.commit';

/** What a store that is open for writing has beside its database. */
interface Guards {
  readonly lock: DatabaseSync;
  readonly watch: FolderWatch;
  readonly mark: CommitMark;
}

/**
 * What outlives the process: the journal of API changes as an overlay over the file, the lines of state files, the lasting keys of members,
 * the key-value pairs. One SQLite file in the data folder, in WAL mode, synced at every commit. Only the master opens it.
 */
export class Store {
  readonly overlay: OverlayTable;
  readonly history: HistoryTable;
  readonly keys: KeyTable;
  readonly pairs: PairTable;
  readonly stateLines: StateLineTable;
  readonly stateFiles: StateFileTable;
  readonly #counters: CheckedTable;
  readonly #readCounter: StatementSync;
  #guards: Guards | undefined;

  private constructor(private readonly database: DatabaseSync) {
    this.overlay = new OverlayTable(database);
    this.history = new HistoryTable(database);
    this.keys = new KeyTable(database);
    this.pairs = new PairTable(database);
    this.stateLines = new StateLineTable(database);
    this.stateFiles = new StateFileTable(database);
    this.#counters = countersOf(database);
    this.#readCounter = database.prepare('SELECT value FROM counters WHERE name = ?');
  }

  /**
   * Opens or makes the store in `folder` (0700, files 0600) and keeps every other process out until it is closed or dies.
   * @throws StoreError when another process holds it, or when it is damaged, incomplete, foreign, or of another version.
   */
  static open(folder: string): Store {
    try {
      makePrivate(folder);
      const lock = takeLock(folder);
      try {
        const database = openDatabase(folder);
        try {
          const store = Store.#sound(database, folder);
          const mark = new CommitMark(join(folder, MARK_FILE), store.#id);
          store.#guards = { lock, mark, watch: new FolderWatch(folder) };
          return store;
        } catch (error) {
          database.close();
          throw error;
        }
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
    try {
      const database = openReadOnlyDatabase(folder);
      if (database === undefined) return undefined;
      try {
        return Store.#sound(database, folder);
      } catch (error) {
        database.close();
        throw error;
      }
    } catch (error) {
      throw explained(error, folder);
    }
  }

  /** @throws DamagedRow, StoreError */
  static #sound(database: DatabaseSync, folder: string): Store {
    const store = new Store(database);
    const { overlay, history, keys, pairs, stateLines, stateFiles } = store;
    const tables = [overlay, history, keys, pairs, stateLines, stateFiles].map(({ table }) => table);
    for (const table of [...tables, keys.nextTable, store.#counters]) table.assertSound();
    const mark = join(folder, MARK_FILE);
    const missing = markedCommits(mark, store.#id) - store.#commits;
    if (missing > 0) throw new StoreError(missingText(join(folder, STORE_FILE), mark, missing));
    return store;
  }

  /** Version of the configuration tree; grows by one with every transaction, and never goes back. */
  get version(): number {
    return this.#counter('version');
  }

  set version(value: number) {
    this.#counters.put('version', value);
  }

  /** Version of the key-value pair that was written last. */
  get pairVersion(): number {
    return this.#counter('pair_version');
  }

  set pairVersion(value: number) {
    this.#counters.put('pair_version', value);
  }

  /**
   * Everything `work` writes is on disk when this returns, or nothing of it if it throws.
   * @throws StoreGone when the files are not in their folder any more: what is written into them would be lost
   */
  transaction<T>(work: () => T): T {
    this.#guards?.watch.assertInPlace();
    const commits = this.#commits + 1;
    this.database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#counters.put('commits', commits);
      this.database.exec('COMMIT');
      this.#guards?.mark.write(commits);
      this.#guards?.watch.assertInPlace();
      return result;
    } catch (error) {
      // A failed COMMIT (disk full) may have rolled back by itself.
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.database.close();
    this.#guards?.mark.close();
    this.#guards?.lock.close();
  }

  /** Random; tells this database from others. */
  get #id(): number {
    return this.#counter('id');
  }

  /** Transactions so far. */
  get #commits(): number {
    return this.#counter('commits');
  }

  #counter(name: string): number {
    return Number(this.#readCounter.get(name)?.['value'] ?? 0);
  }
}

function missingText(path: string, mark: string, count: number): string {
  const what = count === 1 ? 'the last change that was' : `the last ${count} changes that were`;
  return (
    `"${path}" lacks ${what} made through the API: its -wal file was removed, cut short or damaged, or it is an older copy; ` +
    `restore the data folder from a backup, or, to start without them, remove "${mark}"`
  );
}
