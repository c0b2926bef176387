import type { Change, Fields, RecordOptions, Records, Updated } from '../module/zones.js';
import { HashTable } from './hash-table.js';
import { numberOf } from './offsets.js';
import type { Zone } from './zone.js';

/** Numbers of a record: when it expires (epoch ms, 0: never), then its fields. */
const EXPIRES = 0;
const FIELDS = 1;
/** Expired records that a new one looks for at most. */
const SWEEP = 2;

/** What tells the time. Epoch milliseconds. */
export interface Now {
  readonly now: number;
}

/** Keyed records of numbers in a zone. Changes are proposed on a copy and stored only if the record is still what was copied. */
export class ZoneRecords<F extends string> implements Records<F> {
  readonly #fields: readonly F[];
  readonly #ttl: number;
  readonly #evict: boolean;
  /** The fields as they were copied last. Nothing else uses it between a copy and its comparison but a change that updates another record. */
  #seen: Float64Array;
  #busy = false;

  private constructor(
    private readonly zone: Zone,
    private readonly table: HashTable,
    private readonly clock: Now,
    { fields, ttl = 0, evict = true }: RecordOptions<F>,
  ) {
    this.#fields = fields;
    this.#ttl = ttl;
    this.#evict = evict;
    this.#seen = new Float64Array(fields.length);
  }

  /** Records of these fields in the zone. Undefined: it is too small. */
  static open<F extends string>(zone: Zone, options: RecordOptions<F>, clock: Now): ZoneRecords<F> | undefined {
    const table = HashTable.open(zone, `records ${options.fields.join()}`);
    return table && new ZoneRecords(zone, table, clock, options);
  }

  get size(): number {
    return this.table.count;
  }

  get evicted(): number {
    return this.table.evicted;
  }

  get(key: string): Fields<F> | undefined {
    this.#enter();
    const record = this.#find(key, false);
    const found = record === 0 ? undefined : this.#copy(record);
    this.zone.leave();
    return found;
  }

  update<C>(key: string, change: Change<F, C>, context: C): Updated {
    // A change that changes another record of the same table: that one gets a memory of its own.
    const seen = this.#busy ? new Float64Array(this.#fields.length) : this.#seen;
    const nested = this.#busy;
    this.#busy = true;
    try {
      for (;;) {
        const fields = this.#look(key, seen);
        if (!change(fields, context)) return 'unchanged';
        const stored = this.#store(key, fields, seen);
        if (stored !== 'unchanged') return stored;
      }
    } finally {
      this.#busy = nested;
    }
  }

  add(key: string, field: F, amount: number): number | undefined {
    const at = this.#fields.indexOf(field);
    if (at < 0) throw new RangeError(`no field "${field}"`);
    this.#enter();
    const record = this.#find(key, true) || this.#insert(key);
    let value: number | undefined;
    if (record !== 0) {
      const { f64 } = this.zone;
      value = f64[numberOf(record) + FIELDS + at]! += amount;
      f64[numberOf(record) + EXPIRES] = this.#expiry();
    }
    this.zone.leave();
    return value;
  }

  delete(key: string): boolean {
    this.#enter();
    const there = this.#find(key, false) !== 0;
    if (there) this.table.remove(key);
    this.zone.leave();
    return there;
  }

  entries(): [string, Fields<F>][] {
    const entries: [string, Fields<F>][] = [];
    this.#enter();
    for (const record of this.table.values())
      if (!this.#isExpired(record)) entries.push([this.table.keyOf(record).toString(), this.#copy(record)]);
    this.zone.leave();
    return entries;
  }

  /** A copy for a change, with zeros if there is no record. */
  #look(key: string, seen: Float64Array): Fields<F> {
    this.#enter();
    const record = this.#find(key, true);
    const { f64 } = this.zone;
    for (let at = 0; at < seen.length; at++) seen[at] = record === 0 ? 0 : f64[numberOf(record) + FIELDS + at]!;
    this.zone.leave();
    return this.#named(seen);
  }

  /** @returns `unchanged` if the record is not what was seen any more */
  #store(key: string, fields: Fields<F>, seen: Float64Array): Updated {
    this.#enter();
    const stored = this.#replace(key, fields, seen);
    this.zone.leave();
    return stored;
  }

  #replace(key: string, fields: Fields<F>, seen: Float64Array): Updated {
    const { f64 } = this.zone;
    const found = this.#find(key, false);
    for (let at = 0; at < seen.length; at++)
      if (!Object.is(seen[at], found === 0 ? 0 : f64[numberOf(found) + FIELDS + at])) return 'unchanged';
    const record = found || this.#insert(key);
    if (record === 0) return 'full';
    let number = numberOf(record);
    f64[number + EXPIRES] = this.#expiry();
    for (const field of this.#fields) f64[number++ + FIELDS] = fields[field];
    return 'stored';
  }

  #insert(key: string): number {
    for (let swept = 0; swept < SWEEP; swept++) {
      const oldest = this.table.oldest();
      if (oldest === 0 || !this.#isExpired(oldest)) break;
      this.table.dropOldest();
    }
    return this.table.insert(key, (FIELDS + this.#fields.length) * 8, this.#evict);
  }

  /** The record of a key, 0: none. One that has expired is dropped. */
  #find(key: string, touch: boolean): number {
    const record = this.table.find(key, touch);
    if (record === 0 || !this.#isExpired(record)) return record;
    this.table.remove(key);
    return 0;
  }

  #isExpired(record: number): boolean {
    const expires = this.zone.f64[numberOf(record) + EXPIRES]!;
    return expires !== 0 && expires <= this.clock.now;
  }

  #expiry(): number {
    return this.#ttl === 0 ? 0 : this.clock.now + this.#ttl;
  }

  #copy(record: number): Fields<F> {
    const first = numberOf(record) + FIELDS;
    return this.#named(this.zone.f64.subarray(first, first + this.#fields.length));
  }

  #named(values: Float64Array): Fields<F> {
    const named = {} as Fields<F>;
    for (let at = 0; at < values.length; at++) named[this.#fields[at]!] = values[at]!;
    return named;
  }

  #enter(): void {
    this.zone.enter();
    this.table.check();
  }
}
