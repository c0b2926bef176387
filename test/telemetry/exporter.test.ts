/** The export of spans to collectors that are away, slow, or wrong: the part that runs in the thread, with real collectors. */
import test from 'ava';
import type { ExportSettings, SignalResult } from '../../modules/telemetry/export-messages.js';
import { traceCodec } from '../../modules/telemetry/signal-codecs.js';
import { SignalExporter } from '../../modules/telemetry/signal-exporter.js';
import type { SpanRecord } from '../../modules/telemetry/span-records.js';
import { selfSigned } from '../harness/certificate.js';
import { freePort } from '../harness/ports.js';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { partialSuccess, startCollector, type Collector, type CollectorReply } from './collector.js';

const SETTINGS: Omit<ExportSettings, 'endpoint'> = {
  logLevel: undefined,
  metricsInterval: undefined,
  headers: {},
  certificates: undefined,
  gzip: false,
  interval: 20,
  // A collector of a busy machine is not one that hangs.
  timeout: 20_000,
  batchSize: 3,
  limit: 12,
  resource: { 'service.name': 'test' },
  version: '1',
};

const PROTOBUF = { 'Content-Type': 'application/x-protobuf' };
const status =
  (code: number, fields: Readonly<Record<string, string>> = {}): CollectorReply =>
  (response) =>
    void response.writeHead(code, fields).end();

const inTwoSeconds: CollectorReply = (response) =>
  void response.writeHead(503, { 'Retry-After': new Date(Date.now() + 2000).toUTCString() }).end();
const cutOff: CollectorReply = (response) => {
  response.writeHead(200, { ...PROTOBUF, 'Content-Length': 100 });
  response.write('half', () => response.socket?.destroy());
};

function spans(count: number): readonly SpanRecord[] {
  return Array.from({ length: count }, (_, at): SpanRecord => {
    const start = Date.now();
    const [traceId, spanId] = ['a'.repeat(32), String(at + 1).padStart(16, '0')];
    return { kind: 'cache', traceId, spanId, parentId: '', hasRemoteParent: false, state: '', start, end: start + 1, cacheStatus: 'HIT' };
  });
}

const allow = (): Promise<void> => Promise.resolve();

/** An exporter, and the sums of its messages. */
class Tested {
  exported = 0;
  readonly dropped = { queue_full: 0, failed: 0, rejected: 0 };
  readonly failures: string[] = [];
  waiting = 0;
  readonly exporter: SignalExporter<SpanRecord>;

  constructor(t: Scope, port: number, settings: Partial<ExportSettings> = {}) {
    const all = { ...SETTINGS, endpoint: `http://127.0.0.1:${port}`, ...settings };
    this.exporter = new SignalExporter(
      all,
      `${all.endpoint}/v1/traces`,
      traceCodec(all),
      allow,
      (message) => this.#receive(message),
      (count) => (this.waiting = count),
    );
    t.teardown(() => this.exporter.finish());
  }

  #receive(message: SignalResult): void {
    if (message.kind === 'exported') this.exported += message.count;
    else if (message.kind === 'dropped') this.dropped[message.reason] += message.count;
    else this.failures.push(message.text);
  }

  done(count: number): Promise<unknown> {
    const { dropped } = this;
    return waitFor(`the end of ${count} spans`, () => this.exported + dropped.queue_full + dropped.failed + dropped.rejected >= count);
  }
}

/** Replies in this way to the first request, and accepts the others. */
function replyOnce(collector: Collector, reply: CollectorReply): readonly number[] {
  const times: number[] = [];
  collector.reply = (response, request) => {
    times.push(Date.now());
    collector.reply = undefined;
    reply(response, request);
  };
  return times;
}

for (const [name, reply, least, failure = /./] of [
  ['429 with Retry-After', status(429, { 'Retry-After': '1' }), 950],
  ['503 with Retry-After as a date', inTwoSeconds, 950],
  ['429 with a Retry-After of no time', status(429, { 'Retry-After': '0' }), 950],
  ['503', status(503), 750],
  ['a connection that is closed', ((response) => void response.socket?.destroy()) as CollectorReply, 750],
  ['a response that is cut off', cutOff, 750, /closed the connection within its response/],
  [
    'bytes in place of a response',
    ((response) => void response.socket?.end('no HTTP\r\n\r\n')) as CollectorReply,
    750,
    /a port for OTLP over HTTP/,
  ],
] as const) {
  test(`after ${name} the same batch is sent once more, later`, async (t) => {
    const collector = await startCollector(t);
    const times = replyOnce(collector, reply);
    const tested = new Tested(t, collector.port);
    tested.exporter.add(spans(2));
    await tested.done(2);
    t.is(tested.exported, 2);
    t.true(Date.now() - times[0]! >= least);
    t.is(collector.spans.length, 2);
    t.is(tested.failures.length, 1);
    t.regex(tested.failures[0] ?? '', failure);
  });
}

test('a collector that asks for a long pause gets it, and the batch waits as long', async (t) => {
  const collector = await startCollector(t);
  const tested = new Tested(t, collector.port);
  replyOnce(collector, status(429, { 'Retry-After': '120' }));
  tested.exporter.add(spans(2));
  await waitFor('a failure', () => tested.failures.length > 0);
  t.deepEqual(tested.failures, ['the collector responded with 429, no call for 120 s']);
  tested.exporter.add(spans(5));
  t.deepEqual([tested.waiting, tested.dropped.failed], [7, 0]);
  // A full batch is sent at once otherwise.
  await new Promise((done) => setTimeout(done, 300));
  t.is(collector.requests.length, 1);
  await tested.exporter.finish();
  t.deepEqual([collector.requests.length, tested.dropped.failed], [1, 7]);
});

