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
      };
    };
  };
}

export const { ExportTraceServiceRequest, ExportTraceServiceResponse } = (root as unknown as Definitions).opentelemetry.proto.collector
  .trace.v1;
