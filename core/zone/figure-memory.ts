import { BUCKETS } from '../contract/distribution.js';
import type { RowShape } from '../contract/figures.js';
import { HashTable } from './hash-table.js';
import { numberOf, wordOf } from './offsets.js';
import type { Zone } from './zone.js';

/** Cells of a distribution: the sum of its values, then its buckets. */
export const DISTRIBUTION_CELLS = BUCKETS + 1;

export const cellsOf = ({ counters, gauges, distributions }: RowShape): number => counters + gauges + distributions * DISTRIBUTION_CELLS;

/** Words of the head of all rows: changes of what rows there are, rows that had no room, rows that were made with a limit, and how often a row may have ended. */
const Head = { changes: 0, rejected: 1, limited: 2, endings: 3, BYTES: 16 } as const;
/** Words of a row; the bits of its holders and the offsets of its lanes follow. The moment is a number of 8 bytes. */
const Row = { created: 0, flags: 2, number: 3, counters: 4, gauges: 5, distributions: 6, BYTES: 32 } as const;
const ENDED = 1;
const LIMITED = 2;
/** Made while requests ran: it stays without a holder, because its workers may have died, until it is marked as ended. */
const FOUND = 4;

const TABLE = 'figures';

/** How a row came to be: `held` by the configuration, or `found` by requests, with a limit or without. */
export type MadeAs = 'held' | 'found' | 'limited';

/** A row as it was listed. */
export interface ListedRow {
  readonly offset: number;
  /** Another one with each row, also where one is made in the memory of another. */
  readonly number: number;
}

/**
 * Rows of figures in a zone. A row has a lane for each thread that has counted in it, which that thread alone writes, and one more that is subtracted from
 * their sum (a reset). All methods take the lock of the zone, apart from reads of a lane.
 *
 * Only the main thread removes rows, and only rows without a holder; rows found by requests only if they were ended, too.
 */
export class FigureMemory {
  readonly #holderWords: number;

  private constructor(
    readonly zone: Zone,
    private readonly table: HashTable,
    private readonly head: number,
    /** Threads that there are places for, the main thread included. */
    readonly threads: number,
  ) {
    this.#holderWords = Math.ceil(threads / 32);
  }

  /** Undefined: the zone is too small. */
  static open(zone: Zone, threads: number): FigureMemory | undefined {
    const table = HashTable.open(zone, TABLE, { entries: Math.min(Math.max(Math.floor(zone.size / 4096), 8), 16_384) });
    return table && FigureMemory.#of(zone, table, threads);
  }

  /** The rows in a zone, if there are any. */
  static find(zone: Zone, threads: number): FigureMemory | undefined {
    const table = HashTable.find(zone, TABLE);
    return table && FigureMemory.#of(zone, table, threads);
  }

