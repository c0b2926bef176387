import protobuf from 'protobufjs/minimal.js';
import type { Labels } from '../../core/contract/metrics.js';
import { boundsOf, cumulated } from '../../core/toolkit/figures/bounds.js';
import { LABEL, type Exposition } from './exposition.js';
import { nativeHistogram, SCHEMA } from './native-histogram.js';
import type { PagedDistribution, PagedExemplar, PagedFamily, PagedHistogram, PagedSample } from '../../core/toolkit/figures/page.js';

type Writer = protobuf.Writer;

/** Numbers of the fields of io.prometheus.client (metrics.proto of Prometheus's client model), and their types on the wire. */
const enum Wire {
  Varint,
  Double,
  Bytes,
}
const tag = (field: number, wire: Wire): number => (field << 3) | wire;
const Family = {
  name: tag(1, Wire.Bytes),
  help: tag(2, Wire.Bytes),
  type: tag(3, Wire.Varint),
  metric: tag(4, Wire.Bytes),
  unit: tag(5, Wire.Bytes),
};
const Metric = { label: tag(1, Wire.Bytes), gauge: tag(2, Wire.Bytes), counter: tag(3, Wire.Bytes), histogram: tag(7, Wire.Bytes) };
const Pair = { name: tag(1, Wire.Bytes), value: tag(2, Wire.Bytes) };
const Single = { value: tag(1, Wire.Double), created: tag(3, Wire.Bytes) };
const Histogram = {
  count: tag(1, Wire.Varint),
  sum: tag(2, Wire.Double),
  bucket: tag(3, Wire.Bytes),
  schema: tag(5, Wire.Varint),
  zeroThreshold: tag(6, Wire.Double),
  zeroCount: tag(7, Wire.Varint),
  span: tag(12, Wire.Bytes),
  delta: tag(13, Wire.Varint),
  created: tag(15, Wire.Bytes),
};
const Bucket = { count: tag(1, Wire.Varint), bound: tag(2, Wire.Double), exemplar: tag(3, Wire.Bytes) };
const Exemplar = { label: tag(1, Wire.Bytes), value: tag(2, Wire.Double), timestamp: tag(3, Wire.Bytes) };
const Span = { offset: tag(1, Wire.Varint), length: tag(2, Wire.Varint) };
const Timestamp = { seconds: tag(1, Wire.Varint), nanos: tag(2, Wire.Varint) };

const TYPES = { counter: 0, gauge: 1, distribution: 4, histogram: 4 } as const;
/** Values up to it count as zero. There are none: times have at least half of their unit. */
const ZERO = 2 ** -128;

/**
 * Figures as messages of Prometheus (`MetricFamily`), each after its length. Distributions are native histograms, and have their usual buckets as well, for
 * scrapers that do not know native ones.
 */
export class ProtobufExposition implements Exposition {
  family(family: PagedFamily): Uint8Array {
    const { name, help, unit, kind } = family;
    const writer = protobuf.Writer.create();
    const whole = unit === undefined ? name : `${name}_${unit}`;
    writer.fork();
    writer.uint32(Family.name).string(kind === 'counter' ? `${whole}_total` : whole);
    writer.uint32(Family.help).string(help.toWellFormed());
    writer.uint32(Family.type).int32(TYPES[kind]);
    if (family.kind === 'distribution')
      for (const sample of family.samples) metric(writer, sample, () => distribution(writer, family, sample));
    else if (family.kind === 'histogram') for (const sample of family.samples) metric(writer, sample, () => classic(writer, sample));
    else for (const sample of family.samples) metric(writer, sample, () => single(writer, kind === 'counter', sample));
    if (unit !== undefined) writer.uint32(Family.unit).string(unit);
    return writer.ldelim().finish();
  }

  end(): string {
    return '';
  }
}

function metric(writer: Writer, [labels]: PagedSample<unknown>, value: () => void): void {
  writer.uint32(Family.metric).fork();
  pairs(writer, Metric.label, labels);
  value();
  writer.ldelim();
}

function pairs(writer: Writer, field: number, labels: Labels): void {
  for (const name in labels) {
    if (!LABEL.test(name) || name === 'le') continue;
    writer.uint32(field).fork().uint32(Pair.name).string(name).uint32(Pair.value).string(labels[name]!.toWellFormed()).ldelim();
  }
}

