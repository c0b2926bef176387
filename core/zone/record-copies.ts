import { HashTable } from './hash-table.js';
import { numberOf } from './offsets.js';
import type { Zone } from './zone.js';

/** How the names of tables with records begin. */
export const RECORDS = 'records ';

/** Records of one table: keys, and values as they are in the zone (base64). */
export interface CopiedTable {
  readonly table: string;
  readonly records: readonly (readonly [key: string, value: string])[];
}

/** Copies the records of a zone: all at the first call, later the ones that were changed since. Expired ones are left out. */
export class RecordCopies {
  /** When the record at an offset expires, as it was copied: each change of a record moves that. */
  readonly #copied = new Map<number, number>();

  constructor(private readonly zone: Zone) {}

  next(): readonly CopiedTable[] {
    const names = HashTable.names(this.zone).filter((name) => name.startsWith(RECORDS));
    return names.map((table) => ({ table, records: this.#copy(table) })).filter(({ records }) => records.length > 0);
  }

  #copy(name: string): CopiedTable['records'] {
    const { zone } = this;
    const table = HashTable.find(zone, name);
    if (table === undefined) return [];
    const now = Date.now();
    const records: [string, string][] = [];
    zone.enter();
    table.check();
    for (const value of table.values()) {
      const expires = zone.f64[numberOf(value)]!;
      if (expires <= now || expires === this.#copied.get(value)) continue;
      this.#copied.set(value, expires);
      const bytes = Buffer.from(zone.bytes.slice(value, value + table.valueLength(value)));
      records.push([table.keyOf(value).toString('latin1'), bytes.toString('base64')]);
    }
    zone.leave();
    // Those used last are put in last.
    return records.reverse();
  }
}

/** Takes over what another program has copied. Records that this one has changed later stay. */
export function takeRecords(zone: Zone, { table: name, records }: CopiedTable): void {
  const table = name.startsWith(RECORDS) ? HashTable.open(zone, name) : undefined;
  if (table === undefined) return;
  for (const [key, text] of records) {
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length < Float64Array.BYTES_PER_ELEMENT) continue;
    zone.enter();
    table.check();
    put(zone, table, Buffer.from(key, 'latin1'), bytes);
    zone.leave();
  }
}

function put(zone: Zone, table: HashTable, key: Uint8Array, bytes: Buffer): void {
  const found = table.find(key);
  if (found !== 0 && (table.valueLength(found) !== bytes.length || zone.f64[numberOf(found)]! >= bytes.readDoubleLE())) return;
  const value = found || table.insert(key, bytes.length, true);
  if (value !== 0) zone.bytes.set(bytes, value);
}
