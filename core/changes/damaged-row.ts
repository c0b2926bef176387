/** A row of the store is not what was written into it. */
export class DamagedRow extends Error {
  constructor(table: string) {
    super(`a row of table "${table}" does not have its checksum`);
  }
}
