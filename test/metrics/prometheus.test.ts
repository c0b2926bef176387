import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { findProgram, testWith } from '../harness/programs.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from '../control/node.js';

const DOCS = join(import.meta.dirname, '../../../docs/monitoring');
const file = selfSigned('tls.example');

/** A node that has something of everything that the shipped queries ask for. */
const node = shared(async (scope): Promise<Node> => {
  const backend = await httpBackend(scope, (request, response) => {
    setTimeout(() => response.writeHead(request.url === '/broken' ? 500 : 200).end('hello'), request.url === '/slow' ? 40 : 0);
  });
  const one = await startNode(scope, {
    main: `load_module modules/srv_http_vts_module.so; load_module modules/srv_http_telemetry_module.so; load_module modules/srv_metrics_module.so; load_module modules/srv_http_dyn_ssl_module.so;`,
    controlMain: 'load_module modules/srv_metrics_module.so; load_module modules/srv_http_vts_api_module.so;',
    files: { 'conf/tls.pem': file.cert, 'conf/tls.key': file.key },
    http: `
      vhost_traffic_status_zone;
      limit_req_zone all zone=limited:64k rate=1r/m;
      proxy_cache_path cached keys_zone=cached:64k;
      upstream demo { zone demo 64k; server 127.0.0.1:1 down; server 127.0.0.1:${backend.port} max_fails=0; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name tls.example; ssl_certificate tls.pem; ssl_certificate_key tls.key; }`,
    server: `
      server_name a.example;
      telemetry on;
      location / { proxy_pass http://demo; }
      location /cached { proxy_pass http://demo; proxy_cache cached; proxy_cache_valid 1m; }
      location /limited { limit_req zone=limited; proxy_pass http://demo; }`,
    stream: `upstream raw { zone raw 64k; server 127.0.0.1:1 down; } server { listen 127.0.0.1:%%PORT_raw%%; proxy_pass raw; }`,
    control: 'server { listen 127.0.0.1:%%PORT_metrics%%; location /metrics { metrics; gzip on; gzip_types *; } }',
  });
  const requests: readonly (readonly [path: string, times: number])[] = [
    ['/', 20],
    ['/slow', 10],
    ['/broken', 3],
    ['/cached', 2],
    ['/limited', 2],
  ];
  for (const [path, times] of requests) for (let round = 0; round < times; round++) await get(one.srv.port('web'), path);
  return one;
});

