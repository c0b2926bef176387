import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CheckedTable } from './checked-table.js';

/** Durable storage of modules, by module and key. */
export class ModuleTable {
  readonly table: CheckedTable;
  readonly #get: StatementSync;
  readonly #all: StatementSync;
  readonly #delete: StatementSync;
  readonly #size: StatementSync;

  constructor(database: DatabaseSync) {
    this.table = new CheckedTable(database, 'module_data', ['module', 'key', 'value']);
    this.#get = database.prepare('SELECT value FROM module_data WHERE module = ? AND key = ?');
    this.#all = database.prepare('SELECT key, value FROM module_data WHERE module = ? AND key >= ? ORDER BY key');
    this.#delete = database.prepare('DELETE FROM module_data WHERE module = ? AND key = ?');
    this.#size = database.prepare(
      'SELECT coalesce(sum(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))), 0) AS size FROM module_data WHERE module = ?',
    );
  }

  get(module: string, key: string): string | undefined {
    return this.#get.get(module, key)?.['value'] as string | undefined;
  }

  /** @param prefix of the keys */
  all(module: string, prefix: string): [key: string, value: string][] {
    const entries: [string, string][] = [];
    for (const row of this.#all.iterate(module, prefix)) {
      const { key, value } = row as { key: string; value: string };
      if (!key.startsWith(prefix)) break;
      entries.push([key, value]);
    }
    return entries;
  }

  put(module: string, key: string, value: string): void {
    this.table.put(module, key, value);
  }

  delete(module: string, key: string): void {
    this.#delete.run(module, key);
  }

  /** Bytes of keys and values of a module. */
  size(module: string): number {
    return Number(this.#size.get(module)?.['size']);
  }
}
