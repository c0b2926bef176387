import { inspect } from 'node:util';
import type { RecordChange, RecordFields, RecordOptions, Records, Updated } from '../contract/zones.js';
import { HashTable } from './hash-table.js';
import { numberOf } from './offsets.js';
import { RecordStrings } from './record-strings.js';
import { RecordChanges } from './sync/record-changes.js';
import { SyncedRecords } from './sync/synced-records.js';
import type { Droppable, Zone } from './zone.js';

/**
 * Numbers of a record: when it expires (epoch ms; 0 while it is being stored), in a zone whose last records count when it was changed, then its fields, then
 * its strings.
 */
const EXPIRES = 0;
const STAMP = 1;
/** Between two changes of a record in one moment. Milliseconds. */
const STEP = 2 ** -10;
/** Bytes of a key where none is known. */
const USUAL_KEY = 16;
/** Expired records that a new one looks for at most. */
const SWEEP = 2;

/** The clock. Epoch milliseconds. */
export interface Now {
  readonly now: number;
}

/** A record as it was copied. */
interface Copy {
  readonly numbers: Float64Array;
  readonly strings: string[];
}

/** Keyed records in a zone. Changes are proposed on a copy and stored only if the record is still what was copied. */
export class ZoneRecords<F extends string, S extends string = never> implements Records<F, S>, Droppable {
  readonly #fields: readonly F[];
  readonly #strings: RecordStrings<S>;
  readonly #ttl: number;
  readonly #evict: boolean;
  readonly #evicted: RecordOptions<F, S>['evicted'];
  /** Dropped records that are still to be reported. */
  readonly #dropped: [key: string, fields: RecordFields<F, S>][] = [];
  /** The fields as they were copied last. Nothing else uses it between a copy and its comparison. */
  readonly #seen: Copy;
  /** Values to be stored, read from the module's object before the lock is held. */
  readonly #next: Copy;
  #busy = false;
  /** Index of the first field. */
  readonly #first: number;
  readonly #changes: RecordChanges | undefined;
  /** For changes that are to be sent: never the record that has changed, which is the newest. */
  readonly #makeRoom = (): boolean => this.table.count > 1 && this.dropOldest();
  /** When the record that is being received was changed. Undefined: the change is one of this node. */
  #received: number | undefined;

  private constructor(
    private readonly zone: Zone,
    private readonly table: HashTable,
    private readonly clock: Now,
    { fields, strings, ttl = 0, evict = true, evicted }: RecordOptions<F, S>,
    changes: RecordChanges | undefined,
  ) {
    this.#fields = fields;
    this.#changes = changes;
    this.#first = firstField(changes?.kind);
    this.#strings = new RecordStrings(strings, (this.#first + fields.length) * 8);
    this.#ttl = ttl;
    this.#evict = evict;
    this.#evicted = evicted;
    this.#seen = this.#newCopy();
    this.#next = this.#newCopy();
  }

  /**
   * Records of these fields in the zone. Undefined: it is too small.
   * @param sync how nodes share them
   * @throws RangeError for records that cannot be shared so
   */
  static open<F extends string, S extends string = never>(
    zone: Zone,
    options: RecordOptions<F, S>,
    clock: Now,
    sync?: RecordChanges['kind'],
  ): ZoneRecords<F, S> | undefined {
    const strings = Object.entries(options.strings ?? {}).map(([name, length]) => `${name}:${String(length)}`);
    const name = `records ${[...options.fields, ...strings].join()}${sync === 'last' ? ' last' : ''}`;
    const table = HashTable.open(zone, name, options.expected === undefined ? {} : { entries: options.expected });
    const changes = sync && RecordChanges.open(zone, name, sync, options);
    if (table === undefined || (sync !== undefined && changes === undefined)) return undefined;
    const records = new ZoneRecords(zone, table, clock, options, changes);
    zone.droppable.set(name, records);
    if (changes !== undefined) zone.synced.set(name, new SyncedRecords(zone, changes, records, options));
    return records;
  }

  get size(): number {
    return this.table.count;
  }