/** JSON has no values but finite ones: others come as null. */
function single(writer: Writer, isCounter: boolean, [, value, createdAt]: PagedSample<number | null>): void {
  writer.uint32(isCounter ? Metric.counter : Metric.gauge).fork();
  writer.uint32(Single.value).double(value ?? Number.NaN);
  if (isCounter) created(writer, Single.created, createdAt);
  writer.ldelim();
}

function distribution(
  writer: Writer,
  family: Parameters<typeof boundsOf>[0],
  [, [sum, ...buckets], createdAt, exemplars = []]: PagedSample<PagedDistribution>,
): void {
  const bounds = boundsOf(family);
  const { counts, count } = cumulated(bounds, buckets);
  writer.uint32(Metric.histogram).fork().uint32(Histogram.count).uint64(count).uint32(Histogram.sum).double(sum);
  let previous = -Infinity;
  for (const [at, label] of bounds.labels.entries()) {
    const bound = Number(label);
    writer.uint32(Histogram.bucket).fork().uint32(Bucket.count).uint64(counts[at]!).uint32(Bucket.bound).double(bound);
    exemplar(writer, exemplars, previous, bound);
    writer.ldelim();
    previous = bound;
  }
  native(writer, buckets, family.unit === 'seconds');
  created(writer, Histogram.created, createdAt);
  writer.ldelim();
}

function native(writer: Writer, buckets: readonly number[], isTime: boolean): void {
  const { indexes, counts } = nativeHistogram(buckets, isTime);
  writer.uint32(Histogram.schema).sint32(SCHEMA).uint32(Histogram.zeroThreshold).double(ZERO).uint32(Histogram.zeroCount).uint64(0);
  let end = 0;
  for (let at = 0; at < indexes.length;) {
    const first = at;
    while (at < indexes.length && indexes[at] === indexes[first]! + at - first) at++;
    // The first span begins at its index, the others that many buckets after the end of the one before.
    writer
      .uint32(Histogram.span)
      .fork()
      .uint32(Span.offset)
      .sint32(indexes[first]! - end);
    writer
      .uint32(Span.length)
      .uint32(at - first)
      .ldelim();
    end = indexes[at - 1]! + 1;
  }
  // A histogram without values is native by its span.
  if (indexes.length === 0) writer.uint32(Histogram.span).fork().uint32(Span.offset).sint32(0).uint32(Span.length).uint32(0).ldelim();
  let before = 0;
  for (const count of counts) {
    writer.uint32(Histogram.delta).sint64(count - before);
    before = count;
  }
}

function classic(writer: Writer, [, [sum, count, ...buckets], createdAt]: PagedSample<PagedHistogram>): void {
  writer.uint32(Metric.histogram).fork().uint32(Histogram.count).uint64(count).uint32(Histogram.sum).double(sum);
  for (let at = 0; at < buckets.length; at += 2)
    writer
      .uint32(Histogram.bucket)
      .fork()
      .uint32(Bucket.count)
      .uint64(buckets[at + 1]!)
      .uint32(Bucket.bound)
      .double(buckets[at]!)
      .ldelim();
  created(writer, Histogram.created, createdAt);
  writer.ldelim();
}

function exemplar(writer: Writer, exemplars: readonly PagedExemplar[], previous: number, end: number): void {
  const found = exemplars.find(([value]) => value > previous && value <= end);
  if (found === undefined) return;
  const [value, at, traceId, spanId] = found;
  writer.uint32(Bucket.exemplar).fork();
  pairs(writer, Exemplar.label, { trace_id: traceId, span_id: spanId });
  writer.uint32(Exemplar.value).double(value);
  created(writer, Exemplar.timestamp, at);
  writer.ldelim();
}

/** A time. @param ms epoch milliseconds; undefined or null: unknown */
function created(writer: Writer, field: number, ms: number | null | undefined): void {
  if (ms === undefined || ms === null) return;
  const seconds = Math.floor(ms / 1000);
  writer.uint32(field).fork().uint32(Timestamp.seconds).int64(seconds);
  writer
    .uint32(Timestamp.nanos)
    .int32(Math.round((ms - seconds * 1000) * 1e6))
    .ldelim();
}
