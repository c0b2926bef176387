import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { AddressStore, KeptLine } from '../upstream/discovery/kept-addresses.js';
import { CheckedTable } from './checked-table.js';
import type { Store } from './store.js';

/** The last addresses of names, by upstream and `server` line. */
export class FoundTable {
  readonly table: CheckedTable;
  readonly #all: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'found', ['upstream', 'key', 'text']);
    this.#all = database.prepare('SELECT upstream, key, text FROM found');
    this.#delete = database.prepare('DELETE FROM found WHERE upstream = ? AND key = ?');
  }

  all(): KeptLine[] {
    return this.#all.all() as unknown as KeptLine[];
  }

  put({ upstream, key, text }: KeptLine): void {
    this.table.put(upstream, key, text);
  }

  delete({ upstream, key }: Pick<KeptLine, 'upstream' | 'key'>): void {
    this.#delete.run(upstream, key);
  }
}

/** Keeps the addresses of names in the store: no configuration, no version of it. */
export class StoredAddresses implements AddressStore {
  constructor(private readonly store: Store) {}

  lines(): readonly KeptLine[] {
    return this.store.found.all();
  }

  write(changed: readonly KeptLine[], gone: readonly Pick<KeptLine, 'upstream' | 'key'>[]): void {
    this.store.transaction(() => {
      for (const line of gone) this.store.found.delete(line);
      for (const line of changed) this.store.found.put(line);
    });
  }
}
