/**
 * Cost of telemetry for the worker of a request with one attempt at a member, in microseconds: handlers, fields for the member, the record, and the message
 * to the main thread. Each figure is the fastest of several rounds, less the same rounds without telemetry.
 */
import { Worker } from 'node:worker_threads';
import type { HttpHandlers, HttpRequest, RequestObserver } from '../../core/contract/http.js';
import { headField } from '../../core/http/request/head-fields.js';
import { UpstreamFields } from '../../core/http/request/upstream-fields.js';
import { DEFAULT_HEAD_LIMITS } from '../../core/net/http1/message-head.js';
import { parseRequestHead, RequestHead } from '../../core/net/http1/request-head.js';
import { SHARED_BYTES } from '../../modules/telemetry/export-messages.js';
import { RecordBatch } from '../../modules/telemetry/record-batch.js';
import type { SpanRecord } from '../../modules/telemetry/span-records.js';
import { locationHandlers, serverHandlers } from '../../modules/telemetry/tracer.js';
import type { TraceSettings } from '../../modules/telemetry/trace-settings.js';
import { fakeAttempt } from '../../testing/member-response.js';
import { fakeMetrics } from '../../testing/metrics.js';
import { fakeRequest } from '../../testing/request.js';
import { threadTime } from './thread-clock.js';

const ROUNDS = 15;
const FIELDS = [
  'Host: shop.example',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64)',
  'Accept: text/html',
  'Accept-Language: en',
  'Accept-Encoding: gzip',
  'Cookie: a=b; c=d',
];
const PARENT = 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0';
/** Fields of the member's request, as the plan of a location has them. */
const LINES = ['Host', 'X-Real-IP', 'X-Forwarded-For', 'User-Agent', 'Accept', 'Cookie'].map((name) => `${name}: value of it\r\n`).join('');

/** A request with the parts that cost: fields of a parsed head, state, fields for the member. */
class MeasuredRequest {
  readonly parent = undefined;
  readonly explanation = undefined;
  readonly startTime = Date.now();
  readonly status = 200;
  readonly method = 'GET';
  readonly host = 'shop.example';
  readonly protocol = 'HTTP/1.1';
  readonly requestUri = '/products/17?color=blue';
  readonly bodyBytesSent = 1024;
  readonly connection = CONNECTION;
  #state: Map<object, unknown> | undefined;
  #upstream: UpstreamFields | undefined;
  end: ((request: HttpRequest) => void) | undefined;
  observer: RequestObserver | undefined;

  constructor(private readonly head: RequestHead) {}

  get upstream(): UpstreamFields {
    return (this.#upstream ??= new UpstreamFields());
  }
  get lines(): string {
    return this.#upstream === undefined ? LINES : this.#upstream.applyTo(LINES);
  }
  header(name: string): string | undefined {
    return headField(this.head, name);
  }
  variable(name: string): string | undefined {
    return name === 'remote_addr' ? '127.0.0.1' : undefined;
  }
  get(key: object): unknown {
    return this.#state?.get(key);
  }
  set(key: object, value: unknown): void {
    this.#state ??= new Map();
    this.#state.set(key, value);
  }
  atEnd(step: (request: HttpRequest) => void): void {
    this.end = step;
  }
  observe(observer: RequestObserver): void {
    this.observer = observer;
  }
}

const CONNECTION = fakeRequest().connection;
const ATTEMPT = fakeAttempt({ status: 200, connectTime: 0, headerTime: 1 });
const SETTINGS: TraceSettings = {
  ratio: 1,
  extracts: true,
  injects: true,
  forms: ['tracecontext', 'baggage'],
  keep: [],
  attributes: [],
  name: undefined,
  route: '/products/',
};

function parsedHead(fields: readonly string[]): RequestHead {
  const head = new RequestHead();
  const status = parseRequestHead(head, `GET /products/17?color=blue HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`, DEFAULT_HEAD_LIMITS);
  if (status !== 0) throw new Error(`the head is rejected with ${status}`);
  return head;
}

let bytes = 0;

function serve(head: RequestHead, handlers: readonly HttpHandlers[]): void {
  const measured = new MeasuredRequest(head);
  const request = measured as unknown as HttpRequest;
  for (const { post_read: begin } of handlers) void begin?.(request);
  for (const { rewrite } of handlers) void rewrite?.(request);
  const { observer } = measured;
  observer?.content?.(request);
  observer?.memberAttempt?.(request, ATTEMPT, 'begin');
  bytes += measured.lines.length;
  observer?.memberAttempt?.(request, ATTEMPT, 'connected');
  observer?.memberAttempt?.(request, ATTEMPT, 'head');
  observer?.head?.(request);
  observer?.memberAttempt?.(request, ATTEMPT, 'end');
  measured.end?.(request);
}

/** Microseconds for a request, the fastest round. */
function timeOf(count: number, head: RequestHead, handlers: readonly HttpHandlers[]): number {
  let fastest = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const begin = threadTime();
    for (let request = 0; request < count; request++) serve(head, handlers);
    fastest = Math.min(fastest, ((threadTime() - begin) * 1000) / count);
  }
  return fastest;
}

const handlersOf = (settings: TraceSettings, batch: RecordBatch<SpanRecord>): readonly HttpHandlers[] => [
  serverHandlers(settings, (span) => batch.add(span)),
  locationHandlers(settings, false, (span) => batch.add(span)),
];

const [plain, sampled, unsampled] = [FIELDS, [...FIELDS, `${PARENT}1`], [...FIELDS, `${PARENT}0`]].map(parsedHead);
/** Kinds of requests: how many in a round, their head, and the settings. */
const CASES = {
  byRatio: [200_000, plain!, { ...SETTINGS, ratio: 0 }],
  byClient: [200_000, unsampled!, SETTINGS],
  sampled: [20_000, plain!, SETTINGS],
  sampledByClient: [20_000, sampled!, SETTINGS],
  notKept: [20_000, plain!, { ...SETTINGS, ratio: 0, keep: [{ text: '', field: 'status', matches: (status) => status >= 500 }] }],
} as const satisfies Readonly<Record<string, readonly [number, RequestHead, TraceSettings]>>;

/** Microseconds of each kind of requests. */
export async function telemetryCosts(): Promise<Readonly<Record<keyof typeof CASES, number>>> {
  // Takes messages as the main thread does.
  const sink = new Worker(`require('node:worker_threads').parentPort.on('message', () => undefined)`, { eval: true });
  const batch = new RecordBatch<SpanRecord>(
    'traces',
    () => ({ tell: (message) => sink.postMessage(message) }),
    fakeMetrics().counter('dropped'),
  );
  batch.use({ memory: new SharedArrayBuffer(SHARED_BYTES), batchSize: 512, limit: 8192, logLevel: undefined });
  const costs = Object.entries(CASES).map(([name, [count, head, settings]]) => {
    const handlers = handlersOf(settings, batch);
    timeOf(count, head, handlers);
    const nothing = timeOf(count, head, []);
    return [name, timeOf(count, head, handlers) - nothing];
  });
  await sink.terminate();
  if (bytes === 0) throw new Error('nothing was measured');
  return Object.fromEntries(costs) as Record<keyof typeof CASES, number>;
}