  static #of(zone: Zone, table: HashTable, threads: number): FigureMemory | undefined {
    zone.enter();
    try {
      let head = zone.directory.find(TABLE);
      if (head === 0) {
        head = zone.slab.calloc(Head.BYTES);
        if (head !== 0 && !zone.directory.add(TABLE, head)) {
          zone.slab.release(head);
          head = 0;
        }
      }
      return head === 0 ? undefined : new FigureMemory(zone, table, head, threads);
    } finally {
      zone.leave();
    }
  }

  /** Changes with each row that is made or removed. */
  get changes(): number {
    return this.zone.u32[wordOf(this.head) + Head.changes]!;
  }

  get rejected(): number {
    return this.zone.u32[wordOf(this.head) + Head.rejected]!;
  }

  /** Another number when a row may have ended. */
  get endings(): number {
    return Atomics.load(this.zone.u32, wordOf(this.head) + Head.endings);
  }

  /** Rows that were made with a limit. */
  get limited(): number {
    return Atomics.load(this.zone.u32, wordOf(this.head) + Head.limited);
  }

  /**
   * A thread holds the row from now on; it is made if it is new. 0: there is no room.
   * @param found absent: the configuration names it
   * @param found.most rows with a limit that there may be
   */
  hold(key: string, shape: RowShape, thread: number, found?: { readonly most: number | undefined }): number {
    return this.#locked(() => {
      const known = this.table.find(key, false);
      const isLimited = found?.most !== undefined;
      if (known === 0 && isLimited && this.limited >= found.most) return 0;
      const row = known || this.#insert(key, shape, (found ? FOUND : 0) | (isLimited ? LIMITED : 0));
      if (row === 0) {
        this.zone.u32[wordOf(this.head) + Head.rejected]!++;
        return 0;
      }
      const words = wordOf(row);
      this.zone.u32[words + Row.flags]! &= ~ENDED;
      this.zone.u32[this.#holderWord(row, thread)]! |= bitOf(thread);
      return row;
    });
  }

  release(row: number, thread: number): void {
    this.#locked(() => void (this.zone.u32[this.#holderWord(row, thread)]! &= ~bitOf(thread)));
    this.#mayHaveEnded();
  }

  /** The lane of a thread in a row that the thread holds: the cells of the zone from there on. Undefined: there is no room. */
  lane(row: number, lane: number): Float64Array | undefined {
    return this.#locked(() => {
      const word = this.#laneWord(row, lane);
      const cells = cellsOf(this.shapeOf(row));
      const { u32, slab } = this.zone;
      if (u32[word] === 0) {
        const offset = slab.calloc(cells * 8);
        u32[word] = offset;
        if (offset === 0) u32[wordOf(this.head) + Head.rejected]!++;
      }
      return u32[word] === 0 ? undefined : this.#cells(u32[word]!, cells);
    });
  }

  madeAs(row: number): MadeAs {
    const flags = this.zone.u32[wordOf(row) + Row.flags]!;
    return (flags & LIMITED) !== 0 ? 'limited' : (flags & FOUND) !== 0 ? 'found' : 'held';
  }

  /**
   * The row of a key that another program had; one that requests had found is made, where it is new. 0: there is none, or it has other figures.
   * @param created when the row of the other program was made (epoch milliseconds)
   */
  receive(key: string, shape: RowShape, made: MadeAs, created: number): number {
    return this.#locked(() => {
      const flags = made === 'held' ? 0 : FOUND | (made === 'limited' ? LIMITED : 0);
      const row = this.table.find(key, false) || (flags === 0 ? 0 : this.#insert(key, shape, flags));
      if (row === 0 || !isSame(this.shapeOf(row), shape)) return 0;
      this.zone.f64[numberOf(row)] = Math.min(this.createdAt(row), created);
      return row;
    });
  }

  /** Rows in the order in which they were made, apart from those in `known`; `most` of them at most. */
  list(known: ReadonlyMap<number, ListedRow>, most: number): (ListedRow & { readonly key: string })[] {
    return this.#locked(() => {
      const rows: (ListedRow & { readonly key: string })[] = [];
      for (const offset of this.table.values()) {
        const number = this.zone.u32[wordOf(offset) + Row.number]!;
        if (known.get(offset)?.number === number) continue;
        rows.push({ offset, number, key: this.table.keyOf(offset).toString() });
        if (rows.length >= most) break;
      }
      return rows.reverse();
    });
  }

  /** Marks a row: its holders release it. */
  end(row: number): void {
    Atomics.or(this.zone.u32, wordOf(row) + Row.flags, ENDED);
    this.#mayHaveEnded();
  }

  /** True if a row that this thread holds was ended. */
  isEnded(row: number): boolean {
    return (Atomics.load(this.zone.u32, wordOf(row) + Row.flags) & ENDED) !== 0;
  }

  /** False: it may be removed. */
  isHeld(row: number): boolean {
    const flags = Atomics.load(this.zone.u32, wordOf(row) + Row.flags);
    if ((flags & (FOUND | ENDED)) === FOUND) return true;
    const first = this.#holderWord(row, 0);
    for (let word = first; word < first + this.#holderWords; word++) if (Atomics.load(this.zone.u32, word) !== 0) return true;
    return false;
  }

  /** Removes those of these rows that are not held. @returns them */
  remove(rows: readonly ListedRow[]): readonly ListedRow[] {
    return this.#locked(() => {
      const { u32, slab } = this.zone;
      const removed = rows.filter(({ offset }) => !this.isHeld(offset));
      for (const { offset } of removed) {
        for (let lane = 0; lane <= this.threads; lane++) {
          const word = this.#laneWord(offset, lane);
          if (u32[word] !== 0) slab.release(u32[word]!);
        }
        if ((u32[wordOf(offset) + Row.flags]! & LIMITED) !== 0) u32[wordOf(this.head) + Head.limited]!--;
        this.table.removeAt(offset);
        u32[wordOf(this.head) + Head.changes]!++;
      }
      return removed;
    });
  }

  /** Ends what a thread that died has held, and its share of gauges. */
  drop(thread: number): void {
    this.#locked(() => {
      for (const row of this.table.values()) {
        this.zone.u32[this.#holderWord(row, thread)]! &= ~bitOf(thread);
        const { counters, gauges } = this.shapeOf(row);
        const lane = this.zone.u32[this.#laneWord(row, thread)]!;
        if (lane !== 0) this.#cells(lane, counters + gauges).fill(0, counters);
      }
    });
    this.#mayHaveEnded();
  }

  /** Moment in epoch milliseconds. */
  createdAt(row: number): number {
    return this.zone.f64[numberOf(row)]!;
  }

  shapeOf(row: number): RowShape {
    const { u32 } = this.zone;
    const words = wordOf(row);
    return { counters: u32[words + Row.counters]!, gauges: u32[words + Row.gauges]!, distributions: u32[words + Row.distributions]! };
  }

  /** A cell over all lanes, less the subtraction of a reset. */
  sum(row: number, cell: number): number {
    const { u32, f64 } = this.zone;
    const first = this.#laneWord(row, 0);
    let sum = 0;
    for (let lane = 0; lane < this.threads; lane++) {
      const offset = u32[first + lane]!;
      if (offset !== 0) sum += f64[numberOf(offset) + cell]!;
    }
    const subtracted = u32[first + this.threads]!;
    return subtracted === 0 ? sum : sum - f64[numberOf(subtracted) + cell]!;
  }

  /** Cells beside each other, as many as there is room for, each as {@link sum}; lane by lane: most lanes of most rows do not exist. @returns `sums` */
  sums(row: number, first: number, sums: Float64Array): Float64Array {
    const { u32, f64 } = this.zone;
    const { length } = sums;
    const lanes = this.#laneWord(row, 0);
    sums.fill(0);
    for (let lane = 0; lane <= this.threads; lane++) {
      const offset = u32[lanes + lane]!;
      if (offset === 0) continue;
      const sign = lane === this.threads ? -1 : 1;
      const cells = numberOf(offset) + first;
      for (let at = 0; at < length; at++) sums[at]! += sign * f64[cells + at]!;
    }
    return sums;
  }

  /** Subtracts from now on what was counted so far. */
  reset(row: number, now: number): void {
    const { counters, gauges } = this.shapeOf(row);
    const subtracted = this.lane(row, this.threads);
    if (subtracted === undefined) return;
    for (let cell = 0; cell < subtracted.length; cell++)
      if (cell < counters || cell >= counters + gauges) subtracted[cell]! += this.sum(row, cell);
    this.zone.f64[numberOf(row)] = now;
  }

  #mayHaveEnded(): void {
    Atomics.add(this.zone.u32, wordOf(this.head) + Head.endings, 1);
  }

  #insert(key: string, shape: RowShape, flags: number): number {
    const row = this.table.insert(key, Row.BYTES + (this.#holderWords + this.threads + 1) * 4);
    if (row === 0) return 0;
    const { u32, f64 } = this.zone;
    const words = wordOf(row);
    const changes = ++u32[wordOf(this.head) + Head.changes]!;
    f64[numberOf(row)] = Date.now();
    u32[words + Row.number] = changes;
    u32[words + Row.flags] = flags;
    if ((flags & LIMITED) !== 0) u32[wordOf(this.head) + Head.limited]!++;
    u32[words + Row.counters] = shape.counters;
    u32[words + Row.gauges] = shape.gauges;
    u32[words + Row.distributions] = shape.distributions;
    return row;
  }

  #cells(offset: number, length: number): Float64Array {
    return this.zone.f64.subarray(numberOf(offset), numberOf(offset) + length);
  }

  #holderWord(row: number, thread: number): number {
    return wordOf(row + Row.BYTES) + (thread >>> 5);
  }

  #laneWord(row: number, lane: number): number {
    return wordOf(row + Row.BYTES) + this.#holderWords + lane;
  }

  #locked<T>(step: () => T): T {
    this.zone.enter();
    try {
      this.table.check();
      return step();
    } finally {
      this.zone.leave();
    }
  }
}

const bitOf = (thread: number): number => 1 << (thread & 31);

function isSame(one: RowShape, other: RowShape): boolean {
  return one.counters === other.counters && one.gauges === other.gauges && one.distributions === other.distributions;
}
