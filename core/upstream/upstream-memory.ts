import type { Zone } from '../zone/zone.js';
import { F, Flag, UpstreamW, Home, type Order, MIN_WORKERS, UNIT, W, upstreamBytes, recordBytes } from './layout.js';
import { isWithin } from './elapsed.js';
import { MemberTable } from './member-table.js';
import { QueueMemory } from './queue-memory.js';
import { Rotation } from './rotation.js';
import { SlowStart } from './slow-start.js';
import { Tally } from './tally.js';
import { readText, storeText } from './stored-text.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** A health check keeps requests from the member. */
const HELD = Flag.UNHEALTHY | Flag.CHECKING;

/** Parameters of a member that concern all threads. Times in milliseconds. */
export interface MemberSettings {
  readonly weight: number;
  readonly maxConns: number;
  readonly maxFails: number;
  readonly failTimeout: number;
  readonly slowStart: number;
  readonly backup: boolean;
  readonly down: boolean;
  readonly drain: boolean;
}

/**
 * The members of one upstream in its zone: their records, the table that finds them by identity, the rotations. One thread owns the
 * upstream (the master, or the thread with it in private memory): it alone adds, changes and removes. All methods but `create` and `attach`
 * are called between {@link enter} and {@link leave}, or in {@link locked}.
 */
export class UpstreamMemory {
  readonly table: MemberTable;
  readonly primary: Rotation;
  readonly backup: Rotation;
  readonly tally: Tally;
  readonly queue: QueueMemory;
  /** Workers that have a place of their own in each record. */
  readonly workers: number;
  readonly #words: number;

