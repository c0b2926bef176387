import { Distribution, bucketOf } from '../contract/distribution.js';
import type { FigureRow, FigureTable, FigureTotals, RowShape } from '../contract/figures.js';
import type { MetricScope } from '../contract/metrics.js';
import { cellsOf, DISTRIBUTION_CELLS, FigureMemory, type ListedRow } from './figure-memory.js';
import type { Now } from './records.js';
import type { Zone } from './zone.js';

/** Rows that are listed at a time: a few tenths of a millisecond with the lock. */
const PIECE = 1000;

/** The rows of a zone as one thread has them. */
export class SharedFigures implements FigureTable {
  readonly #rows = new Map<string, LaneRow>();
  readonly #listed = new Map<number, Totals>();
  #totals: Totals[] = [];
  #keys: ReadonlySet<string> = new Set();
  #keysOf: readonly FigureTotals[] = [];
  /** {@link FigureMemory.changes} when all rows were listed; -1: they were not yet. */
  #changes = -1;

  constructor(
    private readonly rowMemory: FigureMemory,
    private readonly thread: number,
    private readonly clock: Now,
  ) {}

  /** Undefined: the zone is too small. @param worker 0-based; -1: the main thread @param workers that there are places for */
  static open(zone: Zone, worker: number, workers: number, clock: Now): SharedFigures | undefined {
    const memory = FigureMemory.open(zone, workers + 1);
    return memory && new SharedFigures(memory, worker + 1, clock);
  }

  /** Ends the share of a worker that died, in a zone that may have figures. */
  static dropWorker(zone: Zone, worker: number, workers: number): void {
    if (worker >= 0 && worker < workers) FigureMemory.find(zone, workers + 1)?.drop(worker + 1);
  }

  get rejected(): number {
    return this.rowMemory.rejected;
  }

  get limited(): number {
    return this.rowMemory.limited;
  }

  get memory(): FigureTable['memory'] {
    const { used, free } = this.rowMemory.zone.slab;
    return { size: used + free, used };
  }

  get endings(): number {
    return this.rowMemory.endings;
  }

  held(key: string, shape: RowShape, scope: MetricScope): FigureRow {
    const row = this.#rows.get(key) ?? this.#hold(key, shape) ?? new LaneRow(this.rowMemory, 0, shape, this.thread);
    row.scopes++;
    const release = (): void => {
      if (--row.scopes === 0) this.#release(key, row);
    };
    scope.register({ abort: release, release });
    return row;
  }

