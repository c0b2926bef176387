import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { startCollector, type Collector, type ReceivedSpan } from './collector.js';

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;

const setup = shared(async (scope): Promise<{ srv: Srv; collector: Collector }> => {
  const collector = await startCollector(scope);
  const backend = await httpBackend(scope, (request, response) => {
    response.statusCode = Number(/status=(\d+)/.exec(request.url ?? '')?.[1] ?? 200);
    response.end(JSON.stringify(request.headers));
  });
  const srv = await startSrv(
    scope,
    `load_module modules/srv_http_telemetry_module.so; worker_processes 1; events {}
    http {
      otel_exporter { endpoint http://127.0.0.1:${collector.port}; interval 50ms; header X-Key secret; }
      otel_service_name shop;
      otel_resource_attr deployment.environment.name test;
      proxy_cache_path cache keys_zone=pages:1m;
      upstream pair { server 127.0.0.1:%%PORT_dead%%; server 127.0.0.1:${backend.port} backup; }
      upstream echo { server 127.0.0.1:${backend.port}; keepalive 4; }
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      server {
        listen 127.0.0.1:%%PORT_web%%;
        telemetry on;
        location /pair { proxy_pass http://pair; }
        location /on { proxy_pass http://echo; }
        location /off { telemetry off; proxy_pass http://echo; }
        location /zero { telemetry ratio 0; proxy_pass http://echo; location /zero/inner { proxy_pass http://echo; } }
        location /keep { telemetry ratio 0; telemetry_keep status>=500 time>1h; proxy_pass http://echo; }
        location /b3 { telemetry_propagators b3 b3multi tracecontext; proxy_pass http://echo; }
        location /extract { telemetry_context extract; proxy_pass http://echo; }
        location /inject { telemetry_context inject; proxy_pass http://echo; }
        location /ids { return 200 "$trace_id $span_id $parent_id $trace_sampled"; }
        location /named { telemetry_attribute customer $arg_c; telemetry_attribute none $arg_x; otel_span_name "buy $arg_c"; return 200 fine; }
        location /auth { auth_request /check; proxy_pass http://echo; }
        location = /check { internal; proxy_pass http://echo/checked; }
        location /cached { proxy_cache pages; proxy_cache_valid 1m; proxy_pass http://echo; }
        location ~ ^/jump { rewrite ^ /on/jumped last; }
      }
      server { listen 127.0.0.1:%%PORT_quiet%%; location / { proxy_pass http://echo; } location /on { telemetry on; proxy_pass http://echo; } }
    }`,
  );
  return { srv, collector };
});

interface Asked {
  readonly srv: Srv;
  /** Header fields that the member got. */
  readonly fields: IncomingHttpHeaders;
  readonly body: string;
  readonly traceId: string;
  /** The spans of the trace, when as many have arrived. */
  readonly spans: (count: number) => Promise<readonly ReceivedSpan[]>;
}

/** Sends a request with a context of its own. */
async function ask(path: string, { headers = {}, flags = '01', port = 'web' }: AskOptions = {}): Promise<Asked> {
  const { srv, collector } = await setup();
  const traceId = randomBytes(16).toString('hex');
  const own = flags === '' ? {} : { traceparent: `00-${traceId}-00f067aa0ba902b7-${flags}` };
  const { body } = await get(srv.port(port), path, { headers: { ...own, ...headers } });
  const fields = body.startsWith('{') ? (JSON.parse(body) as IncomingHttpHeaders) : {};
  return { srv, fields, body, traceId, spans: (count) => collector.waitForSpans(count, (span) => span.traceId === traceId) };
}
interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Of its traceparent; empty: it has none. */
  readonly flags?: string;
  readonly port?: string;
}

const ofKind = (spans: readonly ReceivedSpan[], kind: number): ReceivedSpan => spans.find((span) => span.kind === kind)!;

