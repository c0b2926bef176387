import type { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { shownSpan } from './span-attributes.js';
import type { SpanRecord } from './span-records.js';

/** A span in the form of the official packages. */
export type ReadableSpan = Parameters<typeof ProtobufTraceSerializer.serializeRequest>[0][number];
type SpanContext = ReturnType<ReadableSpan['spanContext']>;
type Time = ReadableSpan['startTime'];

/** SpanStatusCode.ERROR of the API. */
const ERROR = 2;
/** Bit of the trace flags: exported spans are sampled. */
const SAMPLED = 1;

/** The server that the spans are of: attributes, and the version of srv. */
export type Origin = Pick<ReadableSpan, 'resource' | 'instrumentationScope'>;

export function originOf(attributes: Readonly<Record<string, string | number>>, version: string): Origin {
  const resource = { attributes, getRawAttributes: () => Object.entries(attributes), merge: () => resource };
  return { resource, instrumentationScope: { name: 'srv', version } };
}

export function readableSpan(record: SpanRecord, { resource, instrumentationScope }: Origin): ReadableSpan {
  const { name, kind, attributes, error } = shownSpan(record);
  const { traceId, parentId, state } = record;
  const spanContext: SpanContext = {
    traceId,
    spanId: record.spanId,
    traceFlags: SAMPLED,
    ...(state !== '' && { traceState: stateOf(state) }),
  };
  const [startTime, endTime] = [timeOf(record.start), timeOf(Math.max(record.start, record.end))];
  return {
    name,
    kind,
    spanContext: () => spanContext,
    ...(parentId !== '' && {
      parentSpanContext: { traceId, spanId: parentId, traceFlags: SAMPLED, isRemote: record.hasRemoteParent },
    }),
    startTime,
    endTime,
    duration: timeOf(Math.max(0, record.end - record.start)),
    status: error === undefined ? { code: 0 } : { code: ERROR, ...(error !== '' && { message: error }) },
    attributes,
    links: [],
    events: [],
    ended: true,
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. @param ms epoch milliseconds, with fractions */
export function timeOf(ms: number): Time {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1000) * 1000];
}

/** The serializer uses the text alone. */
function stateOf(state: string): NonNullable<SpanContext['traceState']> {
  const self: NonNullable<SpanContext['traceState']> = { serialize: () => state, get: () => undefined, set: () => self, unset: () => self };
  return self;
}
