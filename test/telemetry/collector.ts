/** A collector of OpenTelemetry for tests: it decodes with the published definitions, and rejects what is wrong. */
import { gunzipSync } from 'node:zlib';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpBackend, httpsBackend } from '../harness/backends.js';
import type { Certificate } from '../harness/certificate.js';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import {
  ExportLogsServiceRequest,
  ExportMetricsServiceRequest,
  ExportTraceServiceRequest,
  ExportTraceServiceResponse,
  type KeyValue,
  type OtlpMetric,
  type OtlpSpan,
} from './otlp-messages.js';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly state: string;
  readonly flags: number;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 0 unset, 2 error. */
  readonly status: number;
  readonly message: string;
}

export interface ReceivedLog {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly severity: number;
  readonly level: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly traceId: string;
}

/** One figure: its value, or the number of its values and their sum. */
export interface ReceivedFigure {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  readonly sum: number;
}

/** How a request is responded to: a status, with fields and a body. */
export type CollectorReply = (response: ServerResponse, request: IncomingMessage) => void;

export interface Collector {
  readonly port: number;
  readonly spans: ReceivedSpan[];
  readonly logs: ReceivedLog[];
  readonly figures: ReceivedFigure[];
  /** Attributes of the resource of each request. */
  readonly resources: Readonly<Record<string, unknown>>[];
  readonly requests: readonly IncomingMessage[];
  /** Errors of the requests. */
  readonly errors: string[];
  /** Replies in the place of a 200 from now on; its spans do not count. Undefined: accepts again. */
  reply: CollectorReply | undefined;
  /** Resolves when as many spans have arrived that match. */
  waitForSpans(count: number, matches?: (span: ReceivedSpan) => boolean): Promise<readonly ReceivedSpan[]>;
  close(): Promise<void>;
}

/** The message of a partial success. */
export function partialSuccess(rejectedSpans: number, errorMessage: string): Uint8Array {
  return ExportTraceServiceResponse.encode({ partialSuccess: { rejectedSpans, errorMessage } }).finish();
}

/** @param tls for https */
export async function startCollector(t: Scope, port = 0, tls?: Pick<Certificate, 'cert' | 'key'>): Promise<Collector> {
  const received: Received = { spans: [], logs: [], figures: [], resources: [] };
  const errors: string[] = [];
  const state: { reply: CollectorReply | undefined } = { reply: undefined };
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (state.reply !== undefined) return state.reply(response, request);
      try {
        const body = Buffer.concat(pieces);
        read(request, request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body, received);
        response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end(ExportTraceServiceResponse.encode({}).finish());
      } catch (error) {
        errors.push((error as Error).message);
        response.writeHead(400).end();
      }
    });
  };
  const backend = await (tls === undefined ? httpBackend(t, handle, port) : httpsBackend(t, tls, handle));
  const { spans } = received;
  return Object.assign(state, {
    port: backend.port,
    ...received,
    errors,
    requests: backend.requests,
    close: () => backend.close(),
    waitForSpans: (count: number, matches: (span: ReceivedSpan) => boolean = () => true) =>
      waitFor(`${count} spans`, () => {
        if (errors.length > 0) throw new Error(errors.join(', '));
        const found = spans.filter(matches);
        return found.length >= count && found;
      }),
  });
}

interface Received {
  readonly spans: ReceivedSpan[];
  readonly logs: ReceivedLog[];
  readonly figures: ReceivedFigure[];
  readonly resources: Record<string, unknown>[];
}

function read({ method, url, headers }: IncomingMessage, body: Buffer, received: Received): void {
  assert(method === 'POST', `${method} ${url}`);
  assert(headers['content-type'] === 'application/x-protobuf', `type ${headers['content-type']}`);
  if (url === '/v1/traces') readSpans(body, received);
  else if (url === '/v1/logs') readLogs(body, received);
  else if (url === '/v1/metrics') readFigures(body, received);
  else assert(false, `path ${url}`);
}

/** Fields that the definitions do not have would be missing. */
function decoded<T>(type: { decode(bytes: Uint8Array): T; encode(message: T): { finish(): Uint8Array } }, body: Buffer): T {
  const message = type.decode(body);
  assert(Buffer.from(type.encode(message).finish()).equals(body), 'the message has unknown fields');
  return message;
}

