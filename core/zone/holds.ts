import { setImmediate } from 'node:timers/promises';
import type { Held, Holds } from '../contract/zones.js';
import { HashTable } from './hash-table.js';
import { wordOf } from './offsets.js';
import { Waiters, type Wait } from './waiters.js';
import { PendingChanges } from './sync/pending-changes.js';
import { SyncedHolds } from './sync/synced-holds.js';
import type { Zone } from './zone.js';

const tableName = (workers: number, isSynced: boolean): string => `holds ${workers}${isSynced ? ' sum' : ''}`;
/** Bytes of a key where none is known. */
const USUAL_KEY = 16;
/** How often a zone without room for a key is looked at. Milliseconds. */
const FULL_POLL = 25;
/** Words of a record: how many are held, then how many by each worker. */
const TOTAL = 0;
const SHARES = 1;

/** Counts of what is held, with the share of each worker, so that what a dead one held can be released. */
export class ZoneHolds implements Holds {
  readonly #makeRoom = (): boolean => this.#dropOldest();

  private constructor(
    private readonly zone: Zone,
    private readonly table: HashTable,
    /** 0-based; -1: a thread that carries no traffic. */
    private readonly worker: number,
    private readonly workers: number,
    private readonly waiters: Waiters,
    /** Of a zone that nodes share: the keys that are to be sent. The last share is what other nodes hold. */
    private readonly pending: PendingChanges | undefined,
  ) {}

  /**
   * The counts in a zone. Undefined: it is too small.
   * @param workers that there are places for, the same in all threads
   * @param isSynced what other nodes hold counts as well
   * @param entries keys that the table is made for
   */
  static open(zone: Zone, worker: number, workers: number, isSynced = false, entries?: number): ZoneHolds | undefined {
    const name = tableName(workers, isSynced);
    const table = HashTable.open(zone, name, entries === undefined ? {} : { entries });
    const pending = isSynced ? PendingChanges.open(zone, name, 0) : undefined;
    if (table === undefined || (isSynced && pending === undefined)) return undefined;
    const holds = new ZoneHolds(zone, table, worker, workers, Waiters.open(zone), pending);
    if (pending !== undefined && !zone.synced.has(name)) zone.synced.set(name, new SyncedHolds(zone, pending, holds));
    return holds;
  }

  /** The counts in a zone, if a worker has opened them: to drop what it held. */
  static find(zone: Zone, workers: number): ZoneHolds | undefined {
    for (const isSynced of [false, true]) {
      const name = tableName(workers, isSynced);
      const table = HashTable.find(zone, name);
      if (table === undefined) continue;
      return new ZoneHolds(zone, table, -1, workers, Waiters.open(zone), isSynced ? PendingChanges.open(zone, name, 0) : undefined);
    }
    return undefined;
  }

  get size(): number {
    return this.table.count;
  }

