/** Numbers about the work of a module, over all workers. */
import type { Resource } from './resource.js';

/** Text that distinguishes metrics of one name: `{ zone: 'one' }`. */
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

/** Makes metrics. The same name and labels are the same metric in every thread, so that any thread can read it. */
export interface MetricKinds {
  /** @param name letters, digits, `_` and `:`, with the name of the module in front: `acme_cache_hits_total` @throws RangeError for another name */
  counter(name: string, labels?: Labels): Counter;
  /** @throws RangeError as {@link counter} */
  gauge(name: string, labels?: Labels): Gauge;
  /** @param bounds upper bounds of the ranges, in order; what is above the last one counts too @throws RangeError as {@link counter} */
  histogram(name: string, bounds: readonly number[], labels?: Labels): Histogram;
}

/**
 * Metrics in shared memory, exact over all workers, with no lock where they count. They may be asked for in the constructor of a module, and used
 * from `start` on. They end with the module: when no thread runs it any more, their memory is free for others. A worker that dies ends its share of
 * gauges and nothing else.
 *
 * There is room for about 7,000 of them in 1 MB. One more counts in its own thread only, and the log says so.
 */
export abstract class Metrics implements MetricKinds {
  abstract counter(name: string, labels?: Labels): Counter;
  abstract gauge(name: string, labels?: Labels): Gauge;
  abstract histogram(name: string, bounds: readonly number[], labels?: Labels): Histogram;
  /**
   * Metrics of something that the configuration names, such as a zone: they end when no scope that has asked for the group is active and the last
   * request of these scopes is over. All threads and scopes of a module that name a group have the same one. For `compile`, in every thread.
   * @param name of the group within this module
   */
  abstract group(name: string, scope: MetricScope): MetricKinds;
  /** All that some thread has used, by name. Metrics of several groups or modules with one name and the same labels are summed up. */
  abstract read(): MetricValue[];
}

/** A {@link BlockScope}, which says how long something is active. */
export interface MetricScope {
  register(resource: Resource): void;
}
