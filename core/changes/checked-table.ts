import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { DamagedRow } from './damaged-row.js';

/** Values of the columns of a table. */
export type StoredRow = readonly SQLInputValue[];

/** Name of the last column of every table of the store. */
const SUM = 'sum';

/**
 * A table whose rows carry a checksum: SQLite checks the structure of its file, but not the content. A flipped bit in an address or in a
 * weight would be served as if it had been configured.
 */
export class CheckedTable {
  readonly #put: StatementSync;
  readonly #all: StatementSync;
  readonly #clear: StatementSync;

  /** @param columns in the order of the table, without the checksum, which follows them */
  constructor(
    database: DatabaseSync,
    private readonly name: string,
    private readonly columns: readonly string[],
  ) {
    this.#put = database.prepare(`INSERT OR REPLACE INTO ${name} VALUES (${columns.map(() => '?').join(', ')}, ?)`);
    this.#clear = database.prepare(`DELETE FROM ${name}`);
    this.#all = database.prepare(`SELECT ${columns.join(', ')}, ${SUM} FROM ${name}`);
  }

  /** Writes one row, over the one that has its key. */
  put(...values: readonly SQLInputValue[]): void {
    this.#put.run(...values, this.#sum(values));
  }

  /** All rows, without their checksums. */
  rows(): StoredRow[] {
    return this.#all.all().map((row) => this.columns.map((column) => row[column] as SQLInputValue));
  }

  /** Makes these rows the content of the table. */
  replace(rows: Iterable<StoredRow>): void {
    this.#clear.run();
    for (const row of rows) this.put(...row);
  }

  /** Compares every row with its checksum. @throws DamagedRow */
  assertSound(): void {
    for (const row of this.#all.iterate()) {
      const values = this.columns.map((column) => row[column] as SQLInputValue);
      if (row[SUM] !== this.#sum(values)) throw new DamagedRow(this.name);
    }
  }

  /** The name of the table is part of it: a page that got into another table is found as well. */
  #sum(values: readonly SQLInputValue[]): number {
    return crc32(JSON.stringify([this.name, ...values.map(stored)]));
  }
}

/** SQLite keeps text as UTF-8, which has no half of a surrogate pair. */
function stored(value: SQLInputValue): SQLInputValue {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