/** @param features that are turned on @returns its port */
async function startPrometheus(scope: Scope, features: readonly string[] = []): Promise<number> {
  const [port, { srv }] = [await freePort(scope), await node()];
  const folder = tempFolder(scope, {
    'prometheus.yml': `
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: ['${DOCS}/alerts.yml']
scrape_configs: [{ job_name: srv, static_configs: [{ targets: ['127.0.0.1:${srv.port('metrics')}'] }] }]`,
  });
  const flags = features.length === 0 ? [] : [`--enable-feature=${features.join(',')}`];
  const paths = [...flags, `--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`];
  const child = spawn(findProgram('prometheus')!, [...paths, `--web.listen-address=127.0.0.1:${port}`], {
    stdio: 'ignore',
  });
  scope.teardown(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await waitFor('two scrapes', async () => {
    const found = await asked(port, 'sum_over_time(up[1m]) > 2').catch(() => []);
    return found.length > 0;
  });
  return port;
}

const prometheus = shared((scope: Scope) => startPrometheus(scope));

interface Point {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

async function asked(port: number, query: string): Promise<readonly Point[]> {
  const { body } = await get(port, `/api/v1/query?query=${encodeURIComponent(query)}`);
  const { status, data, error } = JSON.parse(body) as { status: string; error?: string; data: { result: readonly Point[] } };
  if (status !== 'success') throw new Error(`${query}: ${error}`);
  return data.result;
}

const testPrometheus = testWith('prometheus');

testPrometheus('Prometheus has the figures of the API', async (t) => {
  const port = await prometheus();
  const { json } = await (await node()).call('GET', '/vts');
  const { servers, upstreams } = json as {
    servers: Record<
      string,
      { requests: number; sent: number; responses: { codes: Record<string, number> }; times: { sum: number; p90: number } }
    >;
    upstreams: Record<string, { attempts: number; times: { count: number } }>;
  };
  const server = servers['a.example']!;
  const one = async (query: string): Promise<number> => Number((await asked(port, query))[0]?.value[1]);
  t.is(server.requests, 37);
  t.is(await one('srv_http_requests_total{server="a.example"}'), 37);
  t.is(await one('srv_http_sent_bytes_total{server="a.example"}'), server.sent);
  t.is(await one('srv_http_responses_total{server="a.example",code="500"}'), 3);
  t.is(await one('sum(srv_http_responses_total{server="a.example"})'), 37);
  t.is(await one('srv_http_request_duration_seconds_count{server="a.example"}'), 37);
  t.is(await one('srv_http_request_duration_seconds_sum{server="a.example"}'), server.times.sum / 1000);
  t.is(await one('srv_http_upstream_attempts_total{upstream="demo"}'), upstreams['demo']!.attempts);
  // Ten of 37 take 40 ms and more: a bucket that ends at a power of two has the quantile.
  const quantile = await one('histogram_quantile(0.9, srv_http_request_duration_seconds_bucket{server="a.example"})');
  t.true(quantile >= server.times.p90 / 2000 && quantile <= server.times.p90 / 500, `${quantile} for ${server.times.p90} ms`);
});

testPrometheus('a Prometheus that asks for them has native histograms, and the traces of requests', async (t) => {
  const port = await startPrometheus(t, ['native-histograms', 'exemplar-storage']);
  const { json } = await (await node()).call('GET', '/vts?group=servers');
  const { servers } = json as { servers: Record<string, { times: { p90: number; count: number } }> };
  const { p90, count } = servers['a.example']!.times;
  const one = async (query: string): Promise<number> => Number((await asked(port, query))[0]?.value[1]);
  t.is(await one('histogram_count(srv_http_request_duration_seconds{server="a.example"})'), count);
  const quantile = await one('histogram_quantile(0.9, srv_http_request_duration_seconds{server="a.example"})');
  t.true(Math.abs(quantile * 1000 - p90) <= p90 / 10 + 1, `${quantile} s for ${p90} ms`);
  const range = `start=${Date.now() / 1000 - 600}&end=${Date.now() / 1000 + 60}`;
  const { body } = await get(port, `/api/v1/query_exemplars?query=srv_http_request_duration_seconds&${range}`);
  const { data } = JSON.parse(body) as { data: { exemplars: { labels: Record<string, string>; value: string }[] }[] };
  const exemplars = data.flatMap((series) => series.exemplars);
  t.true(exemplars.length > 0, body);
  for (const { labels } of exemplars) t.regex(`${labels['trace_id']} ${labels['span_id']}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
});

/** Queries of the dashboard as Grafana sends them. */
function dashboardQueries(): string[] {
  const { panels, annotations } = JSON.parse(readFileSync(join(DOCS, 'grafana.json'), 'utf8')) as {
    panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
    annotations: { list: readonly { readonly expr: string }[] };
  };
  const queries = [...panels.flatMap(({ targets = [] }) => targets), ...annotations.list].map(({ expr }) => expr);
  return queries.map((query) => query.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:instance|server|upstream)/g, '.*'));
}

/** Metrics of nodes that are not alone, and of Prometheus itself. */
const ELSEWHERE = /^srv_cluster_|^up$/;

testPrometheus('each query of the dashboard and of the alerts finds its metrics', async (t) => {
  const port = await prometheus();
  const queries = dashboardQueries();
  t.true(queries.length > 25);
  for (const query of queries) await t.notThrowsAsync(asked(port, query));
  const alerts = readFileSync(join(DOCS, 'alerts.yml'), 'utf8').replaceAll(/ action: .*/g, '');
  const names = new Set([...queries, alerts].flatMap((query) => query.match(/\b(?:srv|process)_[a-z_]+(?=[{[ )])/g) ?? []));
  t.true(names.size > 30);
  for (const name of names) if (!ELSEWHERE.test(name)) t.true((await asked(port, name)).length > 0, name);
});

testPrometheus('Prometheus evaluates the alerts', async (t) => {
  const { body } = await get(await prometheus(), '/api/v1/rules');
  const { data } = JSON.parse(body) as { data: { groups: readonly { readonly rules: readonly { name: string; lastError?: string }[] }[] } };
  const rules = data.groups.flatMap((group) => group.rules);
  t.is(rules.length, 12);
  t.deepEqual(
    rules.flatMap(({ lastError }) => lastError ?? []),
    [],
  );
});

testWith('promtool')('promtool: the alerts fire when they should', async (t) => {
  const promtool = spawn('promtool', ['test', 'rules', join(DOCS, 'alerts.test.yml')], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out] = await Promise.all([text(promtool.stdout), once(promtool, 'close'), text(promtool.stderr)]);
  t.is(promtool.exitCode, 0, out);
});
