import { chmodSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test from 'ava';
import { makeToken } from '../../core/api/access/token-file.js';
import { httpBackend } from '../harness/backends.js';
import { authorization, line } from '../control/access-node.js';
import { get } from '../harness/client.js';
import { testWith } from '../harness/programs.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from '../control/node.js';
import { readOpenMetrics, readText, type ReadSample } from './open-metrics.js';

/** A name that would end its line, its label or the text if it were not escaped. */
const HOSTILE = 'q"uo\\te\n# EOF';

const tokens = { scraper: makeToken(), reader: makeToken(), other: makeToken() };

const node = shared(async (scope): Promise<Node> => {
  const prefix = tempFolder(scope);
  const lines = [
    line('scraper', tokens.scraper, 'read module:metrics'),
    line('reader', tokens.reader, 'read'),
    line('other', tokens.other, 'write module:kv'),
  ];
  chmodSync(writeInto(prefix, 'conf/api_tokens', lines.join('\n')), 0o600);
  const backend = await httpBackend(scope, (_, response) => response.end('hello'));
  return startNode(scope, {
    prefix,
    main: `load_module modules/srv_http_vts_module.so; load_module modules/srv_http_status_zone_module.so;
      load_module modules/srv_metrics_module.so;`,
    controlMain: 'load_module modules/srv_metrics_module.so; load_module modules/srv_http_vts_api_module.so;',
    http: `
      vhost_traffic_status_zone;
      vts_filter_max_node 3;
      upstream demo { zone demo 64k; server 127.0.0.1:1 down; server 127.0.0.1:${backend.port}; }`,
    server: `
      server_name a.example;
      location / { proxy_pass http://demo; }
      location /keys { vts_filter_by_set_key $arg_key kind; return 200; }
      location /hostile { status_zone '${HOSTILE.replace('\\', '\\\\')}'; return 200; }`,
    control: `server {
      listen 127.0.0.1:%%PORT_metrics%%;
      location /metrics { metrics; gzip on; gzip_types text/plain application/openmetrics-text; }
    }
    server { listen 127.0.0.1:%%PORT_tokens%%; api_tokens api_tokens; api_failed_attempts 0 1m; location /metrics { metrics; } location /api { dyn_module_api; } }`,
  });
});

const OPEN = { Accept: 'application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.4,*/*;q=0.1' };

async function scraped(headers: Readonly<Record<string, string>> = {}): Promise<{ body: string; type: string }> {
  const { srv } = await node();
  const { status, body, headers: fields } = await get(srv.port('metrics'), '/metrics', { headers });
  if (status !== 200) throw new Error(`${status}: ${body}`);
  return { body, type: String(fields['content-type']) };
}

function valueOf(samples: readonly ReadSample[], name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
  const wanted = Object.entries(labels);
  const found = samples.filter((sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value));
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

test.serial('requests, members and the node itself are in the text format', async (t) => {
  const { srv } = await node();
  for (let round = 0; round < 7; round++) t.is((await get(srv.port('web'), '/')).body, 'hello');
  const samples = await waitFor('the requests', async () => {
    const found = readText((await scraped()).body);
    return valueOf(found, 'srv_http_requests_total', { server: 'a.example' }) === 7 && found;
  });
  t.is(valueOf(samples, 'srv_http_responses_total', { server: 'a.example', code: '200' }), 7);
  t.is(valueOf(samples, 'srv_http_upstream_attempts_total', { upstream: 'demo' }), 7);
  t.is(valueOf(samples, 'srv_http_member_up', { server: '127.0.0.1:1' }), 0);
  t.is(valueOf(samples, 'srv_http_member_state', { server: '127.0.0.1:1', state: 'down' }), 1);
  t.is(valueOf(samples, 'srv_http_request_duration_seconds_bucket', { server: 'a.example', le: '+Inf' }), 7);
  t.is(valueOf(samples, 'srv_workers'), 2);
  t.true(valueOf(samples, 'process_resident_memory_bytes')! > 2 ** 20);
  t.true(valueOf(samples, 'srv_config_version')! >= 0);
  t.true(valueOf(samples, 'srv_thread_busy_seconds_total', { thread: 'main' })! > 0);
  t.regex((await scraped()).type, /^text\/plain; version=0\.0\.4/);
});

test.serial('every thread says how busy it is', async (t) => {
  await waitFor('the workers', async () => {
    const samples = readText((await scraped()).body);
    return ['main', 'worker0', 'worker1'].every((thread) => valueOf(samples, 'srv_thread_loop_delay_seconds_count', { thread })! > 0);
  });
  t.pass();
});

test.serial('OpenMetrics, where Accept prefers it, has units and when counters began', async (t) => {
  const { body, type } = await scraped(OPEN);
  t.is(type, 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  const families = readOpenMetrics(body);
  const duration = families.find(({ name }) => name === 'srv_http_request_duration_seconds');
  t.is(duration?.type, 'histogram');
  t.is(duration?.unit, 'seconds');
  const requests = families.find(({ name }) => name === 'srv_http_requests');
  const created = valueOf(requests!.samples, 'srv_http_requests_created', { server: 'a.example' })!;
  t.true(Math.abs(Date.now() / 1000 - created) < 600);
});

test.serial('label values are escaped, and groups beyond their budget are one', async (t) => {
  const { srv } = await node();
  await get(srv.port('web'), '/hostile');
  for (const key of ['a%0Ab', 'b', 'c', 'd', 'e']) await get(srv.port('web'), `/keys?key=${key}`);
  const families = await waitFor('the requests', async () => {
    const found = readOpenMetrics((await scraped(OPEN)).body);
    const groups = found.find(({ name }) => name === 'srv_http_group_requests')?.samples ?? [];
    return valueOf(groups, 'srv_http_group_requests_total') === 5 && found;
  });
  const samples = families.flatMap((family) => family.samples);
  t.is(valueOf(samples, 'srv_http_location_requests_total', { location: HOSTILE }), 1);
  t.is(valueOf(samples, 'srv_http_group_requests_total', { key: 'other' }), 2);
});

test.serial('a scraper gets it compressed; HEAD has no body', async (t) => {
  const { srv } = await node();
  const response = await fetch(`http://127.0.0.1:${srv.port('metrics')}/metrics`, { method: 'HEAD' });
  t.is(response.status, 200);
  const zipped = await fetch(`http://127.0.0.1:${srv.port('metrics')}/metrics`, { headers: { 'Accept-Encoding': 'gzip' } });
  t.is(zipped.headers.get('content-encoding'), 'gzip');
  t.true(readText(await zipped.text()).length > 50);
  t.is((await get(srv.port('metrics'), '/metrics', { method: 'POST', body: '' })).status, 405);
});

test.serial('a scraper needs a token for the metrics where the API needs tokens, and may do nothing else', async (t) => {
  const { srv } = await node();
  const status = async (path: string, token?: string): Promise<number> =>
    (await get(srv.port('tokens'), path, token === undefined ? {} : { headers: authorization(token) })).status;
  t.is(await status('/metrics'), 401);
  t.is(await status('/metrics', tokens.scraper), 200);
  t.is(await status('/api/metrics', tokens.scraper), 200);
  t.is(await status('/metrics', tokens.reader), 200);
  t.is(await status('/metrics', tokens.other), 403);
  t.is(await status('/api/v1/vts', tokens.scraper), 403);
  t.is(await status('/metrics/v1/vts', tokens.reader), 404);
});

const hasHostile = async (): Promise<boolean> => (await scraped()).body.includes('location="q');

test.serial('the figures of a server that is gone are shown once more, then no longer', async (t) => {
  const { srv } = await node();
  t.true(await hasHostile());
  await srv.configure(srv.read('conf/srv.conf').replace(/location \/hostile \{[^}]*\}/, ''));
  srv.signal('SIGHUP');
  await waitFor('its end', async () => !(await hasHostile()));
  t.pass();
});

testWith('promtool')('promtool has nothing against the metrics', async (t) => {
  const { body } = await scraped();
  const promtool = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] });
  promtool.stdin.end(body);
  const [out] = await Promise.all([text(promtool.stderr), once(promtool, 'close'), text(promtool.stdout)]);
  t.is(promtool.exitCode, 0, out);
});