  get capacity(): number {
    this.#enter();
    const capacity = this.table.capacity(this.#strings.end, USUAL_KEY);
    this.zone.leave();
    return capacity;
  }

  get evicted(): number {
    return this.table.evicted;
  }

  get(key: string): RecordFields<F, S> | undefined {
    this.#enter();
    const record = this.#find(key, false);
    const found = record === 0 ? undefined : this.#copy(record);
    this.zone.leave();
    return found;
  }

  update<C>(key: string, change: RecordChange<F, C, S>, context: C): Updated {
    this.#assertOutsideOfChange();
    this.#busy = true;
    const seen = this.#seen;
    try {
      for (;;) {
        const fields = this.#look(key, seen);
        const changed: unknown = change(fields, context);
        if (changed === false || changed === undefined) return 'unchanged';
        if (changed !== true) throw new TypeError('a change must return true or false, and not a promise');
        const stored = this.#store(key, this.#taken(fields), seen);
        if (stored !== 'unchanged') return stored;
      }
    } finally {
      this.#busy = false;
      this.reportDropped();
    }
  }

  add(key: string, field: F, amount: number): number | undefined {
    this.#assertOutsideOfChange();
    const at = this.#fields.indexOf(field);
    if (at < 0) throw new RangeError(`no field "${field}"`);
    if (!Number.isFinite(amount)) throw new RangeError(`the amount for field "${field}" must be a number, not ${amount}`);
    this.#enter();
    const record = this.#find(key, true) || this.#insert(key);
    let value: number | undefined;
    if (record !== 0) {
      const { f64 } = this.zone;
      const before = f64[numberOf(record) + EXPIRES]!;
      value = f64[numberOf(record) + this.#first + at]! += amount;
      f64[numberOf(record) + EXPIRES] = this.#expiry();
      this.#changes?.grown(key, at, amount, this.#makeRoom);
      if (this.#changes?.kind === 'last') this.#stamp(key, record, amount !== 0, before);
    }
    this.zone.leave();
    this.reportDropped();
    return value;
  }

  delete(key: string): boolean {
    this.#assertOutsideOfChange();
    this.#enter();
    const there = this.#find(key, false) !== 0;
    if (there) this.table.remove(key);
    if (there && this.#changes?.kind === 'last') this.#changes.mark(key, this.#makeRoom);
    this.zone.leave();
    return there;
  }

  entries(): [string, RecordFields<F, S>][] {
    const entries: [string, RecordFields<F, S>][] = [];
    this.#enter();
    for (const record of this.table.values())
      if (!this.#isExpired(record)) entries.push([this.table.keyOf(record).toString(), this.#copy(record)]);
    this.zone.leave();
    return entries;
  }

  oldest(count: number): [string, RecordFields<F, S>][] {
    const entries: [string, RecordFields<F, S>][] = [];
    this.#enter();
    for (const record of this.table.fromOldest(count)) entries.push([this.table.keyOf(record).toString(), this.#copy(record)]);
    this.zone.leave();
    return entries;
  }

  /** A change may be made again when another worker was faster: what it did to other records would be done twice. */
  #assertOutsideOfChange(): void {
    if (this.#busy) throw new Error('a change of a record must not change records');
  }

  /** A copy for a change, with zeros and empty strings if there is no record. */
  #look(key: string, seen: Copy): RecordFields<F, S> {
    const { numbers, strings } = seen;
    this.#enter();
    const record = this.#find(key, true);
    const { f64 } = this.zone;
    for (let at = 0; at < numbers.length; at++) numbers[at] = record === 0 ? 0 : f64[numberOf(record) + this.#first + at]!;
    for (let at = 0; at < strings.length; at++) strings[at] = record === 0 ? '' : this.#strings.read(this.zone, record, at);
    this.zone.leave();
    return this.#named(numbers, strings);
  }

  /** @throws RangeError for strings that cannot be kept */
  #taken(fields: RecordFields<F, S>): Copy {
    const { numbers, strings } = this.#next;
    for (let at = 0; at < numbers.length; at++) numbers[at] = asNumber(this.#fields[at]!, fields[this.#fields[at]!]);
    for (let at = 0; at < strings.length; at++) strings[at] = this.#strings.checked(at, fields[this.#strings.names[at]!]);
    return this.#next;
  }

  /** @returns `unchanged` if the record is not what was seen any more */
  #store(key: string, next: Copy, seen: Copy): Updated {
    this.#enter();
    const stored = this.#replace(key, next, seen);
    this.zone.leave();
    return stored;
  }

  #replace(key: string, { numbers, strings }: Copy, seen: Copy): Updated {
    const { zone } = this;
    const { f64 } = zone;
    const found = this.#find(key, false);
    if (!this.#isAsSeen(found, seen)) return 'unchanged';
    const record = found || this.#insert(key);
    if (record === 0) return 'full';
    const number = numberOf(record);
    const before = f64[number + EXPIRES]!;
    // A thread that finds this after a death drops the record.
    f64[number + EXPIRES] = 0;
    for (let at = 0; at < numbers.length; at++) f64[number + this.#first + at] = numbers[at]!;
    for (let at = 0; at < strings.length; at++) this.#strings.write(zone, record, at, strings[at]!);
    f64[number + EXPIRES] = this.#expiry();
    if (this.#changes !== undefined) this.#note(key, record, before, seen);
    return 'stored';
  }

  /** Notes a change for the other nodes. */
  #note(key: string, record: number, before: number, seen: Copy): void {
    const changes = this.#changes!;
    if (changes.kind === 'last') this.#stamp(key, record, !this.#isAsSeen(record, seen), before);
    else if (this.#received === undefined)
      for (let at = 0; at < seen.numbers.length; at++)
        changes.grown(key, at, this.zone.f64[numberOf(record) + this.#first + at]! - seen.numbers[at]!, this.#makeRoom);
  }

  /** @param before when it expired before the change */
  #stamp(key: string, record: number, isChanged: boolean, before: number): void {
    const { f64 } = this.zone;
    const at = numberOf(record) + STAMP;
    if (this.#received !== undefined) f64[at] = Math.max(f64[at]!, this.#received);
    else {
      if (isChanged) f64[at] = Math.max(this.clock.now + Math.random(), f64[at]! + STEP);
      if (isChanged || this.#changes!.isRenewed(before, f64[numberOf(record) + EXPIRES]!)) this.#changes!.mark(key, this.#makeRoom);
    }
  }

  /** Changes a record as another node says, and sends that to none. @param changed when it was, epoch milliseconds */
  receive<C>(key: string, changed: number, change: RecordChange<F, C, S>, context: C): Updated {
    this.#received = changed;
    try {
      return this.update(key, change, context);
    } finally {
      this.#received = undefined;
    }
  }

  /** Puts a record in its place unless the one that is there was changed later. @param values numbers and strings */
  replace(key: Uint8Array, changed: number, expires: number, values: Uint8Array): void {
    this.#enter();
    this.#put(key, changed, Math.min(expires, this.#expiry()), values);
    this.zone.leave();
    this.reportDropped();
  }

  #put(key: Uint8Array, changed: number, expires: number, values: Uint8Array): void {
    const { f64 } = this.zone;
    const found = this.#find(key, false);
    const isGone = expires <= this.clock.now;
    if (found !== 0 && f64[numberOf(found) + STAMP]! >= changed) {
      f64[numberOf(found) + EXPIRES] = Math.max(f64[numberOf(found) + EXPIRES]!, expires);
      return;
    }
    if (isGone) return void (found !== 0 && this.table.removeAt(found));
    const record = found || this.#insert(key);
    if (record === 0) return;
    f64[numberOf(record) + EXPIRES] = 0;
    this.zone.bytes.set(values, record + this.#first * 8);
    f64[numberOf(record) + STAMP] = changed;
    f64[numberOf(record) + EXPIRES] = expires;
  }

  /** Numbers and strings of a record, and when it was changed and expires; undefined: there is none. With the zone's lock held. */
  raw(key: Uint8Array): { readonly changed: number; readonly expires: number; readonly values: Uint8Array } | undefined {
    const record = this.#find(key, false);
    if (record === 0) return undefined;
    const { f64, bytes } = this.zone;
    const values = bytes.slice(record + this.#first * 8, record + this.#strings.end);
    return { changed: f64[numberOf(record) + STAMP]!, expires: f64[numberOf(record) + EXPIRES]!, values };
  }

  /** Bytes of numbers and strings. */
  get valueLength(): number {
    return this.#strings.end - this.#first * 8;
  }

  /** The fields in {@link raw}. */
  named(values: Buffer): RecordFields<F, S> {
    const numbers = Float64Array.from(this.#fields, (_, at) => values.readDoubleLE(at * 8));
    return this.#named(
      numbers,
      this.#strings.names.map((_, at) => this.#strings.read({ bytes: values }, -this.#first * 8, at)),
    );
  }

  /** Marks the records that were used since a time, to be sent once more. */
  markSince(time: number): void {
    this.#enter();
    for (const record of this.table.values())
      if (this.zone.f64[numberOf(record) + EXPIRES]! - this.#ttl >= time) this.#changes?.mark(this.table.keyOf(record), () => false);
    this.zone.leave();
  }

  #isAsSeen(record: number, { numbers, strings }: Copy): boolean {
    const { f64 } = this.zone;
    for (let at = 0; at < numbers.length; at++)
      if (!Object.is(numbers[at], record === 0 ? 0 : f64[numberOf(record) + this.#first + at])) return false;
    for (let at = 0; at < strings.length; at++)
      if (strings[at] !== (record === 0 ? '' : this.#strings.read(this.zone, record, at))) return false;
    return true;
  }

  get isDroppable(): boolean {
    return this.#evict && this.table.count > 0;
  }

  dropOldest(): boolean {
    if (this.table.check()) this.#dropUnfinished();
    const oldest = this.#evict ? this.table.oldest() : 0;
    if (oldest === 0) return false;
    if (this.#evicted !== undefined && !this.#isExpired(oldest))
      this.#dropped.push([this.table.keyOf(oldest).toString(), this.#copy(oldest)]);
    return this.table.evict();
  }

  #insert(key: string | Uint8Array): number {
    for (let swept = 0; swept < SWEEP; swept++) {
      const oldest = this.table.oldest();
      if (oldest === 0 || !this.#isExpired(oldest)) break;
      this.table.dropOldest();
    }
    if (this.#evicted === undefined) return this.table.insert(key, this.#strings.end, this.#evict);
    for (;;) {
      const record = this.table.insert(key, this.#strings.end);
      if (record !== 0 || !this.dropOldest()) return record;
    }
  }

  /** Called without the lock. */
  reportDropped(): void {
    while (this.#dropped.length > 0) {
      const [key, fields] = this.#dropped.shift()!;
      this.#evicted?.(key, fields);
    }
  }

  /** The record of a key, 0: none. One that has expired is dropped. */
  #find(key: string | Uint8Array, touch: boolean): number {
    const record = this.table.find(key, touch);
    if (record === 0 || !this.#isExpired(record)) return record;
    this.table.remove(key);
    return 0;
  }

  #isExpired(record: number): boolean {
    return this.zone.f64[numberOf(record) + EXPIRES]! <= this.clock.now;
  }

  #expiry(): number {
    return this.#ttl === 0 ? Infinity : this.clock.now + this.#ttl;
  }

  #copy(record: number): RecordFields<F, S> {
    const first = numberOf(record) + this.#first;
    const strings = this.#strings.names.map((_, at) => this.#strings.read(this.zone, record, at));
    return this.#named(this.zone.f64.subarray(first, first + this.#fields.length), strings);
  }

  #named(numbers: Float64Array, strings: readonly string[]): RecordFields<F, S> {
    const named: Record<string, number | string> = {};
    for (let at = 0; at < numbers.length; at++) named[this.#fields[at]!] = numbers[at]!;
    for (let at = 0; at < strings.length; at++) named[this.#strings.names[at]!] = strings[at]!;
    return named as RecordFields<F, S>;
  }

  #newCopy(): Copy {
    return { numbers: new Float64Array(this.#fields.length), strings: this.#strings.names.map(() => '') };
  }

  #enter(): void {
    this.zone.enter();
    this.#changes?.pending.check();
    if (this.table.check()) this.#dropUnfinished();
  }

  /** After a thread died in the lock. */
  #dropUnfinished(): void {
    for (const record of Array.from(this.table.values()))
      if (this.zone.f64[numberOf(record) + EXPIRES] === 0) this.table.remove(this.table.keyOf(record));
  }
}

const firstField = (sync: RecordChanges['kind'] | undefined): number => (sync === 'last' ? STAMP + 1 : EXPIRES + 1);

/** @throws TypeError: a module in JavaScript may set anything */
function asNumber(field: string, value: unknown): number {
  if (typeof value === 'number') return value;
  throw new TypeError(`field "${field}" of a record must be a number, not ${inspect(value, { depth: 0 })}`);
}