  private constructor(
    readonly zone: Zone,
    private readonly head: number,
  ) {
    this.#words = wordOf(head);
    this.table = new MemberTable(zone, head);
    this.primary = new Rotation(zone, head, false);
    this.backup = new Rotation(zone, head + UpstreamW.backup * 4, true);
    this.tally = new Tally(zone);
    this.workers = zone.u32[this.#words + UpstreamW.workers]!;
    this.queue = new QueueMemory(zone, this.#words, this.workers);
  }

  /** Makes an empty upstream. Undefined: the zone is full. @param name unique in the zone */
  static create(zone: Zone, name: string, workers = MIN_WORKERS): UpstreamMemory | undefined {
    const places = Math.max(workers, MIN_WORKERS);
    zone.enter();
    try {
      const head = zone.slab.calloc(upstreamBytes(places));
      if (head === 0) return undefined;
      const buckets = MemberTable.create(zone, head);
      if (buckets === 0 || !zone.directory.add(name, head)) {
        if (buckets !== 0) zone.slab.release(buckets);
        zone.slab.release(head);
        return undefined;
      }
      zone.u32[wordOf(head) + UpstreamW.epoch] = zone.epoch;
      zone.u32[wordOf(head) + UpstreamW.workers] = places;
      return new UpstreamMemory(zone, head);
    } finally {
      zone.leave();
    }
  }

  /** The upstream that the master made under `name`, or undefined. */
  static attach(zone: Zone, name: string): UpstreamMemory | undefined {
    zone.enter();
    const head = zone.directory.find(name);
    zone.leave();
    return head === 0 ? undefined : new UpstreamMemory(zone, head);
  }

  /** Takes the zone's lock. @param now epoch milliseconds */
  enter(now: number): void {
    this.zone.enter();
    if (this.zone.u32[this.#words + UpstreamW.epoch] !== this.zone.epoch) this.#repair(now);
  }

  leave(): void {
    this.zone.leave();
  }

  /** Calls `section` between {@link enter} and {@link leave}. */
  locked<T>(now: number, section: (now: number) => T): T {
    this.enter(now);
    try {
      return section(now);
    } finally {
      this.leave();
    }
  }

  /** Current members. */
  get count(): number {
    return this.zone.u32[this.#words + UpstreamW.count]!;
  }

  /** Removed members with requests that still run. */
  get zombies(): number {
    const { u32 } = this.zone;
    let busy = 0;
    for (let record = u32[this.#words + UpstreamW.zombies]!; record !== 0; record = u32[wordOf(record) + W.bucketNext]!)
      if (u32[wordOf(record) + W.active]! > 0) busy++;
    return busy;
  }

  rotationOf(record: number): Rotation {
    return (this.zone.u32[wordOf(record) + W.flags]! & Flag.BACKUP) === 0 ? this.primary : this.backup;
  }

  /** A record that is in the table and in no rotation yet. 0: the zone is full. @param address text to keep for the other threads */
  add(key: number, addressIndex: number, slot: number, settings: MemberSettings, address: string | undefined): number {
    const { slab } = this.zone;
    const rotation = this.#rotationFor(settings);
    const record = rotation.reserve(this.#records + 1) ? slab.calloc(recordBytes(this.workers)) : 0;
    if (record === 0) return 0;
    const text = address === undefined ? 0 : storeText(this.zone, address);
    const weightClass = rotation.classes.join(settings.weight * UNIT);
    if (weightClass === 0 || (text === 0 && address !== undefined)) {
      if (weightClass !== 0) rotation.classes.quit(weightClass);
      if (text !== 0) slab.release(text);
      slab.release(record);
      return 0;
    }
    const { u32 } = this.zone;
    const words = wordOf(record);
    u32[words + W.memberKey] = key;
    u32[words + W.addressIndex] = addressIndex;
    u32[words + W.slot] = slot;
    u32[words + W.address] = text;
    u32[words + W.weightClass] = weightClass;
    u32[words + W.effective] = settings.weight * UNIT;
    u32[words + W.order] = u32[this.#words + UpstreamW.nextOrder]!++;
    if (!SlowStart.reserve(this.zone, record, settings.slowStart)) {
      this.#release(record);
      return 0;
    }
    this.#store(record, settings);
    u32[words + W.flags]! |= Flag.PENDING;
    this.table.insert(record);
    return record;
  }

  /** Activates a pending member: from now on it gets requests. @param late the upstream was active before it */
  link(record: number, now: number, late: boolean): void {
    const { u32 } = this.zone;
    u32[wordOf(record) + W.flags]! &= ~Flag.PENDING;
    u32[this.#words + UpstreamW.count]!++;
    if (late && (u32[wordOf(record) + W.flags]! & HELD) === 0) this.startSlowly(record, now);
    this.rotationOf(record).settle(record, now);
  }

  /** A member that is there again: from now on it gets back its weight (`slow_start`). The only one of an upstream has it at once. */
  startSlowly(record: number, now: number): void {
    if (this.count > 1) this.rotationOf(record).slowStart.begin(record, now);
  }

  /** Gives up a pending member. */
  discard(record: number): void {
    this.table.remove(record);
    this.#release(record);
  }

  /**
   * Removes a member. Its requests go on. Its record stays until {@link reap}, because a worker may not know yet.
   */
  unlink(record: number, now: number): void {
    const { u32 } = this.zone;
    u32[wordOf(record) + W.flags]! |= Flag.GONE;
    this.rotationOf(record).leave(record);
    this.rotationOf(record).slowStart.end(record);
    this.table.remove(record);
    u32[wordOf(record) + W.bucketNext] = u32[this.#words + UpstreamW.zombies]!;
    u32[this.#words + UpstreamW.zombies] = record;
    if (--u32[this.#words + UpstreamW.count]! === 1) this.#resetLastPeer(now);
  }

  /**
   * Frees the records of members that were removed by earlier changes and have no requests left. All workers must have those changes.
   * @returns true if there are no others
   */
  reap(): boolean {
    const { u32 } = this.zone;
    let link = this.#words + UpstreamW.zombies;
    while (u32[link] !== 0) {
      const record = u32[link]!;
      if (u32[wordOf(record) + W.active]! > 0) link = wordOf(record) + W.bucketNext;
      else {
        u32[link] = u32[wordOf(record) + W.bucketNext]!;
        this.#release(record);
      }
    }
    return u32[this.#words + UpstreamW.zombies] === 0;
  }

  /** Reserves what other parameters of a member need. 0: the zone is full. Hand it to {@link change}, or give it back with {@link cancel}. */
  reserve(record: number, settings: MemberSettings): number {
    if (!this.#rotationFor(settings).reserve(this.#records) || !SlowStart.reserve(this.zone, record, settings.slowStart)) return 0;
    return this.#rotationFor(settings).classes.join(settings.weight * UNIT);
  }

  cancel(settings: MemberSettings, weightClass: number): void {
    this.#rotationFor(settings).classes.quit(weightClass);
  }

  /** Changes the parameters of a member in place. @param weightClass of {@link reserve} */
  change(record: number, settings: MemberSettings, weightClass: number, now: number): void {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    const before = this.rotationOf(record);
    before.leave(record);
    before.classes.quit(u32[words + W.weightClass]!);
    const started = before.slowStart.end(record);
    const wasDown = (u32[words + W.flags]! & Flag.DOWN) !== 0;
    const wasBackup = (u32[words + W.flags]! & Flag.BACKUP) !== 0;
    if (u32[words + W.weight] !== settings.weight * UNIT || wasBackup !== settings.backup) {
      // With another weight it starts like a new one, instead of working off what it was owed under the old one.
      f64[numberOf(record) + F.key] = 0;
      u32[words + W.effective] = settings.weight * UNIT;
    }
    u32[words + W.weightClass] = weightClass;
    this.#store(record, settings);
    if (wasDown && !settings.down) this.startSlowly(record, now);
    else if (started !== 0) this.rotationOf(record).slowStart.begin(record, started);
    const tolerated = settings.maxFails === 0 || u32[words + W.fails]! < settings.maxFails;
    if (tolerated && f64[numberOf(record) + F.downstart] !== 0) this.recovered(record, now);
    // Fewer failures are tolerated now than it has had: it gets no requests from here on, and says so.
    if (!tolerated && isWithin(settings.failTimeout, f64[numberOf(record) + F.checked]!, now)) this.tally.unavailable(record, now);
    this.rotationOf(record).settle(record, now);
  }

  /** Sets the health of a member. @param flag {@link Flag.UNHEALTHY}, {@link Flag.CHECKING}, 0: it may get requests */
  turnHealth(record: number, flag: number, now: number): void {
    const { u32, f64 } = this.zone;
    const words = wordOf(record);
    const before = u32[words + W.flags]! & HELD;
    if (before === flag) return;
    u32[words + W.flags] = (u32[words + W.flags]! & ~HELD) | flag;
    if (flag === 0) this.recovered(record, now);
    else if (f64[numberOf(record) + F.downstart] === 0) f64[numberOf(record) + F.downstart] = now;
    this.rotationOf(record).settle(record, now);
  }

  /** A member that had failed too often, or was found unhealthy, works again, or is trusted again. */
  recovered(record: number, now: number): void {
    const isHeld = (this.zone.u32[wordOf(record) + W.flags]! & HELD) !== 0;
    if (!isHeld && this.zone.f64[numberOf(record) + F.downstart] !== 0) this.startSlowly(record, now);
    this.tally.available(record, now);
  }

  /** Order in which members are chosen. */
  get order(): Order {
    return this.primary.order;
  }

  /** Makes room for another order. False: the zone is full. */
  reserveOrder(order: Order): boolean {
    return this.primary.reserve(this.#records, order) && this.backup.reserve(this.#records, order);
  }

  /** Switches to another order, for which there is room. All members begin again in it. */
  setOrder(order: Order, now: number): void {
    if (order === this.order) return;
    const records = Array.from(this.#all());
    for (const record of records) {
      this.rotationOf(record).leave(record);
      // State of another method.
      this.zone.u32.fill(0, wordOf(record) + W.spare, wordOf(record) + W.spare2 + 1);
    }
    this.primary.setOrder(order);
    this.backup.setOrder(order);
    for (const record of records) this.rotationOf(record).restore(record, now);
  }

  /** The text kept with {@link add}, or undefined. */
  addressOf(record: number): string | undefined {
    const text = this.zone.u32[wordOf(record) + W.address]!;
    if (text === 0) return undefined;
    return readText(this.zone, text);
  }

  /** Keeps another text for the other threads. False: the zone is full, and the text stays as it was. */
  setAddress(record: number, address: string): boolean {
    const text = storeText(this.zone, address);
    if (text === 0) return false;
    const { u32, slab } = this.zone;
    slab.release(u32[wordOf(record) + W.address]!);
    u32[wordOf(record) + W.address] = text;
    return true;
  }

  /** Subtracts what worker `index` had under way when it died. */
  dropWorker(index: number, now: number): void {
    if (index >= this.workers) return;
    const { i32, u32 } = this.zone;
    i32[this.#words + UpstreamW.idle + index] = 0;
    this.queue.dropWorker(index);
    for (const record of this.#all()) {
      const words = wordOf(record);
      const lost = u32[words + W.perWorker + index]!;
      if (lost === 0) continue;
      u32[words + W.perWorker + index] = 0;
      u32[words + W.active]! -= lost;
      this.rotationOf(record).settle(record, now);
    }
  }

  /** Idle connections of all workers. Read without the lock. */
  get idle(): number {
    let sum = 0;
    for (let index = 0; index < this.workers; index++) sum += Atomics.load(this.zone.i32, this.#words + UpstreamW.idle + index);
    return sum;
  }

  /** One idle connection of a worker more or less. Without the lock: only that worker writes there. */
  addIdle(worker: number, change: number): void {
    // A worker writes its own number alone, so no atomic operation is needed: two of them cost more than the rest of a take and a put.
    if (worker >= 0 && worker < this.workers) this.zone.i32[this.#words + UpstreamW.idle + worker]! += change;
  }

  /** Gives all memory back: the upstream is not active any more, and no request uses it. False if one still does. */
  destroy(name: string): boolean {
    for (const record of this.#all()) if (this.zone.u32[wordOf(record) + W.active]! > 0) return false;
    for (const record of Array.from(this.#all())) {
      this.rotationOf(record).leave(record);
      this.#release(record);
    }
    this.table.release();
    this.primary.release();
    this.backup.release();
    this.queue.release();
    this.zone.slab.release(this.head);
    this.zone.directory.remove(name);
    return true;
  }

  get #records(): number {
    return this.zone.u32[this.#words + UpstreamW.records]!;
  }

  *#all(): Generator<number> {
    yield* this.table.records();
    const { u32 } = this.zone;
    for (let record = u32[this.#words + UpstreamW.zombies]!; record !== 0; record = u32[wordOf(record) + W.bucketNext]!) yield record;
  }

  #rotationFor({ backup }: MemberSettings): Rotation {
    return backup ? this.backup : this.primary;
  }

  #store(record: number, settings: MemberSettings): void {
    const { u32 } = this.zone;
    const words = wordOf(record);
    const roles = (settings.backup ? Flag.BACKUP : 0) | (settings.down ? Flag.DOWN : 0) | (settings.drain ? Flag.DRAIN : 0);
    u32[words + W.flags] = (u32[words + W.flags]! & ~(Flag.BACKUP | Flag.DOWN | Flag.DRAIN)) | roles;
    u32[words + W.weight] = settings.weight * UNIT;
    u32[words + W.maxConns] = settings.maxConns;
    u32[words + W.maxFails] = settings.maxFails;
    u32[words + W.failTimeout] = Math.min(settings.failTimeout, 2 ** 32 - 1);
    SlowStart.configure(this.zone, record, settings.slowStart);
  }

  /** The only member of an upstream is never out of the game, whatever failed (as in nginx). */
  #resetLastPeer(now: number): void {
    for (const record of this.table.records()) {
      if ((this.zone.u32[wordOf(record) + W.flags]! & Flag.PENDING) !== 0) continue;
      this.tally.available(record, now);
      this.rotationOf(record).slowStart.end(record);
      this.rotationOf(record).settle(record, now);
    }
  }

  #release(record: number): void {
    const { u32, slab } = this.zone;
    const words = wordOf(record);
    this.rotationOf(record).classes.quit(u32[words + W.weightClass]!);
    this.tally.release(record);
    if (u32[words + W.address] !== 0) slab.release(u32[words + W.address]!);
    if (u32[words + W.slow] !== 0) slab.release(u32[words + W.slow]!);
    slab.release(record);
  }

  /** After a thread died inside the lock: the table is whole, everything that can be derived from it is made again. */
  #repair(now: number): void {
    const { u32 } = this.zone;
    this.primary.clear();
    this.backup.clear();
    let count = 0;
    let records = 0;
    for (const record of this.#all()) {
      const words = wordOf(record);
      let active = 0;
      for (let worker = 0; worker < this.workers; worker++) active += u32[words + W.perWorker + worker]!;
      u32[words + W.active] = active;
      u32[words + W.home] = Home.none;
      const flags = u32[words + W.flags]!;
      if ((flags & Flag.GONE) === 0) records++;
      if ((flags & (Flag.PENDING | Flag.GONE)) === 0) count++;
      this.rotationOf(record).restore(record, now);
    }
    u32[this.#words + UpstreamW.count] = count;
    u32[this.#words + UpstreamW.records] = records;
    u32[this.#words + UpstreamW.epoch] = this.zone.epoch;
  }
}
