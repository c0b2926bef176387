import { Counters } from './counters.js';
import { HashTable } from './hash-table.js';
import { LANE_BYTES, sumOf, sumOfLanes } from './metric-kinds.js';
import { wordOf } from './offsets.js';
import type { Zone } from './zone.js';

/** Kinds of memory: sums of 64 bits, a word for each thread, or a number for each thread. */
export type MetricMemoryKind = 'sums' | 'shares' | 'lanes';

/** Header of a metric: the offset of its group, and its kind of memory. */
const HEADER = 8;
const SUMS = 1;
const SHARES = 2;
const LANES = 3;
const KINDS: Readonly<Record<MetricMemoryKind, number>> = { sums: SUMS, shares: SHARES, lanes: LANES };

/**
 * Metrics and their groups in a zone. A group says which threads hold it, a bit each. When none does, its metrics are removed: what holds no
 * group must not use its memory.
 *
 * A thread that dies half way leaves a metric without a group at most, which goes with the next group that ends.
 */
export class MetricMemory {
  readonly #metrics: HashTable;
  readonly #groups: HashTable;

  /** @param threads that there are places for @throws RangeError if the zone is too small */
  constructor(
    readonly zone: Zone,
    private readonly threads: number,
  ) {
    const metrics = HashTable.open(zone, 'metrics', { entries: 4096 });
    const groups = HashTable.open(zone, 'metric groups', { entries: 512 });
    if (metrics === undefined || groups === undefined) throw new RangeError('no room for the table of metrics');
    this.#metrics = metrics;
    this.#groups = groups;
  }

  /** A thread uses metrics of the group from now on. False: the zone is full. */
  hold(group: string, thread: number): boolean {
    return this.#locked(() => {
      const offset = this.#groups.find(group, false) || this.#groups.insert(group, Math.ceil(this.threads / 32) * 4);
      if (offset === 0) return false;
      this.zone.u32[wordOf(offset) + (thread >>> 5)]! |= bitOf(thread);
      return true;
    });
  }

  /** True: no thread holds the group any more, and {@link sweep} removes it. */
  release(group: string, thread: number): boolean {
    return this.#locked(() => {
      const offset = this.#groups.find(group, false);
      if (offset === 0) return false;
      this.zone.u32[wordOf(offset) + (thread >>> 5)]! &= ~bitOf(thread);
      return !this.#isHeld(offset);
    });
  }

  /** The offset of a metric, which is made if it is new. 0: its group is not held, or the zone is full. */
  place(group: string, key: string, kind: MetricMemoryKind, bytes: number): number {
    return this.#locked(() => {
      const owner = this.#groups.find(group, false);
      if (owner === 0) return 0;
      const offset = this.#metrics.find(key, false) || this.#metrics.insert(key, HEADER + bytes);
      if (offset === 0) return 0;
      this.zone.u32[wordOf(offset)] = owner;
      this.zone.u32[wordOf(offset) + 1] = KINDS[kind];
      return offset + HEADER;
    });
  }

  /** Removes groups that no thread holds, with their metrics. */
  sweep(): void {
    this.#locked(() => this.#sweep());
  }

  /** Ends what a thread that died has held, and its share of metrics of shares. */
  drop(thread: number): void {
    this.#locked(() => {
      const { u32, i32 } = this.zone;
      for (const group of this.#groups.values()) u32[wordOf(group) + (thread >>> 5)]! &= ~bitOf(thread);
      this.#sweep();
      for (const offset of this.#metrics.values())
        if (u32[wordOf(offset) + 1] === SHARES) Atomics.store(i32, wordOf(offset + HEADER) + thread, 0);
    });
  }

  /** All metrics by their keys: their sums, or one sum of all shares. */
  read(): (readonly [key: string, amounts: readonly number[]])[] {
    return this.#locked(() =>
      Array.from(this.#metrics.values(), (offset) => [this.#metrics.keyOf(offset).toString(), this.#amounts(offset)]),
    );
  }

  #amounts(offset: number): number[] {
    const { buffer, start, u32 } = this.zone;
    const length = this.#metrics.valueLength(offset) - HEADER;
    const place = start + offset + HEADER;
    const kind = u32[wordOf(offset) + 1];
    if (kind === SHARES) return [sumOf(new Int32Array(buffer, place, length / 4), length / 4)];
    if (kind === LANES) return [sumOfLanes(new Float64Array(buffer, place, length / LANE_BYTES))];
    const sums = new Counters(buffer, place, length / Counters.BYTES);
    return Array.from({ length: sums.length }, (_, at) => sums.read(at));
  }

  #sweep(): void {
    const { u32 } = this.zone;
    const ended = new Set([0]);
    for (const group of this.#groups.values()) if (!this.#isHeld(group)) ended.add(group);
    const metrics = Array.from(this.#metrics.values()).filter((offset) => ended.has(u32[wordOf(offset)]!));
    for (const offset of metrics) this.#metrics.removeAt(offset);
    ended.delete(0);
    for (const group of ended) this.#groups.removeAt(group);
  }

  #isHeld(group: number): boolean {
    const words = this.zone.u32.subarray(wordOf(group), wordOf(group) + Math.ceil(this.threads / 32));
    return words.some((word) => word !== 0);
  }

  #locked<T>(step: () => T): T {
    this.zone.enter();
    try {
      this.#metrics.check();
      this.#groups.check();
      return step();
    } finally {
      this.zone.leave();
    }
  }
}

const bitOf = (thread: number): number => 1 << (thread & 31);
