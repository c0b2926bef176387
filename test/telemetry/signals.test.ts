/** Figures and log records by OTLP, to a collector with https. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { startCollector, type Collector, type ReceivedLog } from './collector.js';

const file = selfSigned('localhost');
const HOSTILE = 'q"uo\\te é\u2028';

const setup = shared(async (scope): Promise<{ srv: Srv; collector: Collector }> => {
  const collector = await startCollector(scope, 0, file);
  const backend = await httpBackend(scope, (_, response) => response.end('hello'));
  const srv = await startSrv(
    scope,
    `load_module modules/srv_http_vts_module.so; load_module modules/srv_metrics_module.so; load_module modules/srv_http_telemetry_module.so;
    load_module modules/srv_http_status_zone_module.so;
    worker_processes 1; error_log logs/error.log info; events {}
    http {
      vhost_traffic_status_zone;
      otel_exporter {
        endpoint https://localhost:${collector.port}; trusted_certificate collector.pem; interval 50ms;
        metrics on; metrics_interval 1s; logs warn;
      }
      telemetry_attribute customer $arg_c;
      upstream demo { zone demo 64k; server 127.0.0.1:1 max_fails=0; server 127.0.0.1:${backend.port} max_fails=0; }
      server {
        listen 127.0.0.1:%%PORT_web%%; server_name a.example;
        location / { status_zone '${HOSTILE.replaceAll('\\', '\\\\')}'; proxy_pass http://demo; }
        location /all { telemetry on; telemetry_log all; return 200 fine; }
        location /failed { telemetry_log status>=500 attempts>1; return 503; }
        location /fine { telemetry_log status>=500 attempts>1; return 200; }
        location /denied { deny all; }
      }
    }`,
    { files: { 'conf/collector.pem': file.cert } },
  );
  return { srv, collector };
});

async function logOf(matches: (log: ReceivedLog) => boolean): Promise<ReceivedLog> {
  const { collector } = await setup();
  return waitFor('the log record', () => {
    if (collector.errors.length > 0) throw new Error(collector.errors.join());
    return collector.logs.find(matches);
  });
}

test('figures are those of the server, each second', async (t) => {
  const { srv, collector } = await setup();
  for (let round = 0; round < 6; round++) t.is((await get(srv.port('web'), '/')).body, 'hello');
  const last = (name: string, attributes: object) =>
    collector.figures.findLast(
      (one) => one.name === name && JSON.stringify({ ...one.attributes, ...attributes }) === JSON.stringify(one.attributes),
    );
  const place = { location: HOSTILE };
  const figure = await waitFor('the requests', () => {
    if (collector.errors.length > 0) throw new Error(collector.errors.join());
    const found = last('srv_http_location_requests', place);
    return found?.value === 6 && found;
  });
  t.is(figure.unit, '1');
  t.like(last('srv_http_location_request_duration', place), { value: 6, unit: 's' });
  t.like(last('srv_http_location_sent', place), { unit: 'By' });
  t.is(last('srv_http_upstream_responses', { upstream: 'demo', code: '200' })?.value, 6);
  t.is(last('srv_http_member_up', { upstream: 'demo', server: '127.0.0.1:1' })?.value, 1);
  t.is(last('srv_workers', {})?.value, 1);
  const before = collector.figures.length;
  await waitFor('the next export', () => collector.figures.length > before);
});

test('requests are log records: all of them or the ones that meet a condition, with the attributes of spans', async (t) => {
  const { srv, collector } = await setup();
  await get(srv.port('web'), '/all?c=caf%C3%A9&sig=secret', { headers: { 'user-agent': 'a "quoted" agent' } });
  const log = await logOf(({ attributes }) => attributes['url.path'] === '/all');
  t.is(log.body, '"GET /all?c=caf%C3%A9&sig=REDACTED HTTP/1.1" 200');
  t.is(log.level, 'info');
  t.like(log.attributes, {
    'http.request.method': 'GET',
    'http.response.status_code': 200,
    'http.route': '/all',
    'url.query': 'c=caf%C3%A9&sig=REDACTED',
    'user_agent.original': 'a "quoted" agent',
    customer: 'caf%C3%A9',
  });
  const [span] = await collector.waitForSpans(1, ({ attributes }) => attributes['url.path'] === '/all');
  t.is(log.traceId, span?.traceId ?? '');
  await get(srv.port('web'), '/fine');
  await get(srv.port('web'), '/failed');
  const failed = await logOf(({ attributes }) => attributes['url.path'] === '/failed');
  t.deepEqual([failed.severity, failed.level, failed.traceId], [17, 'error', '']);
  t.false(collector.logs.some(({ attributes }) => attributes['url.path'] === '/fine'));
});

test('lines of the error log are log records, from their level on', async (t) => {
  const { srv, collector } = await setup();
  await get(srv.port('web'), '/denied');
  const { body, attributes, severity } = await logOf((log) => log.body.includes('forbidden'));
  t.is(body, 'access forbidden by rule');
  t.is(severity, 17);
  t.like(attributes, { 'client.address': '127.0.0.1', 'srv.worker': 0 });
  t.regex(String(attributes['srv.request']), /^GET \/denied HTTP\/1\.1$/);
  t.false(collector.logs.some(({ level }) => level === 'notice'));
  await srv.configure('this is wrong');
  srv.signal('SIGHUP');
  const own = await logOf((log) => log.level === 'emerg');
  t.is(own.attributes['srv.worker'], -1);
});
