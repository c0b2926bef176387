/** Figures on their way from the data plane to the control plane, as JSON. */
import type { Labels } from '../../contract/metrics.js';

/** Sum of a distribution in its unit, and in turn the number of a bucket and how many values it has, of buckets with values. */
export type PagedDistribution = readonly [sum: number, ...buckets: number[]];
/** Sum, number of values, and in turn an upper bound and how many values were not greater. */
export type PagedHistogram = readonly [sum: number, count: number, ...buckets: number[]];

/** A value in the unit of its family, epoch milliseconds, and the trace. */
export type PagedExemplar = readonly [value: number, at: number, traceId: string, spanId: string];

/** @param createdAt epoch milliseconds; absent or null: unknown */
export type PagedSample<V> = readonly [labels: Labels, value: V, createdAt?: number | null, exemplars?: readonly PagedExemplar[]];

interface PagedHead {
  /** Without unit and `_total`. */
  readonly name: string;
  readonly help: string;
  readonly unit?: 'seconds' | 'bytes' | undefined;
}

/** A part of a family, or all of it. */
export type PagedFamily = PagedHead &
  (
    | { readonly kind: 'counter' | 'gauge'; readonly samples: readonly PagedSample<number>[] }
    | {
        readonly kind: 'distribution';
        readonly isNumerous?: boolean | undefined;
        readonly samples: readonly PagedSample<PagedDistribution>[];
      }
    | { readonly kind: 'histogram'; readonly samples: readonly PagedSample<PagedHistogram>[] }
  );

export interface FigurePage {
  /** In their order. The first one may go on from the page before. */
  readonly families: readonly PagedFamily[];
  /** For the next page; absent: this is the last one. */
  readonly next?: string;
}
