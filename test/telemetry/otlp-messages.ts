/** The published definitions of OTLP, as earlier versions of the official package contain them, with the types that tests need. */
import root from 'otlp-proto-root/build/src/generated/root.js';

interface Message<T> {
  decode(bytes: Uint8Array): T;
  encode(message: T): { finish(): Uint8Array };
}

export interface KeyValue {
  readonly key?: string;
  readonly value?: Readonly<Record<string, unknown>> | null;
}
export interface OtlpSpan {
  readonly traceId?: Uint8Array;
  readonly spanId?: Uint8Array;
  readonly parentSpanId?: Uint8Array;
  readonly traceState?: string | null;
  readonly flags?: number | null;
  readonly name?: string;
  readonly kind?: number;
  readonly startTimeUnixNano?: unknown;
  readonly endTimeUnixNano?: unknown;
  readonly attributes?: readonly KeyValue[];
  readonly status?: { readonly code?: number; readonly message?: string } | null;
}
interface TraceRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] } | null;
    readonly scopeSpans?: readonly { readonly scope?: { readonly name?: string } | null; readonly spans?: readonly OtlpSpan[] }[];
  }[];
}
interface TraceResponse {
  readonly partialSuccess?: { readonly rejectedSpans?: number; readonly errorMessage?: string };
}

export interface OtlpLog {
  readonly timeUnixNano?: unknown;
  readonly severityNumber?: number;
  readonly severityText?: string;
  readonly body?: Readonly<Record<string, unknown>> | null;
  readonly attributes?: readonly KeyValue[];
  readonly traceId?: Uint8Array;
  readonly spanId?: Uint8Array;
}
interface LogRequest {
  readonly resourceLogs?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] } | null;
    readonly scopeLogs?: readonly { readonly scope?: { readonly name?: string } | null; readonly logRecords?: readonly OtlpLog[] }[];
  }[];
}
export interface OtlpPoint {
  readonly attributes?: readonly KeyValue[];
  readonly startTimeUnixNano?: unknown;
  readonly timeUnixNano?: unknown;
  readonly asDouble?: number;
  readonly count?: unknown;
  readonly sum?: number;
  readonly bucketCounts?: readonly unknown[];
  readonly explicitBounds?: readonly number[];
}
export interface OtlpMetric {
  readonly name?: string;
  readonly unit?: string;
  readonly sum?: {
    readonly dataPoints?: readonly OtlpPoint[];
    readonly aggregationTemporality?: number;
    readonly isMonotonic?: boolean;
  } | null;
  readonly gauge?: { readonly dataPoints?: readonly OtlpPoint[] } | null;
  readonly histogram?: { readonly dataPoints?: readonly OtlpPoint[]; readonly aggregationTemporality?: number } | null;
}
interface MetricRequest {
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics?: readonly { readonly scope?: { readonly name?: string } | null; readonly metrics?: readonly OtlpMetric[] }[];
  }[];
}

interface Definitions {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: {
          readonly v1: {
            readonly ExportTraceServiceRequest: Message<TraceRequest>;
            readonly ExportTraceServiceResponse: Message<TraceResponse>;
          };
        };
        readonly logs: { readonly v1: { readonly ExportLogsServiceRequest: Message<LogRequest> } };
        readonly metrics: { readonly v1: { readonly ExportMetricsServiceRequest: Message<MetricRequest> } };
      };
    };
  };
}

const { collector } = (root as unknown as Definitions).opentelemetry.proto;
export const { ExportTraceServiceRequest, ExportTraceServiceResponse } = collector.trace.v1;
export const { ExportLogsServiceRequest } = collector.logs.v1;
export const { ExportMetricsServiceRequest } = collector.metrics.v1;