test('a request and its attempts are spans of one trace, with the names of the conventions', async (t) => {
  const { srv, collector } = await setup();
  const asked = await ask('/pair?a=b&sig=secret', { headers: { 'user-agent': Buffer.from('café').toString('latin1') } });
  const spans = await asked.spans(3);
  const [request, failed, passed] = [ofKind(spans, SERVER), ...spans.filter(({ kind }) => kind === CLIENT)];
  t.like(request, { name: 'GET /pair', parentId: '00f067aa0ba902b7', status: 0 });
  t.like(request.attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.route': '/pair',
    'url.scheme': 'http',
    'url.path': '/pair',
    'url.query': 'a=b&sig=REDACTED',
    'server.address': '127.0.0.1',
    'server.port': srv.port('web'),
    'client.address': '127.0.0.1',
    'network.protocol.version': '1.1',
    'user_agent.original': 'café',
  });
  t.like(failed, { name: 'GET', parentId: request.spanId, status: 2 });
  t.regex(failed?.message ?? '', /^connect\(\) failed \(111: Connection refused\)/);
  t.like(failed?.attributes, { 'error.type': 'connection_refused', 'server.port': srv.port('dead'), 'srv.upstream': 'pair' });
  t.like(passed, { parentId: request.spanId, status: 0 });
  t.like(passed?.attributes, {
    'http.request.resend_count': 1,
    'http.response.status_code': 200,
    'srv.connection.reused': false,
    'network.peer.address': '127.0.0.1',
  });
  t.regex(String(passed?.attributes['url.full']), /^http:\/\/127\.0\.0\.1:\d+\/pair\?a=b&sig=REDACTED$/);
  t.true(spans.every(({ start, end }) => start >= request.start && end <= request.end));
  t.like(collector.resources[0], { 'service.name': 'shop', 'deployment.environment.name': 'test' });
  t.is(collector.requests[0]?.headers['x-key'], 'secret');
  t.true((await (await ask('/on')).spans(2)).length === 2);
  const reused = ofKind(await (await ask('/on')).spans(2), CLIENT);
  t.true(reused.attributes['srv.connection.reused']);
});

