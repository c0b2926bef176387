import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { FoundTable } from './found-table.js';
import type { ModuleTable } from './module-table.js';
import type { StateFileTable, StateLineTable } from './state-tables.js';
import { explained, FolderUnusable, STORE_FILE, StoreReleased } from './store-error.js';
import { assertUsable, openReadOnlyDatabase, openVolatileDatabase } from './store-folder.js';
import { assertSound, openGuarded, Tables, type Guards } from './store-open.js';
import type { HistoryTable, KeyTable, OverlayTable, PairTable } from './store-tables.js';

/**
 * Data that outlives the process: the journal of API changes as an overlay over the file, the lines of state files, the lasting keys of
 * members, the key-value pairs, the last addresses of names, storage of modules. One SQLite file in the data folder, in WAL mode, synced at
 * every commit. Only the master opens it.
 */
export class Store {
  #opened: Tables | undefined;
  #guards: Guards | undefined;
  /** Undefined: there are no files. */
  #folder: string | undefined;
  /** Where a store would be kept that goes away with this process. */
  #keepIn: string | undefined;

  private constructor(database: DatabaseSync) {
    this.#opened = new Tables(database);
  }

  /**
   * Opens or makes the store in `folder` (0700, files 0600) and keeps every other process out until it is closed or dies.
   * @throws StoreError when another process holds it, or when it is damaged, incomplete, foreign, or of another version.
   */
  static open(folder: string): Store {
    const [database, guards] = openGuarded(folder);
    const store = new Store(database);
    store.#guards = guards;
    store.#folder = folder;
    return store;
  }

  /**
   * The store of a server that keeps nothing: if there is none and none can be made, it ends with the process.
   * @param unusable called with the reason
   * @throws StoreError as {@link open} does
   */
  static openIfUsable(folder: string, unusable: (reason: string) => void): Store {
    try {
      return Store.open(folder);
    } catch (error) {
      if (!(error instanceof FolderUnusable) || existsSync(join(folder, STORE_FILE))) throw error;
      unusable(error.message);
      const store = new Store(openVolatileDatabase());
      store.#keepIn = folder;
      return store;
    }
  }

  /** A store without files. */
  static inMemory(): Store {
    return new Store(openVolatileDatabase());
  }

  /** Checks the needs of {@link open} in a folder, without creating anything. @throws StoreError */
  static assertUsable(folder: string): void {
    try {
      assertUsable(folder);
    } catch (error) {
      throw explained(error, folder);
    }
  }

  /** For looking while a server runs (`srv -T`). Undefined if there is none yet. @throws StoreError as {@link open} does. */
  static openReadOnly(folder: string): Store | undefined {
    try {
      const database = openReadOnlyDatabase(folder);
      if (database === undefined) return undefined;
      assertSound(database, folder);
      return new Store(database);
    } catch (error) {
      throw explained(error, folder);
    }
  }

  /** From now on something has to last: makes the store of {@link openIfUsable}, if there is none. @throws StoreError */
  keep(): void {
    const folder = this.#keepIn;
    if (folder === undefined) return;
    const volatile = this.#tables.database;
    const [database, guards] = openGuarded(folder, volatile);
    this.#keepIn = undefined;
    this.#opened = new Tables(database);
    this.#guards = guards;
    this.#folder = folder;
    volatile.close();
  }

  /** Closes the files, for another program. Until {@link reopen} whatever is read or written throws {@link StoreReleased}. */
  release(): void {
    if (this.#folder === undefined) return;
    this.close();
  }

  /** The other program has not kept the folder. @throws StoreError as {@link open} does */
  reopen(): void {
    if (this.#folder === undefined || this.#opened !== undefined) return;
    const [database, guards] = openGuarded(this.#folder);
    this.#opened = new Tables(database);
    this.#guards = guards;
  }

  get #tables(): Tables {
    if (this.#opened === undefined) throw new StoreReleased();
    return this.#opened;
  }

  get overlay(): OverlayTable {
    return this.#tables.overlay;
  }

  get history(): HistoryTable {
    return this.#tables.history;
  }

  get keys(): KeyTable {
    return this.#tables.keys;
  }

  get pairs(): PairTable {
    return this.#tables.pairs;
  }

  get moduleData(): ModuleTable {
    return this.#tables.moduleData;
  }

  get found(): FoundTable {
    return this.#tables.found;
  }

  get stateLines(): StateLineTable {
    return this.#tables.stateLines;
  }

  get stateFiles(): StateFileTable {
    return this.#tables.stateFiles;
  }

  /** Random; distinguishes this store from others. */
  get id(): number {
    return this.#tables.id;
  }

  /** Version of the configuration tree; grows by one with every transaction, and never goes back. */
  get version(): number {
    return this.#tables.counter('version');
  }

  set version(value: number) {
    this.#tables.counters.put('version', value);
  }

  /** Epoch of the version; 0: the versions are those of this node alone. */
  get epoch(): number {
    return this.#tables.counter('epoch');
  }

  set epoch(value: number) {
    this.#tables.counters.put('epoch', value);
  }

  /** Random number of the last change of the configuration, see `LogVersion.mark`; 0: it has none. */
  get mark(): number {
    return this.#tables.counter('mark');
  }

  set mark(value: number) {
    this.#tables.counters.put('mark', value);
  }

  /** Version of the key-value pairs: that of the pair that was written last, or later if pairs were deleted since. */
  get pairVersion(): number {
    return this.#tables.counter('pair_version');
  }

  set pairVersion(value: number) {
    this.#tables.counters.put('pair_version', value);
  }

  /** As {@link epoch}. */
  get pairEpoch(): number {
    return this.#tables.counter('pair_epoch');
  }

  set pairEpoch(value: number) {
    this.#tables.counters.put('pair_epoch', value);
  }

  /** Random number of the last change of the pairs, see `LogVersion.mark`; 0: it has none. */
  get pairMark(): number {
    return this.#tables.counter('pair_mark');
  }

  set pairMark(value: number) {
    this.#tables.counters.put('pair_mark', value);
  }

  /**
   * Everything `work` writes is on disk when this returns, or nothing of it if it throws.
   * @throws StoreGone when the files are not in their folder any more: what is written into them would be lost
   */
  transaction<T>(work: () => T): T {
    this.#guards?.watch.assertInPlace();
    const { database, counters, commits } = this.#tables;
    database.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      counters.put('commits', commits + 1);
      database.exec('COMMIT');
      this.#guards?.mark.write(commits + 1);
      this.#guards?.watch.assertInPlace();
      this.#guards?.watch.note();
      return result;
    } catch (error) {
      // A failed COMMIT (disk full) may have rolled back by itself.
      if (database.isTransaction) database.exec('ROLLBACK');
      this.#tables.overlay.reread();
      throw error;
    }
  }

  close(): void {
    this.#opened?.database.close();
    this.#opened = undefined;
    this.#guards?.mark.close();
    this.#guards?.lock.close();
    this.#guards = undefined;
  }
}
