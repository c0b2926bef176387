/** Messages of Prometheus's client model, for tests: with the definitions of scrapers. */
import protobuf from 'protobufjs';

const { root } = protobuf.parse(
  `syntax = "proto2";
  message LabelPair { optional string name = 1; optional string value = 2; }
  enum MetricType { COUNTER = 0; GAUGE = 1; SUMMARY = 2; UNTYPED = 3; HISTOGRAM = 4; GAUGE_HISTOGRAM = 5; }
  message Timestamp { optional int64 seconds = 1; optional int32 nanos = 2; }
  message Gauge { optional double value = 1; }
  message Counter { optional double value = 1; optional Exemplar exemplar = 2; optional Timestamp created_timestamp = 3; }
  message Histogram {
    optional uint64 sample_count = 1; optional double sample_sum = 2; repeated Bucket bucket = 3;
    optional sint32 schema = 5; optional double zero_threshold = 6; optional uint64 zero_count = 7;
    repeated BucketSpan positive_span = 12; repeated sint64 positive_delta = 13; optional Timestamp created_timestamp = 15;
  }
  message Bucket { optional uint64 cumulative_count = 1; optional double upper_bound = 2; optional Exemplar exemplar = 3; }
  message BucketSpan { optional sint32 offset = 1; optional uint32 length = 2; }
  message Exemplar { repeated LabelPair label = 1; optional double value = 2; optional Timestamp timestamp = 3; }
  message Metric { repeated LabelPair label = 1; optional Gauge gauge = 2; optional Counter counter = 3; optional Histogram histogram = 7; }
  message MetricFamily { optional string name = 1; optional string help = 2; optional MetricType type = 3; repeated Metric metric = 4; optional string unit = 5; }`,
  { keepCase: true },
);
const MetricFamily = root.lookupType('MetricFamily');

export interface ModelExemplar {
  readonly label: readonly { readonly name: string; readonly value: string }[];
  readonly value: number;
}
export interface ModelHistogram {
  readonly sample_count: number;
  readonly sample_sum: number;
  readonly bucket: readonly { readonly cumulative_count: number; readonly upper_bound: number; readonly exemplar?: ModelExemplar }[];
  readonly schema: number;
  readonly positive_span: readonly { readonly offset: number; readonly length: number }[];
  readonly positive_delta: readonly number[];
}
export interface ModelMetric {
  readonly label: readonly { readonly name: string; readonly value: string }[];
  readonly counter?: { readonly value: number };
  readonly gauge?: { readonly value: number };
  readonly histogram?: ModelHistogram;
}
export interface ModelFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly metric: readonly ModelMetric[];
}

/** @throws Error if the bytes are not messages, each after its length, or have fields that the definitions do not have */
export function readFamilies(bytes: Uint8Array): ModelFamily[] {
  const reader = protobuf.Reader.create(bytes);
  const families: ModelFamily[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const message = MetricFamily.decodeDelimited(reader);
    const again = MetricFamily.encodeDelimited(message).finish();
    if (!Buffer.from(again).equals(Buffer.from(bytes.subarray(start, reader.pos)))) throw new Error('the message has unknown fields');
    families.push(MetricFamily.toObject(message, { longs: Number, enums: String, arrays: true }) as ModelFamily);
  }
  return families;
}

/** Upper bound of the bucket of a native histogram that has a quantile, and of the one before. */
export function quantileBounds({ schema, positive_span: spans, positive_delta: deltas }: ModelHistogram, share: number): [number, number] {
  const counts: [index: number, count: number][] = [];
  let [index, count, at] = [0, 0, 0];
  for (const { offset, length } of spans) {
    index += offset;
    for (let one = 0; one < length; one++) counts.push([index++, (count += deltas[at++]!)]);
  }
  const all = counts.reduce((sum, [, one]) => sum + one, 0);
  let left = Math.ceil(share * all);
  const [found = 0] = counts.find(([, one]) => (left -= one) <= 0) ?? [];
  const base = 2 ** (2 ** -schema);
  return [base ** (found - 1), base ** found];
}