test('the context of a client goes on to members, with the span of the attempt', async (t) => {
  const { fields, traceId, spans } = await ask('/on', {
    headers: { tracestate: 'rojo=00f067aa0ba902b7 , congo=t61rcWkgMzE', baggage: 'user=ada;ttl=1, kind=tea' },
  });
  const attempt = ofKind(await spans(2), CLIENT);
  t.is(fields['traceparent'], `00-${traceId}-${attempt.spanId}-01`);
  t.is(fields['tracestate'], 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE');
  t.is(attempt.state, 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE');
  t.is(fields['baggage'], 'user=ada;ttl=1, kind=tea');
  t.is((await ask('/on', { headers: { baggage: 'not valid' } })).fields['baggage'], undefined);
  const extracted = await ask('/extract');
  t.is(extracted.fields['traceparent'], `00-${extracted.traceId}-00f067aa0ba902b7-01`);
  await extracted.spans(2);
  const injected = await ask('/inject');
  t.regex(String(injected.fields['traceparent']), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  t.false(String(injected.fields['traceparent']).includes(injected.traceId));
  t.is(ofKind(await (await ask('/jump')).spans(2), SERVER).name, 'GET /on');
  t.is((await (await ask('/on', { port: 'quiet' })).spans(2)).length, 2);
});

test('fields that break the rules begin another trace', async (t) => {
  const trace = 'a'.repeat(32);
  const values = [
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `00-${trace}-${'0'.repeat(16)}-01`,
    `ff-${trace}-00f067aa0ba902b7-01`,
    `00-${trace.toUpperCase()}-00f067aa0ba902b7-01`,
    `00-${trace}-00f067aa0ba902b7-01-more`,
    `00-${trace}-00f067aa0ba902b7`,
    `01-${trace}-00f067aa0ba902b7-01${'x'.repeat(10)}`,
    `00-${trace}-00f067aa0ba902b7-0g`,
    '',
  ];
  for (const traceparent of values) {
    const { fields } = await ask('/on', { flags: '', headers: { traceparent, tracestate: 'a=b' } });
    t.regex(String(fields['traceparent']), /^00-(?!0{32}|a{32})[0-9a-f]{32}-[0-9a-f]{16}-01$/, traceparent);
    t.is(fields['tracestate'], undefined);
  }
  const later = await ask('/on', { flags: '', headers: { traceparent: `01-${trace}-00f067aa0ba902b7-01-more` } });
  t.regex(String(later.fields['traceparent']), new RegExp(`^00-${trace}-[0-9a-f]{16}-01$`));
  const broken = await ask('/on', { headers: { tracestate: 'a=1,a=2' } });
  t.is(broken.fields['tracestate'], undefined);
  t.true(String(broken.fields['traceparent']).includes(broken.traceId));
});

test('contexts come and go as B3 fields', async (t) => {
  const trace = randomBytes(8).toString('hex');
  const single = await ask('/b3', { flags: '', headers: { b3: `${trace}-00f067aa0ba902b7-1` } });
  const long = `0000000000000000${trace}`;
  t.regex(String(single.fields['b3']), new RegExp(`^${long}-[0-9a-f]{16}-1$`));
  t.is(single.fields['x-b3-traceid'], long);
  t.is(single.fields['x-b3-sampled'], '1');
  t.true(String(single.fields['traceparent']).startsWith(`00-${long}-`));
  const several = await ask('/b3', { flags: '', headers: { 'X-B3-TraceId': long, 'X-B3-SpanId': '00f067aa0ba902b7', 'X-B3-Flags': '1' } });
  t.is(several.fields['x-b3-traceid'], long);
  t.is(several.fields['x-b3-flags'], undefined);
  const denied = await ask('/b3', { flags: '', headers: { b3: `${trace}-00f067aa0ba902b7-0` } });
  t.is(denied.fields['b3'], `${trace}-00f067aa0ba902b7-0`);
});

test('requests that are not sampled pass as they came, and are not recorded', async (t) => {
  const { collector } = await setup();
  const quiet = [await ask('/on', { flags: '00' }), await ask('/off'), await ask('/keep', { flags: '00' })];
  t.deepEqual(
    quiet.slice(0, 2).map(({ fields }) => fields['traceparent']),
    quiet.slice(0, 2).map(({ traceId }, at) => `00-${traceId}-00f067aa0ba902b7-0${at}`),
  );
  for (const path of ['/zero', '/zero/inner', '/keep'])
    t.true(
      ['undefined', '00'].includes(
        String((await ask(path, { flags: '' })).fields['traceparent'])
          .slice(-9)
          .replace(/^.*-/, ''),
      ),
      path,
    );
  // A client's decision holds where the ratio is 0.
  await (await ask('/zero/inner')).spans(2);
  const kept = await ask('/keep?status=503', { flags: '00' });
  t.true(String(kept.fields['traceparent']).endsWith('-00'));
  t.deepEqual(
    (await kept.spans(2)).map(({ status, attributes }) => [status, attributes['error.type']]),
    [
      [2, '503'],
      [2, '503'],
    ],
  );
  t.false(collector.spans.some(({ traceId }) => quiet.some((asked) => asked.traceId === traceId)));
  t.false(
    collector.spans.some(
      ({ attributes, parentId, kind }) => kind === SERVER && parentId === '' && /zero|keep/.test(String(attributes['url.path'])),
    ),
  );
});

test('subrequests and looks into a cache are spans', async (t) => {
  const spans = await (await ask('/auth')).spans(4);
  const request = ofKind(spans, SERVER);
  const check = ofKind(spans, INTERNAL);
  t.like(check, { name: 'subrequest /check', parentId: request.spanId });
  t.deepEqual(
    spans
      .filter(({ kind }) => kind === CLIENT)
      .map(({ parentId }) => parentId)
      .toSorted(),
    [check.spanId, request.spanId].toSorted(),
  );
  const [missed, hit] = [await (await ask('/cached')).spans(3), await (await ask('/cached')).spans(2)];
  t.is(ofKind(missed, INTERNAL).attributes['srv.cache.status'], 'MISS');
  t.is(ofKind(hit, INTERNAL).attributes['srv.cache.status'], 'HIT');
  t.is(ofKind(hit, SERVER).attributes['srv.cache.status'], 'HIT');
});

test('variables have the ids, and attributes and names are those of the configuration', async (t) => {
  const { body, traceId, spans } = await ask('/ids');
  const [span] = await spans(1);
  t.is(body, `${traceId} ${span?.spanId} 00f067aa0ba902b7 1`);
  t.is((await ask('/ids', { flags: '00' })).body, '   0');
  const [named] = await (await ask('/named?c=ada')).spans(1);
  t.is(named?.name, 'buy ada');
  t.is(named?.attributes['customer'], 'ada');
  t.false('none' in named!.attributes);
});

test('errors of the configuration are rejected', async (t) => {
  const errors: readonly (readonly [string, RegExp])[] = [
    ['telemetry maybe;', /invalid value "maybe"/],
    ['telemetry ratio;', /"ratio" requires a number/],
    ['telemetry ratio 1.5;', /invalid ratio "1\.5"/],
    ['telemetry on 0.5;', /invalid parameter "0\.5"/],
    ['telemetry_keep status>=high;', /invalid condition "status>=high"/],
    ['telemetry_propagators jaeger;', /invalid value "jaeger"/],
    ['otel_exporter { interval 1s; }', /"otel_exporter" requires "endpoint"/],
    ['otel_exporter { endpoint collector:4318; }', /invalid URL "collector:4318"/],
    ['otel_exporter { endpoint http://a:4318; metrics_interval 10ms; }', /invalid time "10ms"/],
    ['otel_exporter { endpoint http://a:4318; } telemetry_log all time>1s;', /"all" and "off" have no other parameters/],
    ['telemetry_log sometimes;', /invalid condition "sometimes"/],
  ];
  for (const [line, message] of errors) {
    const conf = `load_module modules/srv_http_telemetry_module.so; events {} http { ${line} server { listen 127.0.0.1:%%PORT_web%%; } }`;
    const { code, stderr } = await check(t, conf);
    t.is(code, 1, line);
    t.regex(stderr, message);
  }
});
