import { HashTable } from '../hash-table.js';
import { numberOf } from '../offsets.js';
import type { Zone } from '../zone.js';

/** Names of these tables in a zone. */
const NAME = 'sync ';
const NUMBER = Float64Array.BYTES_PER_ELEMENT;

/**
 * Changes in a table of a zone that have not been sent to other nodes yet: amounts by key, in the order of their first change. All methods are
 * called with the zone's lock held, after {@link check}.
 */
export class PendingChanges {
  private constructor(
    private readonly zone: Zone,
    private readonly table: HashTable,
    /** Amounts of each key. */
    readonly numbers: number,
  ) {}

  /** Takes the lock itself. Undefined: the zone is too small. @param of name of the table */
  static open(zone: Zone, of: string, numbers: number): PendingChanges | undefined {
    const table = HashTable.open(zone, `${NAME}${of}`, { entries: Math.floor(zone.size / 512) });
    return table && new PendingChanges(zone, table, numbers);
  }

  get count(): number {
    return this.table.count;
  }

  check(): void {
    this.table.check();
  }

  /** True if it is there now: the zone may be full. @param makeRoom drops something else; false: there is nothing */
  mark(key: string | Uint8Array, makeRoom: () => boolean): boolean {
    return this.#entry(key, makeRoom) !== 0;
  }

  add(key: string | Uint8Array, at: number, amount: number, makeRoom: () => boolean): void {
    const value = this.#entry(key, makeRoom);
    if (value !== 0) this.zone.f64[numberOf(value) + at]! += amount;
  }

  /** Removes the key that has waited longest, and returns it with its amounts. */
  take(amounts: Float64Array): Buffer | undefined {
    const value = this.table.oldest();
    if (value === 0) return undefined;
    const first = numberOf(value);
    for (let at = 0; at < this.numbers; at++) amounts[at] = this.zone.f64[first + at]!;
    const key = this.table.keyOf(value);
    this.table.removeAt(value);
    return key;
  }

  clear(): void {
    while (this.table.dropOldest());
  }

  #entry(key: string | Uint8Array, makeRoom: () => boolean): number {
    const found = this.table.find(key, false);
    if (found !== 0) return found;
    for (;;) {
      const value = this.table.insert(key, Math.max(1, this.numbers) * NUMBER);
      if (value !== 0 || !makeRoom()) return value;
    }
  }
}