  row(key: string, shape: RowShape, most?: number): FigureRow | undefined {
    const known = this.#rows.get(key);
    if (known !== undefined) return known;
    if (most !== undefined && this.rowMemory.limited >= most && !this.#isListed(key)) return undefined;
    return this.#hold(key, shape, { most });
  }

  trim(): boolean {
    let hasReleased = false;
    for (const [key, row] of this.#rows) {
      if (row.scopes > 0 || !this.rowMemory.isEnded(row.offset)) continue;
      this.#release(key, row);
      hasReleased = true;
    }
    return hasReleased;
  }

  totals(): readonly FigureTotals[] {
    const { changes } = this.rowMemory;
    if (changes === this.#changes) return this.#totals;
    const rows = this.rowMemory.list(this.#listed, PIECE);
    for (const { offset, number, key } of rows) this.#listed.set(offset, new Totals(this.rowMemory, { offset, number }, key, this.clock));
    this.#totals = [...this.#listed.values()].sort((one, other) => one.number - other.number);
    this.#changes = rows.length < PIECE ? changes : -1;
    return this.#totals;
  }

  end(row: FigureTotals): void {
    const listed = this.#known(row);
    if (listed !== undefined) this.rowMemory.end(listed.offset);
  }

  sweep(rows: readonly FigureTotals[]): void {
    const ended = rows.map((row) => this.#known(row)).filter((row) => row !== undefined && row.hasEnded);
    if (ended.length === 0) return;
    for (const { offset } of this.rowMemory.remove(ended as readonly ListedRow[])) this.#listed.delete(offset);
  }

  /** A row exists, as the last list says, which is made again when rows were made or removed: clients that name ever new keys cost no lock. */
  #isListed(key: string): boolean {
    let rows = this.totals();
    // The rest of a long list.
    while (this.#changes < 0) rows = this.totals();
    if (this.#keysOf !== rows) {
      this.#keys = new Set(rows.map((row) => row.key));
      this.#keysOf = rows;
    }
    return this.#keys.has(key);
  }

  #known(row: FigureTotals): Totals | undefined {
    return row instanceof Totals && this.#listed.get(row.offset) === row ? row : undefined;
  }

  #hold(key: string, shape: RowShape, found?: { readonly most: number | undefined }): LaneRow | undefined {
    const offset = this.rowMemory.hold(key, shape, this.thread, found);
    if (offset === 0) return undefined;
    const row = new LaneRow(this.rowMemory, offset, shape, this.thread);
    this.#rows.set(key, row);
    return row;
  }

  #release(key: string, row: LaneRow): void {
    if (this.#rows.get(key) === row) this.#rows.delete(key);
    row.leave();
    if (row.offset !== 0) this.rowMemory.release(row.offset, this.thread);
  }
}

/** A row as one thread counts in it. */
class LaneRow implements FigureRow {
  /** Active scopes that hold it; 0: it was found while requests ran. */
  scopes = 0;
  readonly #counters: number;
  readonly #first: number;
  #cells: Float64Array | undefined;
  #isShared: boolean;

  constructor(
    private readonly memory: FigureMemory,
    /** 0: there is no room for it. */
    readonly offset: number,
    private readonly shape: RowShape,
    private readonly lane: number,
  ) {
    this.#counters = shape.counters;
    this.#first = shape.counters + shape.gauges;
    this.#isShared = offset !== 0;
  }

  add(counter: number, amount: number): void {
    const cells = this.#cells ?? this.#found();
    cells[counter] = cells[counter]! + amount;
  }

  move(gauge: number, amount: number): void {
    const cells = this.#cells ?? this.#found();
    const cell = this.#counters + gauge;
    cells[cell] = cells[cell]! + amount;
  }

  observe(distribution: number, value: number): void {
    const cells = this.#cells ?? this.#found();
    const first = this.#first + distribution * DISTRIBUTION_CELLS;
    const cell = first + 1 + bucketOf(value);
    cells[first] = cells[first]! + value;
    cells[cell] = cells[cell]! + 1;
  }

  total(counter: number): number {
    return this.#isShared ? this.memory.sum(this.offset, counter) : (this.#cells?.[counter] ?? 0);
  }

  /** The memory is not this thread's any more. Later counts are lost. */
  leave(): void {
    this.#isShared = false;
    this.#cells = new Float64Array(cellsOf(this.shape));
  }

  #found(): Float64Array {
    const found = this.offset === 0 ? undefined : this.memory.lane(this.offset, this.lane);
    return (this.#cells = found ?? new Float64Array(cellsOf(this.shape)));
  }
}

/** A row over all threads. */
class Totals implements FigureTotals, ListedRow {
  readonly offset: number;
  readonly number: number;
  readonly #shape: RowShape;

  constructor(
    private readonly memory: FigureMemory,
    { offset, number }: ListedRow,
    readonly key: string,
    private readonly clock: Now,
  ) {
    this.offset = offset;
    this.number = number;
    this.#shape = memory.shapeOf(offset);
  }

  get createdAt(): number {
    return this.memory.createdAt(this.offset);
  }

  get hasEnded(): boolean {
    return !this.memory.isHeld(this.offset);
  }

  counter(counter: number): number {
    return this.memory.sum(this.offset, counter);
  }

  counters(first: number, length: number, into?: Float64Array): Float64Array {
    return this.memory.sums(this.offset, first, into ?? new Float64Array(length));
  }

  gauge(gauge: number): number {
    return this.memory.sum(this.offset, this.#shape.counters + gauge);
  }

  distribution(distribution: number, into = new Distribution()): Distribution {
    const { counters, gauges } = this.#shape;
    const first = counters + gauges + distribution * DISTRIBUTION_CELLS;
    into.sum = this.memory.sum(this.offset, first);
    this.memory.sums(this.offset, first + 1, into.counts);
    return into;
  }

  reset(): void {
    this.memory.reset(this.offset, this.clock.now);
  }
}
