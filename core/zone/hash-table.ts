import { KeyBytes } from './key-bytes.js';
import { Slab } from './slab.js';
import type { Zone } from './zone.js';
import { wordOf } from './offsets.js';

/** Words of a table's head. */
const Head = { buckets: 0, mask: 1, seed: 2, count: 3, newest: 4, oldest: 5, epoch: 6, evicted: 7, BYTES: 32 } as const;
/** Words of an entry; its value follows, beginning at a multiple of 8, then its key. */
const Entry = { next: 0, newer: 1, older: 2, hash: 3, keyLength: 4, valueLength: 5, BYTES: 24 } as const;

/** Of the names of tables in the directory of a zone. */
const PREFIX = 'hash:';

export interface HashTableOptions {
  /** Expected number of entries: one bucket for each, rounded up to a power of two. Default: what fits the zone at 128 bytes an entry. */
  readonly entries?: number;
}

/**
 * A hash table in a zone, with entries of any key and value size in order of use. All methods but `open` are called with the zone's lock
 * held, after {@link check}. Values are named by their offset in the zone (a multiple of 8) and written there by the caller.
 *
 * The buckets are the truth: an entry enters and leaves them by one store. The order of use is made again from them after a thread died.
 */
export class HashTable {
  readonly #key = new KeyBytes();

  private constructor(
    private readonly zone: Zone,
    private readonly head: number,
  ) {}

  /** The table called `name` in the zone; made if it does not exist. Takes the lock itself. Undefined when the zone is too small. */
  static open(zone: Zone, name: string, options: HashTableOptions = {}): HashTable | undefined {
    zone.enter();
    try {
      const head = zone.directory.find(`${PREFIX}${name}`) || HashTable.#create(zone, name, options.entries ?? Math.floor(zone.size / 128));
      return head === 0 ? undefined : new HashTable(zone, head);
    } finally {
      zone.leave();
    }
  }

  /** The table called `name`, undefined if it does not exist. Takes the lock itself. */
  static find(zone: Zone, name: string): HashTable | undefined {
    zone.enter();
    const head = zone.directory.find(`${PREFIX}${name}`);
    zone.leave();
    return head === 0 ? undefined : new HashTable(zone, head);
  }

  /** Names of the tables in a zone. Takes the lock itself. */
  static names(zone: Zone): string[] {
    zone.enter();
    const { names } = zone.directory;
    zone.leave();
    return names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  }

