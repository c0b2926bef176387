/** Numbers about the work of a module, over all workers. */

/** Text that tells metrics of one name apart: `{ zone: 'one' }`. */
export type Labels = Readonly<Record<string, string>>;

/** A number that only grows. */
export interface Counter {
  /** @param amount a whole number, 0 or more; 1 by default */
  add(amount?: number): void;
  /** Over all workers, since the server started. */
  readonly value: number;
}

/** A number that rises and falls: each worker has its share, which ends with the worker. Whole numbers up to 2^31 on both sides of zero. */
export interface Gauge {
  /** Sets the share of this worker. */
  set(value: number): void;
  /** Changes the share of this worker. */
  add(amount: number): void;
  /** The sum of all shares. */
  readonly value: number;
}

/** How often values fell into ranges. Values are whole numbers (others are rounded), 0 or more: milliseconds, bytes. */
export interface Histogram {
  observe(value: number): void;
  readonly value: HistogramValue;
}
export interface HistogramValue {
  readonly count: number;
  readonly sum: number;
  /** For each upper bound how many values were not greater. */
  readonly buckets: readonly { readonly bound: number; readonly count: number }[];
}

/** One metric as it is now. */
export type MetricValue = { readonly name: string; readonly labels: Labels } & (
  | { readonly kind: 'counter' | 'gauge'; readonly value: number }
  | { readonly kind: 'histogram'; readonly value: HistogramValue }
);

/**
 * Metrics in shared memory, exact over all workers, with no lock where they count. The same name and labels are the same metric in every
 * thread, so any thread can read it. They may be asked for in the constructor of a module, and used from `start` on.
 *
 * There is room for about 8,000 of them in 1 MB. One more counts in its own thread only, and the log says so.
 */
export abstract class Metrics {
  /** @param name letters, digits, `_` and `:`, with the name of the module in front: `acme_cache_hits_total` @throws RangeError for another name */
  abstract counter(name: string, labels?: Labels): Counter;
  /** @throws RangeError as {@link counter} */
  abstract gauge(name: string, labels?: Labels): Gauge;
  /** @param bounds upper bounds of the ranges, in order; what is above the last one counts too @throws RangeError as {@link counter} */
  abstract histogram(name: string, bounds: readonly number[], labels?: Labels): Histogram;
  /** All that some thread has used. */
  abstract read(): MetricValue[];
}
