import type { ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import { boundsOf, cumulated } from '../../core/toolkit/figures/bounds.js';
import type { PagedDistribution, PagedFamily, PagedHistogram, PagedSample } from '../../core/toolkit/figures/page.js';
import { timeOf, type Origin } from './readable-spans.js';

/** All metrics in the form of the official packages. */
type ReadableMetrics = Parameters<typeof ProtobufMetricsSerializer.serializeRequest>[0];
type Metric = ReadableMetrics['scopeMetrics'][number]['metrics'][number];
type Point<V> = {
  readonly startTime: [number, number];
  readonly endTime: [number, number];
  readonly attributes: Record<string, string>;
  readonly value: V;
};
interface Buckets {
  readonly buckets: { readonly boundaries: number[]; readonly counts: number[] };
  readonly sum: number;
  readonly count: number;
}

/** One figure, with the family that it is of. */
export interface FigureRecord {
  readonly family: PagedFamily;
  readonly sample: PagedSample<unknown>;
  /** Epoch milliseconds: of the figure, and since when it counts if it does not say so. */
  readonly at: number;
  readonly since: number;
}

/** Of the enumerations of the official packages: ValueType, AggregationTemporality, DataPointType. */
const DOUBLE = 1;
const CUMULATIVE = 1;
const HISTOGRAM = 0;
const GAUGE = 2;
const SUM = 3;

const UNITS = { seconds: 's', bytes: 'By' } as const;

export function metricsOf(figures: readonly FigureRecord[], { resource, instrumentationScope }: Origin): ReadableMetrics {
  const families = Map.groupBy(figures, ({ family }) => family);
  return {
    resource,
    scopeMetrics: [{ scope: instrumentationScope, metrics: Array.from(families, ([family, records]) => metricOf(family, records)) }],
  };
}

function metricOf(family: PagedFamily, records: readonly FigureRecord[]): Metric {
  const { name, help: description, unit, kind } = family;
  const head = {
    descriptor: { name, description, unit: unit === undefined ? '1' : UNITS[unit], valueType: DOUBLE },
    aggregationTemporality: CUMULATIVE,
  };
  if (kind === 'counter')
    return {
      ...head,
      dataPointType: SUM,
      isMonotonic: true,
      dataPoints: records.map((record) => point(record, record.sample[1])),
    } as unknown as Metric;
  if (kind === 'gauge')
    return { ...head, dataPointType: GAUGE, dataPoints: records.map((record) => point(record, record.sample[1])) } as unknown as Metric;
  const value =
    kind === 'distribution'
      ? (sample: unknown) => timesOf(family, sample as PagedDistribution)
      : (sample: unknown) => histogramOf(sample as PagedHistogram);
  return {
    ...head,
    dataPointType: HISTOGRAM,
    dataPoints: records.map((record) => point(record, value(record.sample[1]))),
  };
}

function point<V>({ sample: [labels, , createdAt], at, since }: FigureRecord, value: V): Point<V> {
  return { startTime: timeOf(Math.min(createdAt ?? since, at)), endTime: timeOf(at), attributes: { ...labels }, value };
}

function timesOf(family: Parameters<typeof boundsOf>[0], [sum, ...buckets]: PagedDistribution): Buckets {
  const bounds = boundsOf(family);
  const { counts, count } = cumulated(bounds, buckets);
  return { buckets: { boundaries: bounds.labels.map(Number), counts: each(counts, count) }, sum, count };
}

function histogramOf([sum, count, ...buckets]: PagedHistogram): Buckets {
  const [boundaries, below]: [number[], number[]] = [[], []];
  for (let at = 0; at < buckets.length; at += 2) {
    boundaries.push(buckets[at]!);
    below.push(buckets[at + 1]!);
  }
  return { buckets: { boundaries, counts: each(below, count) }, sum, count };
}

/** Values of each bucket. @param below how many are not above each bound @param count of all */
function each(below: readonly number[], count: number): number[] {
  return [...below, count].map((one, at) => one - (at === 0 ? 0 : below[at - 1]!));
}