  get capacity(): number {
    this.#enter();
    const capacity = this.table.capacity(this.#bytes, USUAL_KEY);
    this.zone.leave();
    return capacity;
  }

  acquire(key: string, limit: number): Held {
    this.#enter();
    const held = this.#acquire(key, limit);
    this.zone.leave();
    this.#reportDropped();
    return held;
  }

  release(key: string): void {
    this.#enter();
    const record = this.table.find(key, false);
    const share = wordOf(record) + SHARES + this.worker;
    if (record !== 0 && this.#hasShare && this.zone.u32[share] !== 0) {
      this.zone.u32[share]!--;
      this.#subtract(key, record, 1);
      this.#mark(key);
    }
    this.zone.leave();
  }

  count(key: string): number {
    this.#enter();
    const record = this.table.find(key, false);
    const count = record === 0 ? 0 : this.zone.u32[wordOf(record) + TOTAL]!;
    this.zone.leave();
    return count;
  }

  async whenBelow(key: string, limit: number, ms: number, signal?: AbortSignal): Promise<boolean> {
    const end = performance.now() + ms;
    // A module that tries again and again whatever `acquire` says must not keep its worker from everything else.
    await setImmediate();
    for (;;) {
      const wait = this.#waitUnless(key, limit, () => end - performance.now());
      if (wait === undefined) return true;
      if (signal?.aborted === true || performance.now() >= end) return false;
      await wait(signal);
    }
  }

  /** Holds of this node by key. */
  get amounts(): [key: string, amounts: number[]][] {
    this.#enter();
    const { table, zone } = this;
    const amounts = Array.from(table.values(), (record): [string, number[]] => [table.keyOf(record).toString(), [this.#mine(record)]]);
    zone.leave();
    return amounts.filter(([, [amount]]) => amount !== 0);
  }

  /** How many this node holds under a key. With the zone's lock held, after {@link check}. */
  held(key: Uint8Array): number {
    const record = this.table.find(key, false);
    return record === 0 ? 0 : this.#mine(record);
  }

  /** After the zone's lock was taken. */
  check(): void {
    this.#check();
  }

  /** Other nodes hold so many more, or fewer. @returns false: the zone is full */
  changeOthers(key: Buffer, amount: number): boolean {
    this.#enter();
    const record = this.table.find(key, false) || (amount > 0 ? this.#insert(key) : 0);
    if (record !== 0) this.#changeShare(key, record, this.workers, amount);
    this.zone.leave();
    this.#reportDropped();
    return record !== 0;
  }

  /** All keys are to be sent. */
  markAll(): void {
    this.#enter();
    for (const record of this.table.values()) if (this.#mine(record) > 0) this.pending?.mark(this.table.keyOf(record), () => false);
    this.zone.leave();
  }

  /** Holds more or less under a key, whatever its limit is: connections of a program that was replaced. Nothing is held where the zone is full. */
  change(key: string, amount: number): void {
    this.#enter();
    const record = this.table.find(key) || (amount > 0 ? this.#insert(key) : 0);
    if (record !== 0) {
      this.#changeShare(key, record, this.worker, amount);
      this.#mark(key);
    }
    this.zone.leave();
    this.#reportDropped();
  }

  /** Releases what a worker held when it died. */
  dropWorker(worker: number): void {
    if (worker < 0 || worker >= this.workers) return;
    this.#enter();
    for (const record of Array.from(this.table.values())) {
      const share = wordOf(record) + SHARES + worker;
      const lost = this.zone.u32[share]!;
      if (lost === 0) continue;
      this.zone.u32[share] = 0;
      const key = this.table.keyOf(record);
      this.#subtract(key, record, lost);
      this.#mark(key);
    }
    this.zone.leave();
  }

  #acquire(key: string, limit: number): Held {
    const found = this.table.find(key);
    if (found !== 0 && this.zone.u32[wordOf(found) + TOTAL]! >= limit) return 'rejected';
    const record = found || this.#insert(key);
    if (record === 0) return 'full';
    const { u32 } = this.zone;
    u32[wordOf(record) + TOTAL]!++;
    if (this.#hasShare) u32[wordOf(record) + SHARES + this.worker]!++;
    this.#mark(key);
    return 'held';
  }

  #changeShare(key: string | Uint8Array, record: number, place: number, amount: number): void {
    const share = wordOf(record) + SHARES + place;
    const change = Math.max(amount, -this.zone.u32[share]!);
    this.zone.u32[share]! += change;
    this.#subtract(key, record, -change);
  }

  /** Without the share of other nodes. */
  #mine(record: number): number {
    const word = wordOf(record);
    return this.zone.u32[word + TOTAL]! - (this.pending === undefined ? 0 : this.zone.u32[word + SHARES + this.workers]!);
  }

  #mark(key: string | Uint8Array): void {
    this.pending?.mark(key, this.#makeRoom);
  }

  /** Records of the zone that may go make room. 0: there is none. */
  #insert(key: string | Uint8Array): number {
    for (;;) {
      const record = this.table.insert(key, this.#bytes);
      if (record !== 0 || !this.#dropOldest()) return record;
    }
  }

  #dropOldest(): boolean {
    for (const records of this.zone.droppable.values()) if (records.dropOldest()) return true;
    return false;
  }

  #reportDropped(): void {
    for (const records of this.zone.droppable.values()) records.reportDropped();
  }

  #hasRoom(key: string): boolean {
    for (const records of this.zone.droppable.values()) if (records.isDroppable) return true;
    const record = this.table.insert(key, this.#bytes);
    if (record !== 0) this.table.removeAt(record);
    return record !== 0;
  }

  #subtract(key: string | Uint8Array, record: number, amount: number): void {
    const left = (this.zone.u32[wordOf(record) + TOTAL]! -= amount);
    if (left === 0) this.table.remove(key);
    if (amount > 0) this.waiters.wake(key);
  }

  /** Undefined: fewer than `limit` are held, and there is room for one more. Otherwise waits from this moment on. */
  #waitUnless(key: string, limit: number, ms: () => number): Wait | undefined {
    this.#enter();
    const record = this.table.find(key, false);
    const isBelow = record === 0 ? limit > 0 : this.zone.u32[wordOf(record) + TOTAL]! < limit;
    const isFull = isBelow && record === 0 && !this.#hasRoom(key);
    const wait = isBelow && !isFull ? undefined : this.waiters.begin(key, isFull ? Math.min(ms(), FULL_POLL) : ms());
    this.zone.leave();
    return wait;
  }

  get #bytes(): number {
    return (SHARES + this.#places) * 4;
  }

  get #places(): number {
    return this.workers + (this.pending === undefined ? 0 : 1);
  }

  get #hasShare(): boolean {
    return this.worker >= 0 && this.worker < this.workers;
  }

  /** Takes the lock. After a thread died with it, the shares say what the counts are. */
  #enter(): void {
    this.zone.enter();
    this.#check();
  }

  #check(): void {
    this.pending?.check();
    if (!this.table.check()) return;
    const { u32 } = this.zone;
    for (const record of Array.from(this.table.values())) {
      let total = 0;
      for (let place = 0; place < this.#places; place++) total += u32[wordOf(record) + SHARES + place]!;
      u32[wordOf(record) + TOTAL] = total;
      if (total === 0) this.table.remove(this.table.keyOf(record));
    }
    this.waiters.wakeAll();
  }
}