test('other statuses are final: the batch is dropped, and the next one is sent', async (t) => {
  const collector = await startCollector(t);
  for (const code of [400, 401, 413, 500, 302]) {
    const before = collector.requests.length;
    replyOnce(
      collector,
      (response) => void response.writeHead(code, { Location: '/elsewhere' }).end('a long page of an error '.repeat(9000)),
    );
    const tested = new Tested(t, collector.port);
    tested.exporter.add(spans(4));
    await tested.done(4);
    t.deepEqual([tested.exported, tested.dropped.rejected], [1, 3]);
    t.deepEqual(tested.failures, [`the collector responded with ${code}`]);
    t.is(collector.requests.length - before, 2);
  }
});

test('a partial success counts what was rejected', async (t) => {
  const collector = await startCollector(t);
  const tested = new Tested(t, collector.port);
  replyOnce(collector, (response) => response.writeHead(200, PROTOBUF).end(partialSuccess(2, 'too old')));
  tested.exporter.add(spans(3));
  await tested.done(3);
  t.deepEqual([tested.exported, tested.dropped.rejected], [1, 2]);
  t.deepEqual(tested.failures, ['the collector rejected 2 spans: too old']);
  // More than there were.
  replyOnce(collector, (response) => response.writeHead(200, PROTOBUF).end(partialSuccess(1000, '')));
  tested.exporter.add(spans(3));
  await tested.done(6);
  t.deepEqual([tested.exported, tested.dropped.rejected], [1, 5]);
});

test('malformed responses are reported, and their spans are not sent again', async (t) => {
  const bodies: readonly (readonly [string, Uint8Array | string, RegExp])[] = [
    ['text/html', '<html>', /malformed: its type is "text\/html"/],
    ['application/x-protobuf', Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]), /malformed/],
    ['application/x-protobuf', Buffer.from('ffffffffffffffffffffff', 'hex'), /malformed/],
  ];
  const collector = await startCollector(t);
  for (const [type, body, failure] of bodies) {
    const tested = new Tested(t, collector.port);
    replyOnce(collector, (response) => response.writeHead(200, { 'Content-Type': type }).end(body));
    tested.exporter.add(spans(1));
    await tested.done(1);
    t.is(tested.exported, 1);
    t.regex(tested.failures.join(), failure);
  }
  t.is(collector.spans.length, 0);
});

test('without a collector memory is bounded, and the end of the server waits for nothing', async (t) => {
  const tested = new Tested(t, await freePort(t));
  for (let round = 0; round < 20; round++) tested.exporter.add(spans(5));
  t.is(tested.waiting, SETTINGS.limit);
  t.is(tested.dropped.queue_full, 100 - SETTINGS.limit);
  await waitFor('a failure', () => tested.failures.length > 0);
  t.regex(tested.failures[0] ?? '', /ECONNREFUSED/);
  await Promise.all([tested.exporter.finish(), tested.exporter.finish()]);
  t.is(tested.dropped.failed, SETTINGS.limit);
  // Longer than the pause before another call would be.
  await new Promise((done) => setTimeout(done, 1500));
  t.is(tested.dropped.failed, SETTINGS.limit, 'they count once');
});

test('a collector that hangs, or sends without end, costs its time limit', async (t) => {
  const collector = await startCollector(t);
  const silent = new Tested(t, collector.port, { timeout: 100 });
  replyOnce(collector, () => undefined);
  silent.exporter.add(spans(1));
  await waitFor('a failure', () => silent.failures.length > 0);
  t.is(silent.failures[0], 'no response of the collector within 100 ms');
  await silent.done(1);
  t.is(silent.exported, 1);
  const flooded = new Tested(t, collector.port);
  collector.reply = (response) => {
    response.writeHead(200, PROTOBUF);
    const fill = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', fill);
    fill();
  };
  flooded.exporter.add(spans(1));
  await waitFor('a failure', () => flooded.failures.length > 0);
  t.regex(flooded.failures[0] ?? '', /malformed: it has more than 65536 bytes/);
  await flooded.done(1);
  t.deepEqual([flooded.exported, flooded.waiting], [1, 0], 'the status says that it has the spans: they are not sent again');
  collector.reply = undefined;
});

test('everything that waits is sent at the end, compressed if so configured', async (t) => {
  const collector = await startCollector(t);
  const tested = new Tested(t, collector.port, { interval: 60_000, batchSize: 100, limit: 100, gzip: true });
  tested.exporter.add(spans(50));
  await tested.exporter.finish();
  t.is(tested.exported, 50);
  t.is(collector.spans.length, 50);
  t.deepEqual(collector.errors, []);
});

test('a collector with https is verified with the certificates of the configuration', async (t) => {
  const file = selfSigned('localhost');
  const collector = await startCollector(t, 0, file);
  const https = (settings: Partial<ExportSettings>): Tested =>
    new Tested(t, collector.port, { endpoint: `https://localhost:${collector.port}`, ...settings });
  const trusting = https({ certificates: file.cert });
  trusting.exporter.add(spans(3));
  await trusting.done(3);
  t.is(trusting.exported, 3);
  for (const certificates of [undefined, selfSigned('localhost').cert]) {
    const other = https({ certificates });
    other.exporter.add(spans(1));
    await waitFor('a failure', () => other.failures.length > 0);
    t.regex(other.failures[0] ?? '', /certificate/);
    t.is(other.exported, 0);
  }
  t.is(collector.spans.length, 3);
});