function readSpans(body: Buffer, { spans, resources }: Received): void {
  for (const { resource, scopeSpans } of decoded(ExportTraceServiceRequest, body).resourceSpans ?? []) {
    resources.push(attributesOf(resource?.attributes ?? []));
    for (const { scope, spans: list } of scopeSpans ?? []) {
      assert(scope?.name === 'srv', 'no scope');
      for (const span of list ?? []) spans.push(checked(span));
    }
  }
}

function readLogs(body: Buffer, { logs }: Received): void {
  for (const { scopeLogs } of decoded(ExportLogsServiceRequest, body).resourceLogs ?? [])
    for (const { scope, logRecords } of scopeLogs ?? []) {
      assert(scope?.name === 'srv', 'no scope');
      for (const record of logRecords ?? []) {
        const time = Number(record.timeUnixNano) / 1e6;
        assert(Math.abs(Date.now() - time) < 300_000, `time ${time}`);
        logs.push({
          time,
          severity: record.severityNumber ?? 0,
          level: record.severityText ?? '',
          body: record.body?.['stringValue'] as string,
          attributes: attributesOf(record.attributes ?? []),
          traceId: hex(record.traceId),
        });
      }
    }
}

function readFigures(body: Buffer, { figures }: Received): void {
  // Numbers of zero are left out of the message that is encoded again, and are in the one that came.
  for (const { scopeMetrics } of ExportMetricsServiceRequest.decode(body).resourceMetrics ?? [])
    for (const { metrics } of scopeMetrics ?? []) for (const metric of metrics ?? []) readMetric(metric, figures);
}

function readMetric({ name = '', unit = '', sum, gauge, histogram }: OtlpMetric, figures: ReceivedFigure[]): void {
  assert(name !== '' && !name.endsWith('_total'), `name "${name}"`);
  if (sum) assert(sum.aggregationTemporality === 2 && sum.isMonotonic === true, `${name} is not a cumulative counter`);
  for (const point of (sum ?? gauge ?? histogram)?.dataPoints ?? []) {
    assert(Number(point.timeUnixNano) >= Number(point.startTimeUnixNano), `${name}: times`);
    const counts = (point.bucketCounts ?? []).map(Number);
    const count = Number(point.count ?? 0);
    if (histogram) assert(counts.length === point.explicitBounds!.length + 1, `${name}: ${counts.length} buckets`);
    if (histogram) assert(counts.reduce((all, one) => all + one, 0) === count && counts.every((one) => one >= 0), `${name}: counts`);
    const attributes = attributesOf(point.attributes ?? []);
    figures.push({ name, unit, attributes, value: histogram ? count : (point.asDouble ?? 0), sum: point.sum ?? 0 });
  }
}

function checked(span: OtlpSpan): ReceivedSpan {
  const received: ReceivedSpan = {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentId: hex(span.parentSpanId),
    state: span.traceState ?? '',
    flags: span.flags ?? 0,
    name: span.name ?? '',
    kind: span.kind ?? 0,
    start: BigInt(String(span.startTimeUnixNano)),
    end: BigInt(String(span.endTimeUnixNano)),
    attributes: attributesOf(span.attributes ?? []),
    status: span.status?.code ?? 0,
    message: span.status?.message ?? '',
  };
  const { traceId, spanId, parentId, name, kind, start, end } = received;
  assert(/^[0-9a-f]{32}$/.test(traceId) && !/^0+$/.test(traceId), `trace id ${traceId}`);
  assert(/^[0-9a-f]{16}$/.test(spanId) && !/^0+$/.test(spanId), `span id ${spanId}`);
  assert(parentId === '' || (/^[0-9a-f]{16}$/.test(parentId) && parentId !== spanId), `parent id ${parentId}`);
  assert(name !== '' && kind >= 1 && kind <= 3, `name "${name}" or kind ${kind}`);
  const age = Date.now() * 1e6 - Number(start);
  assert(end >= start && age > -1e9 && age < 300e9, `times ${start} ${end}`);
  return received;
}

function attributesOf(list: readonly KeyValue[]): Record<string, unknown> {
  const values = list.map(({ key, value }): [string, unknown] => {
    const [found] = Object.values(value ?? {});
    return [key ?? '', Number.isInteger(Number(found)) && typeof found === 'object' ? Number(found) : found];
  });
  const keys = new Set(values.map(([key]) => key));
  assert(keys.size === values.length && !keys.has(''), `attributes ${values.map(([key]) => key).join()}`);
  return Object.fromEntries(values);
}

const hex = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('hex');

function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`a request of the exporter is wrong: ${what}`);
}
