/** A collector of OpenTelemetry for tests: it decodes with the published definitions, and rejects what is wrong. */
import { gunzipSync } from 'node:zlib';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpBackend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { ExportTraceServiceRequest, ExportTraceServiceResponse, type KeyValue, type OtlpSpan } from './otlp-messages.js';

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

/** How a request is responded to: a status, with fields and a body. */
export type CollectorReply = (response: ServerResponse, request: IncomingMessage) => void;

export interface Collector {
  readonly port: number;
  readonly spans: ReceivedSpan[];
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

export async function startCollector(t: Scope, port = 0): Promise<Collector> {
  const [spans, resources, errors]: [ReceivedSpan[], Record<string, unknown>[], string[]] = [[], [], []];
  const state: { reply: CollectorReply | undefined } = { reply: undefined };
  const backend = await httpBackend(
    t,
    (request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        if (state.reply !== undefined) return state.reply(response, request);
        try {
          const body = Buffer.concat(pieces);
          read(request, request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body, spans, resources);
          response.writeHead(200, { 'Content-Type': 'application/x-protobuf' }).end(ExportTraceServiceResponse.encode({}).finish());
        } catch (error) {
          errors.push((error as Error).message);
          response.writeHead(400).end();
        }
      });
    },
    port,
  );
  return Object.assign(state, {
    port: backend.port,
    spans,
    resources,
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

function read({ method, url, headers }: IncomingMessage, body: Buffer, spans: ReceivedSpan[], resources: Record<string, unknown>[]): void {
  assert(method === 'POST' && url === '/v1/traces', `${method} ${url}`);
  assert(headers['content-type'] === 'application/x-protobuf', `type ${headers['content-type']}`);
  const message = ExportTraceServiceRequest.decode(body);
  // Fields that the definitions do not have would be missing.
  assert(Buffer.from(ExportTraceServiceRequest.encode(message).finish()).equals(body), 'the message has unknown fields');
  for (const { resource, scopeSpans } of message.resourceSpans ?? []) {
    resources.push(attributesOf(resource?.attributes ?? []));
    for (const { scope, spans: list } of scopeSpans ?? []) {
      assert(scope?.name === 'srv', 'no scope');
      for (const span of list ?? []) spans.push(checked(span));
    }
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
