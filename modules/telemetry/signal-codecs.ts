import { ProtobufLogsSerializer, ProtobufMetricsSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ExportSettings } from './export-messages.js';
import { metricsOf, type FigureRecord } from './readable-metrics.js';
import { readableLog } from './readable-logs.js';
import { originOf, readableSpan } from './readable-spans.js';
import type { LogItem } from './log-items.js';
import type { SpanRecord } from './span-records.js';

/** Requests and responses of one signal. */
export interface SignalCodec<R> {
  /** Of the records, in messages. */
  readonly noun: string;
  encode(records: readonly R[]): Uint8Array;
  /** @param body of a response @throws Error if it is malformed */
  partialSuccess(body: Uint8Array): { readonly rejected: number; readonly message: string };
}

type Origin = Pick<ExportSettings, 'resource' | 'version'>;
const NOTHING = new Uint8Array();

export function traceCodec({ resource, version }: Origin): SignalCodec<SpanRecord> {
  const origin = originOf(resource, version);
  return {
    noun: 'spans',
    encode: (spans) => ProtobufTraceSerializer.serializeRequest(spans.map((span) => readableSpan(span, origin))) ?? NOTHING,
    partialSuccess(body) {
      const { rejectedSpans: rejected = 0, errorMessage: message = '' } =
        ProtobufTraceSerializer.deserializeResponse(body).partialSuccess ?? {};
      return { rejected, message };
    },
  };
}

export function logCodec({ resource, version }: Origin): SignalCodec<LogItem> {
  const origin = originOf(resource, version);
  return {
    noun: 'log records',
    encode: (items) => ProtobufLogsSerializer.serializeRequest(items.map((item) => readableLog(item, origin))) ?? NOTHING,
    partialSuccess(body) {
      const { rejectedLogRecords: rejected = 0, errorMessage: message = '' } =
        ProtobufLogsSerializer.deserializeResponse(body).partialSuccess ?? {};
      return { rejected, message };
    },
  };
}

export function metricCodec({ resource, version }: Origin): SignalCodec<FigureRecord> {
  const origin = originOf(resource, version);
  return {
    noun: 'figures',
    encode: (figures) => ProtobufMetricsSerializer.serializeRequest(metricsOf(figures, origin)) ?? NOTHING,
    partialSuccess(body) {
      const { rejectedDataPoints: rejected = 0, errorMessage: message = '' } =
        ProtobufMetricsSerializer.deserializeResponse(body).partialSuccess ?? {};
      return { rejected, message };
    },
  };
}