  static #create(zone: Zone, name: string, entries: number): number {
    const buckets = 2 ** Math.ceil(Math.log2(Math.max(entries, 8)));
    const head = zone.slab.calloc(Head.BYTES);
    const table = head === 0 ? 0 : zone.slab.calloc(buckets * 4);
    if (table === 0 || !zone.directory.add(`${PREFIX}${name}`, head)) {
      if (table !== 0) zone.slab.release(table);
      if (head !== 0) zone.slab.release(head);
      return 0;
    }
    const words = wordOf(head);
    zone.u32[words + Head.buckets] = table;
    zone.u32[words + Head.mask] = buckets - 1;
    // So that clients cannot choose keys that fall into one bucket.
    zone.u32[words + Head.seed] = Math.floor(Math.random() * 2 ** 32);
    zone.u32[words + Head.epoch] = zone.epoch;
    return head;
  }

  get count(): number {
    return this.zone.u32[wordOf(this.head) + Head.count]!;
  }

  /** Entries that had to go for new ones so far. */
  get evicted(): number {
    return this.zone.u32[wordOf(this.head) + Head.evicted]!;
  }

  /**
   * Entries that a full zone would have: those there are, and as many more as its free memory has room for, each as long as the newest one.
   * @param valueLength bytes @param keyLength bytes of an entry where there is none
   */
  capacity(valueLength: number, keyLength: number): number {
    const { u32, slab } = this.zone;
    const newest = u32[wordOf(this.head) + Head.newest]!;
    const length = newest === 0 ? keyLength : u32[wordOf(newest) + Entry.keyLength]!;
    return this.count + Math.floor(slab.free / Slab.cost(Entry.BYTES + padded(valueLength) + length));
  }

  /** Repairs the table if a thread died inside the lock, and returns whether one did. Call it after each `enter`. */
  check(): boolean {
    if (this.zone.u32[wordOf(this.head) + Head.epoch] === this.zone.epoch) return false;
    this.#repair();
    return true;
  }

  /** The offset of the value of `key`, or 0. @param touch counts as a use */
  find(key: string | Uint8Array, touch = true): number {
    const entry = this.#entry(key);
    if (entry === 0) return 0;
    if (touch && this.zone.u32[wordOf(this.head) + Head.newest] !== entry) {
      this.#unorder(entry);
      this.#order(entry);
    }
    return entry + Entry.BYTES;
  }

  /**
   * A new entry for a key that is not in the table. Its value is filled with zeros.
   *
   * @param valueLength bytes
   * @param evict drop the entries used longest ago until there is room
   * @returns the value's offset, or 0 when the zone is full
   */
  insert(key: string | Uint8Array, valueLength: number, evict = false): number {
    const { zone } = this;
    this.#key.set(key, zone.u32[wordOf(this.head) + Head.seed]!);
    const { length, hash } = this.#key;
    const entry = this.#room(Entry.BYTES + padded(valueLength) + length, evict);
    if (entry === 0) return 0;
    const words = wordOf(entry);
    const { u32 } = zone;
    u32[words + Entry.hash] = hash;
    u32[words + Entry.keyLength] = length;
    u32[words + Entry.valueLength] = valueLength;
    zone.bytes.fill(0, entry + Entry.BYTES, entry + Entry.BYTES + padded(valueLength));
    this.#key.copyTo(zone.bytes, entry + Entry.BYTES + padded(valueLength));
    const bucket = this.#bucket(hash);
    u32[words + Entry.next] = u32[bucket]!;
    u32[bucket] = entry;
    this.#order(entry);
    u32[wordOf(this.head) + Head.count]!++;
    return entry + Entry.BYTES;
  }

  /** False if there was no such key. */
  remove(key: string | Uint8Array): boolean {
    const entry = this.#entry(key);
    if (entry !== 0) this.#drop(entry);
    return entry !== 0;
  }

  /** Removes the entry with this value. */
  removeAt(value: number): void {
    this.#drop(value - Entry.BYTES);
  }

  /** Removes the entry that was used longest ago for another one. False when the table is empty. */
  evict(): boolean {
    const evicted = this.dropOldest();
    if (evicted) this.zone.u32[wordOf(this.head) + Head.evicted]!++;
    return evicted;
  }

  /** Removes the entry that was used longest ago. False when the table is empty. */
  dropOldest(): boolean {
    const oldest = this.zone.u32[wordOf(this.head) + Head.oldest]!;
    if (oldest !== 0) this.#drop(oldest);
    return oldest !== 0;
  }

  /** The value used longest ago, or 0: what a limit looks at to drop what has expired. */
  oldest(): number {
    const oldest = this.zone.u32[wordOf(this.head) + Head.oldest]!;
    return oldest === 0 ? 0 : oldest + Entry.BYTES;
  }

  keyOf(value: number): Buffer {
    const entry = value - Entry.BYTES;
    const { u32 } = this.zone;
    const start = value + padded(u32[wordOf(entry) + Entry.valueLength]!);
    return Buffer.from(this.zone.bytes.slice(start, start + u32[wordOf(entry) + Entry.keyLength]!));
  }

  valueLength(value: number): number {
    return this.zone.u32[wordOf(value - Entry.BYTES) + Entry.valueLength]!;
  }

  /** Offsets of all values, the one used last first. */
  *values(): Generator<number> {
    const { u32 } = this.zone;
    for (let entry = u32[wordOf(this.head) + Head.newest]!; entry !== 0; entry = u32[wordOf(entry) + Entry.older]!)
      yield entry + Entry.BYTES;
  }

  /** Offsets of up to `count` values, the one used longest ago first. */
  *fromOldest(count: number): Generator<number> {
    const { u32 } = this.zone;
    let entry = u32[wordOf(this.head) + Head.oldest]!;
    for (let left = count; entry !== 0 && left > 0; left--, entry = u32[wordOf(entry) + Entry.newer]!) yield entry + Entry.BYTES;
  }

  /** Says what does not fit together, for tests: bucket of each entry, both directions of the order, the count. */
  *faults(): Generator<string> {
    const { u32 } = this.zone;
    const found = new Set<number>();
    for (let index = 0; index <= u32[wordOf(this.head) + Head.mask]!; index++) {
      const bucket = wordOf(u32[wordOf(this.head) + Head.buckets]!) + index;
      for (let entry = u32[bucket]!; entry !== 0; entry = u32[wordOf(entry) + Entry.next]!) {
        if (found.has(entry)) yield `entry ${entry} stands twice`;
        found.add(entry);
        if (this.#bucket(u32[wordOf(entry) + Entry.hash]!) !== bucket) yield `entry ${entry} is in the wrong bucket`;
      }
    }
    let newer = 0;
    let ordered = 0;
    for (let entry = u32[wordOf(this.head) + Head.newest]!; entry !== 0; entry = u32[wordOf(entry) + Entry.older]!) {
      if (!found.has(entry)) yield `entry ${entry} is in the order and in no bucket`;
      if (u32[wordOf(entry) + Entry.newer] !== newer) yield `entry ${entry} does not know the newer one`;
      newer = entry;
      if (++ordered > found.size) break;
    }
    if (u32[wordOf(this.head) + Head.oldest] !== newer) yield 'the oldest is not the end of the order';
    if (ordered !== found.size || this.count !== found.size) yield `${found.size} entries, ${ordered} in order, ${this.count} counted`;
  }

  #room(bytes: number, evict: boolean): number {
    for (;;) {
      const entry = this.zone.slab.alloc(bytes);
      if (entry !== 0 || !evict || !this.evict()) return entry;
    }
  }

  #bucket(hash: number): number {
    const words = wordOf(this.head);
    return wordOf(this.zone.u32[words + Head.buckets]!) + ((hash & this.zone.u32[words + Head.mask]!) >>> 0);
  }

  #entry(key: string | Uint8Array): number {
    const { u32, bytes } = this.zone;
    this.#key.set(key, u32[wordOf(this.head) + Head.seed]!);
    const { length, hash } = this.#key;
    for (let entry = u32[this.#bucket(hash)]!; entry !== 0; entry = u32[wordOf(entry) + Entry.next]!) {
      const words = wordOf(entry);
      if (u32[words + Entry.hash] !== hash || u32[words + Entry.keyLength] !== length) continue;
      if (this.#key.equals(bytes, entry + Entry.BYTES + padded(u32[words + Entry.valueLength]!))) return entry;
    }
    return 0;
  }

  #drop(entry: number): void {
    const { u32 } = this.zone;
    let link = this.#bucket(u32[wordOf(entry) + Entry.hash]!);
    while (u32[link] !== entry) link = wordOf(u32[link]!) + Entry.next;
    u32[link] = u32[wordOf(entry) + Entry.next]!;
    this.#unorder(entry);
    u32[wordOf(this.head) + Head.count]!--;
    this.zone.slab.release(entry);
  }

  #order(entry: number): void {
    const { u32 } = this.zone;
    const head = wordOf(this.head);
    const newest = u32[head + Head.newest]!;
    u32[wordOf(entry) + Entry.newer] = 0;
    u32[wordOf(entry) + Entry.older] = newest;
    if (newest === 0) u32[head + Head.oldest] = entry;
    else u32[wordOf(newest) + Entry.newer] = entry;
    u32[head + Head.newest] = entry;
  }

  #unorder(entry: number): void {
    const { u32 } = this.zone;
    const head = wordOf(this.head);
    const newer = u32[wordOf(entry) + Entry.newer]!;
    const older = u32[wordOf(entry) + Entry.older]!;
    u32[newer === 0 ? head + Head.newest : wordOf(newer) + Entry.older] = older;
    u32[older === 0 ? head + Head.oldest : wordOf(older) + Entry.newer] = newer;
  }

  #repair(): void {
    const { u32 } = this.zone;
    const head = wordOf(this.head);
    u32[head + Head.newest] = 0;
    u32[head + Head.oldest] = 0;
    u32[head + Head.count] = 0;
    for (let index = 0; index <= u32[head + Head.mask]!; index++) {
      for (let entry = u32[wordOf(u32[head + Head.buckets]!) + index]!; entry !== 0; entry = u32[wordOf(entry) + Entry.next]!) {
        this.#order(entry);
        u32[head + Head.count]!++;
      }
    }
    u32[head + Head.epoch] = this.zone.epoch;
  }
}

const padded = (bytes: number) => (bytes + 7) & ~7;
