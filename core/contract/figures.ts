/** Many figures under one key in shared memory: written by each worker on its own, read by the main thread. */
import type { Distribution } from './distribution.js';
import type { MetricScope } from './metrics.js';

/** How many figures of each kind a row has. All rows of one key have the same. */
export interface RowShape {
  /** Numbers that only grow. */
  readonly counters: number;
  /** Numbers that rise and fall; the share of a worker that dies is dropped. */
  readonly gauges: number;
  readonly distributions: number;
}

/** The figures of one key as a worker counts them: one addition to memory that no other thread writes, no lock. */
export interface FigureRow {
  /** Adds to a counter. @param counter from 0 on @param amount 0 or more */
  add(counter: number, amount: number): void;
  /** Changes the share of this worker in a gauge. */
  move(gauge: number, amount: number): void;
  /** Counts a value: whole, 0 or more. */
  observe(distribution: number, value: number): void;
  /** A counter over all threads: it reads the memory. */
  total(counter: number): number;
}

/** The figures of one key over all workers, dead ones included. For the main thread; each call reads the memory. */
export interface FigureTotals {
  readonly key: string;
  /** When the row was made, or reset last (epoch milliseconds). */
  readonly createdAt: number;
  /** No thread holds it any more, and one found by requests was ended: the next {@link FigureTable.sweep} removes it. */
  readonly hasEnded: boolean;
  counter(counter: number): number;
  /** Counters beside each other: less work than one by one. @param into where they are written, as long as `length`: readers of many rows use one */
  counters(first: number, length: number, into?: Float64Array): Float64Array;
  gauge(gauge: number): number;
  /** @param into what is overwritten with it, and returned: readers of many rows use one */
  distribution(distribution: number, into?: Distribution): Distribution;
  /** Sets all counters and distributions to zero: what was counted so far is subtracted from now on. No worker is concerned. */
  reset(): void;
}

/**
 * Rows of figures by key in a zone. A row takes memory in a worker when it is first counted in. It survives reloads and the death of workers. One of the
 * configuration ends when no thread holds it, one found by requests when it was ended, too: then it can still be read, until {@link sweep}.
 */
export interface FigureTable {
  /**
   * A row of something that the configuration names: held while the scope is active, or requests of it are under way. Without room it
   * counts in memory of this thread alone, which is not read ({@link rejected}). For `compile`, in every thread.
   */
  held(key: string, shape: RowShape, scope: MetricScope): FigureRow;
  /**
   * A row of a key that is found while requests run. Held by this worker until the main thread has ended it ({@link end}, {@link trim}). Undefined: there is
   * no room. Not to be retained beyond {@link trim}.
   * @param most rows that there may be with such a limit, over all workers and keys: one more is undefined, without a lock. Absent: it is not one of them
   */
  row(key: string, shape: RowShape, most?: number): FigureRow | undefined;
  /** In workers, now and then: releases the rows that were ended. True if there were some: rows that {@link row} has returned are invalid then. */
  trim(): boolean;
  /** Rows that were not made because the zone had no room. */
  readonly rejected: number;
  /** Rows that were made with a limit. */
  readonly limited: number;
  /** Bytes of the zone. */
  readonly memory: { readonly size: number; readonly used: number };
  /** Another number when a row may have ended ({@link FigureTotals.hasEnded}): as long as it is the same, none has. */
  readonly endings: number;
  /** All rows, the oldest first. In the main thread. The first call, and one after many rows were made, takes them in pieces: lists those of the pieces so far. */
  totals(): readonly FigureTotals[];
  /** Ends a row that {@link row} has made: workers release it. */
  end(row: FigureTotals): void;
  /** Removes those of these rows that no thread holds, and did not when they were listed. */
  sweep(rows: readonly FigureTotals[]): void;
}
