/** Figures of modules for monitoring: what `/metrics` shows, and whatever else reads all of them. */
import type { Distribution } from './distribution.js';
import type { Labels } from './metrics.js';

/** One figure of a family. */
export interface Sample<V = number> {
  readonly labels: Labels;
  readonly value: V;
  /** Since when it counts (epoch milliseconds). Absent: since the server started, or it does not count. */
  readonly createdAt?: number;
}

/** A value of a distribution, and the trace of the request that it is of. */
export interface Exemplar {
  /** Milliseconds, whole. */
  readonly value: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
}

/** Its value may be overwritten with that of the next sample: a reader does not keep it. */
export interface DistributionSample extends Sample<Distribution> {
  /** One for each power of two at most. Absent: there are none. */
  readonly exemplars?: readonly Exemplar[];
}

interface FamilyHead {
  /** Without the unit, and without `_total`: `srv_http_requests`. The same in every module that has samples of the family. */
  readonly name: string;
  /** Description, one sentence. */
  readonly help: string;
  /** Unit in which it is shown. Values are milliseconds for `seconds`, and bytes for `bytes`. Absent: a number of something. */
  readonly unit?: 'seconds' | 'bytes';
  /** One for each of many things, such as members: distributions are shown with fewer buckets. */
  readonly isNumerous?: boolean;
}

/**
 * Samples of one name. They are made while they are iterated, so that a reader can pause between any two of them to let others run: it should after a
 * few hundred, and after each 20 distributions. `undefined` is no sample, but a place for a pause: where there is much to look at and little to show.
 */
export type FigureFamily =
  | (FamilyHead & { readonly kind: 'counter' | 'gauge'; readonly samples: Iterable<Sample | undefined> })
  | (FamilyHead & { readonly kind: 'distribution'; readonly samples: Iterable<DistributionSample | undefined> });

/** Families that are collected at one moment; {@link done} says that they were read to the end. */
export interface Collection {
  readonly families: Iterable<FigureFamily>;
  /** The reader has all samples: what was removed from the configuration meanwhile may go. Absent: nothing waits for it. */
  readonly done?: () => void;
}

/** The figures of all modules in the main thread. */
export abstract class Families {
  /** Adds families, from the start of the module to its end. @param collect called for each reader; must not take long, as `samples` are read later */
  abstract provide(collect: () => Collection): void;
  /** Families of all modules. The same name may come several times, from several modules. */
  abstract collect(): Required<Collection>;
}
