import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { basename, join, resolve } from 'node:path';
import { connect } from 'node:tls';
import { once } from 'node:events';
import test from 'ava';
import { reply } from '../stream/reply.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { sharedNode } from './node.js';
import { PlusClient, type PlusServer } from './plus-client.js';
import { FIELDS, missingFields } from './plus-fields.js';

/** Calls, each with what it is answered: test/golden/plus-api. With UPDATE_GOLDEN=1 the answers are written again. */
const FOLDER = resolve(import.meta.dirname, '../../../test/golden/plus-api');
const LOAD = 'load_module modules/srv_http_plus_api_module.so;';
const tls = selfSigned('tls.example');

const shared = sharedNode({
  allowCrashes: true,
  main: `${LOAD} load_module modules/srv_http_status_zone_module.so; load_module modules/srv_http_vts_module.so; load_module modules/srv_stream_vts_module.so;`,
  controlMain: LOAD,
  control: 'server { listen 127.0.0.1:%%PORT_api%%; server_name nginx-plus-api; location /api { dyn_module_api; } }',
  http: `
    limit_req_zone $arg_key zone=rate:64k rate=1r/m;
    limit_conn_zone $arg_key zone=conns:64k;
    proxy_cache_path cache keys_zone=kept:64k max_size=1m;
    server { listen 127.0.0.1:%%PORT_behind%%; location / { add_header Cache-Control max-age=60; return 200 "kept text"; } }
    upstream demo { zone demo 256k; server 127.0.0.1:1; }
    upstream hashed { zone hashed 64k; hash $uri; server 127.0.0.1:2 max_conns=7; }
    upstream static { server 127.0.0.1:3; }
    upstream updated { zone updated 64k; }
    server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name tls.example; ssl_certificate tls.pem; ssl_certificate_key tls.key; return 200; }`,
  stream:
    'limit_conn_zone $remote_addr zone=sessions:64k; upstream db { zone db 64k; server 127.0.0.1:1; } server { listen 127.0.0.1:%%PORT_passed%%; proxy_pass db; } server { listen 127.0.0.1:%%PORT_stream%%; status_zone said; limit_conn sessions 9; return hello; }',
  server:
    'status_zone web; location / { status_zone hello; return 200 hello; } location /missing { status_zone other; return 404; } location /updated { proxy_pass http://updated; }' +
    'location /limited { limit_req zone=rate; limit_conn conns 1; stub_status; } location /cached { proxy_cache kept; proxy_pass http://127.0.0.1:%%PORT_behind%%; }' +
    'location /named { resolver 127.0.0.1:1 status_zone=dns ipv6=off; resolver_timeout 100ms; proxy_pass http://$arg_host; }',
  files: { 'conf/tls.pem': tls.cert, 'conf/tls.key': tls.key },
});

/** A call as the Go client or `curl -d` sends it. */
async function send(port: number, method: string, path: string, body: string, headers: Record<string, string> = {}) {
  const outgoing = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent: false });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [import('node:http').IncomingMessage];
  let text = '';
  for await (const piece of response.setEncoding('utf8')) text += String(piece);
  return { status: response.statusCode ?? 0, text };
}

function shown({ status, text }: { readonly status: number; readonly text: string }): string {
  const body = text === '' ? '' : `\n${JSON.stringify(JSON.parse(text), undefined, 1)}`;
  return `${status}${body}`.replaceAll(/"request_id": "[0-9a-f]{32}"/g, '"request_id": "*"');
}

for (const file of readdirSync(FOLDER).toSorted()) {
  test.serial(`calls and responses: ${basename(file, '.txt')}`, async (t) => {
    const node = await shared();
    const path = join(FOLDER, file);
    const results: string[] = [];
    const expected = readFileSync(path, 'utf8');
    for (const block of expected.trimEnd().split(/^-{3}\n/m)) {
      const [call = ''] = block.split('\n\n', 1);
      const [line = '', body = ''] = call.trimEnd().split('\n', 2);
      const [method = '', target = ''] = line.split(' ');
      const headers: Record<string, string> = body === '' ? {} : { 'content-type': 'application/x-www-form-urlencoded' };
      results.push(`${call.trimEnd()}\n\n${shown(await send(node.srv.port('api'), method, target, body, headers))}\n`);
    }
    const all = results.join('---\n');
    if (process.env['UPDATE_GOLDEN'] !== undefined) writeFileSync(path, all);
    t.is(all, expected);
  });
}

test.serial('the Go client brings an upstream to the servers it wants, and a second time changes nothing', async (t) => {
  const node = await shared();
  const client = new PlusClient(node.srv.port('api'));
  const path = 'http/upstreams/updated/servers';
  const servers = async (): Promise<string[]> => (await client.get<PlusServer[]>(path)).map(({ server }) => server);
  const first = [{ server: '127.0.0.2:8001' }, { server: '127.0.0.2:8002', weight: 5 }, { server: '127.0.0.2' }, { server: '[::1]:8003' }];
  await client.updateServers('updated', first);
  t.deepEqual(await servers(), ['127.0.0.2:8001', '127.0.0.2:8002', '127.0.0.2:80', '[::1]:8003']);
  t.is(client.writes.length, 4);
  await client.updateServers('updated', first);
  t.is(client.writes.length, 4);

  const settings = { max_conns: 321, max_fails: 21, fail_timeout: '12s', slow_start: '11s', route: 'route', backup: false, down: true };
  await client.updateServers('updated', [{ server: '127.0.0.2:8002', weight: 5, ...settings }, { server: '127.0.0.2:8004' }]);
  t.deepEqual(client.writes.slice(4), [`POST ${path}/`, `DELETE ${path}/0/`, `DELETE ${path}/2/`, `DELETE ${path}/3/`, `PATCH ${path}/1/`]);
  const [changed] = await client.get<PlusServer[]>(path);
  t.deepEqual(changed, { id: 1, server: '127.0.0.2:8002', weight: 5, ...settings, drain: false });
  await client.updateServers('updated', []);
  t.deepEqual(await servers(), []);
  t.is((await get(node.srv.port('web'), '/updated')).status, 502);
});

/** The reads of one scrape of the Prometheus exporter. */
const STATS =
  ',nginx,http/caches,processes,slabs,http/requests,ssl,http/server_zones,http/upstreams,http/location_zones,resolvers,http/limit_reqs,http/limit_conns,workers,connections'.split(
    ',',
  );

test.serial('the exporter reads every figure, and all are whole numbers from 0 on', async (t) => {
  const node = await shared();
  const client = new PlusClient(node.srv.port('api'));
  await get(node.srv.port('web'), '/');
  const responses = await Promise.all(STATS.map((path) => client.get<unknown>(path)));
  const numbersOf = (value: unknown): number[] =>
    typeof value === 'number' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(numbersOf) : [];
  for (const number of responses.flatMap(numbersOf)) t.true(Number.isSafeInteger(number) && number >= 0, String(number));
  t.true((responses[0] as string[]).includes('stream'));
});

test.serial('figures grow with traffic, are those of all workers, and can be set to zero', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const client = new PlusClient(port);
  const total = async (): Promise<number> => (await client.get<{ total: number }>('http/requests')).total;
  const before = await total();
  const accepted = (await client.get<{ accepted: number }>('connections')).accepted;
  for (let n = 0; n < 5; n++) await get(node.srv.port('web'), '/');
  t.is(await total(), before + 5);
  t.is((await client.get<{ accepted: number }>('connections')).accepted, accepted + 5);
  const workers = await client.get<{ id: number; http: { requests: { total: number } } }[]>('workers');
  t.deepEqual(
    workers.map(({ id }) => id),
    [0, 1],
  );
  t.is(
    workers.reduce((sum, { http }) => sum + http.requests.total, 0),
    before + 5,
  );
  t.deepEqual(await client.get('workers/1?fields=id'), { id: 1 });
  t.is((await send(port, 'DELETE', '/api/9/http/requests?dry_run=1', '')).status, 200);
  t.is(await total(), before + 5);
  for (const path of ['http/requests', 'connections', 'ssl', 'workers'])
    t.is((await send(port, 'DELETE', `/api/9/${path}`, '')).status, 204);
  t.is(await total(), 0);
  const idle = { connections: { accepted: 0, dropped: 0 }, http: { requests: { total: 0 } } };
  t.like(await client.get('workers'), [idle, idle]);
  t.like(await client.get('connections'), { accepted: 0, dropped: 0 });
});

test.serial('zones count the requests of servers and locations, those of both workers', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const client = new PlusClient(port);
  for (const path of ['http/server_zones/web', 'http/location_zones/hello']) await send(port, 'DELETE', `/api/9/${path}`, '');
  for (let n = 0; n < 6; n++) await get(node.srv.port('web'), '/');
  for (let n = 0; n < 3; n++) await get(node.srv.port('web'), '/missing');
  const zone = { processing: 0, requests: 9, discarded: 0 };
  const web = await waitFor('all requests', async () => {
    const found = await client.get<{ requests: number; responses: { total: number }; received: number; sent: number }>(
      'http/server_zones/web',
    );
    // A request is counted when it begins, its response when it is sent.
    return found.requests === 9 && found.responses.total === 9 && found;
  });
  t.like(web, zone);
  t.deepEqual(web.responses, { '1xx': 0, '2xx': 6, '3xx': 0, '4xx': 3, '5xx': 0, codes: { 200: 6, 404: 3 }, total: 9 });
  t.true(web.received > 9 * 30 && web.sent > 9 * 100);
  const zones = await client.get<Record<string, { requests: number }>>('http/location_zones?fields=requests');
  t.deepEqual(zones, { hello: { requests: 6 }, other: { requests: 3 } });
  t.deepEqual(await client.get('http/server_zones?fields='), ['web']);
  t.is((await send(port, 'GET', '/api/9/http/server_zones/none', '')).status, 404);
  t.is((await send(port, 'DELETE', '/api/9/http/location_zones/web', '')).status, 404);
});

test.serial('zones of stream count sessions', async (t) => {
  const node = await shared();
  const port = node.srv.port('api');
  const client = new PlusClient(port);
  for (let n = 0; n < 3; n++) t.is(await reply(node.srv.port('stream')), 'hello');
  await waitFor('all sessions', async () => (await client.get<{ connections: number }>('stream/server_zones/said')).connections === 3);
  t.deepEqual(await client.get('stream/server_zones'), {
    said: { processing: 0, connections: 3, sessions: { '2xx': 3, '4xx': 0, '5xx': 0, total: 3 }, discarded: 0, received: 0, sent: 15 },
  });
  t.is((await send(port, 'DELETE', '/api/9/stream/server_zones/said', '')).status, 204);
  t.like(await client.get('stream/server_zones/said'), { connections: 0, sent: 0 });
  t.is((await send(port, 'DELETE', '/api/9/stream/server_zones/none', '')).status, 404);
});

test.serial('handshakes are counted, failed ones and resumed sessions too', async (t) => {
  const node = await shared();
  const client = new PlusClient(node.srv.port('api'));
  const port = node.srv.port('tls');
  let session: Buffer | undefined;
  const shake = async (options: object): Promise<void> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, maxVersion: 'TLSv1.2', ...options });
    socket.on('secureConnect', () => {
      session ??= socket.getSession();
      // The response has come when the server knows that the handshake is over.
      socket.write('GET / HTTP/1.0\r\n\r\n');
      socket.resume();
    });
    await new Promise((resolve) => socket.on('error', () => undefined).on('close', resolve));
  };
  await shake({});
  await shake({ session });
  await shake({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' });
  t.deepEqual(
    await waitFor('the failed handshake', async () => {
      const ssl = await client.get<{ handshakes_failed: number }>('ssl');
      return ssl.handshakes_failed > 0 && ssl;
    }),
    {
      handshakes: 2,
      handshakes_failed: 1,
      session_reuses: 1,
      no_common_protocol: 1,
      no_common_cipher: 0,
      handshake_timeout: 0,
      peer_rejected_cert: 0,
    },
  );
});

test.serial('zones, the program, and a worker that was replaced', async (t) => {
  const node = await shared();
  const client = new PlusClient(node.srv.port('api'));
  const slabs = await client.get<Record<string, { pages: { used: number; free: number } }>>('slabs/');
  const { used, free } = slabs['demo']!.pages;
  // 256k are 64 pages.
  t.true(used > 0 && used + free >= 63 && used + free <= 65);
  t.deepEqual(await client.get('slabs/demo?fields=slots'), { slots: {} });
  t.true((await client.get<string[]>('slabs?fields=')).includes('hashed'));
  const nginx = await client.get<Record<string, unknown>>('nginx');
  t.like(nginx, { pid: node.srv.pid, generation: 1 });
  t.true(Date.parse(String(nginx['load_timestamp'])) <= Date.parse(String(nginx['timestamp'])));
  t.deepEqual(Object.keys(await client.get('nginx?fields=version,build')), ['version', 'build']);
  node.srv.signal('SIGHUP');
  await waitFor('the reload', async () => (await client.get<{ generation: number }>('nginx')).generation === 2);
  process.kill(node.helper('broker'), 'SIGKILL');
  await waitFor('another broker', () =>
    client.get<{ respawned: number }>('processes').then(
      ({ respawned }) => respawned === 1,
      () => false,
    ),
  );
});

test.serial('the controller calls it by the name of its unix socket', async (t) => {
  const node = await shared();
  const { status, text } = await send(node.srv.port('api'), 'GET', '/api/9/http/upstreams/?fields=', '', { host: 'nginx-plus-api' });
  t.is(`${status} ${text}`, '200 ["demo","hashed","updated"]');
});

test.serial('every version is served, with the upstreams of stream', async (t) => {
  const node = await shared();
  const call = async (method: string, path: string, body: unknown = ''): Promise<{ status: number; body: unknown }> => {
    const { status, text } = await send(node.srv.port('api'), method, `/api${path}`, body === '' ? '' : JSON.stringify(body));
    return { status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
  };
  const { body: versions } = await call('GET', '/');
  t.deepEqual(versions, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
  for (const version of versions as number[]) {
    t.is((await call('GET', `/${version}/nginx`)).status, 200);
    t.like(await call('GET', `/${version}/stream/upstreams?fields=zone`), { body: { db: { zone: 'db' } } });
  }
  t.is((await call('GET', '/10/nginx')).status, 404);
  t.like(await call('GET', '/8/stream'), { body: ['server_zones', 'limit_conns', 'keyvals', 'upstreams'] });
  t.deepEqual(await call('GET', '/8/stream/server_zones?fields='), { status: 200, body: ['said'] });
  const servers = '/8/stream/upstreams/db/servers';
  t.like(await call('POST', servers, { server: '127.0.0.1:5', weight: 2 }), { status: 201, body: { id: 1, weight: 2 } });
  t.like(await call('PATCH', `${servers}/1`, { weight: 3 }), { status: 200, body: { id: 1, weight: 3 } });
  t.like(await call('POST', servers, { server: '127.0.0.1:6', route: 'a' }), { status: 400 });
  t.like(await call('POST', servers, { server: '127.0.0.1' }), { status: 400 });
  t.like(await call('DELETE', `${servers}/1`), { status: 200, body: [{ id: 0 }] });
  t.like(await call('GET', '/8/stream/upstreams/demo'), { status: 404 });
  t.is((await call('DELETE', '/8/stream/upstreams/db')).status, 204);
});

test.serial('limits, caches and resolvers count for their zones, from the last reset on', async (t) => {
  const node = await shared();
  const client = new PlusClient(node.srv.port('api'));
  type Cache = { readonly miss: { readonly responses_written: number; readonly bytes_written: number } };
  const cache = (): Promise<Cache> => client.get<Cache>('http/caches/kept');
  const reset = async (path: string): Promise<number> => (await send(node.srv.port('api'), 'DELETE', `/api/9/${path}`, '')).status;
  for (const path of ['/limited?key=a', '/limited?key=a', '/limited?key=b', '/cached', '/named?host=none.example']) await node.web(path);
  t.is(await reply(node.srv.port('stream')), 'hello');
  t.deepEqual(await client.get('http/limit_reqs'), {
    rate: { passed: 2, delayed: 0, rejected: 1, delayed_dry_run: 0, rejected_dry_run: 0 },
  });
  t.deepEqual(await client.get('http/limit_conns/conns'), { passed: 2, rejected: 0, rejected_dry_run: 0 });
  t.like(await client.get('stream/limit_conns/sessions'), { rejected: 0 });
  await waitFor('the stored response', async () => (await cache()).miss.responses_written === 1);
  await node.web('/cached');
  const cached = await cache();
  t.like(cached, { cold: false, max_size: 1_048_576, hit: { responses: 1, bytes: 9 } });
  t.like(cached.miss, { responses: 1, bytes: 9, responses_written: 1 });
  t.true(cached.miss.bytes_written > 9);
  t.like(await client.get('resolvers/dns'), { requests: { name: 1, srv: 0 }, responses: { noerror: 0, timedout: 1 } });
  for (const path of [
    'http/limit_reqs/rate',
    'http/limit_conns/conns',
    'stream/limit_conns/sessions',
    'http/caches/kept',
    'resolvers/dns',
  ]) {
    t.is(await reset(path), 204, path);
    t.is(await reset(`${path}-other`), 404, path);
  }
  t.like(await client.get('http/limit_reqs/rate'), { passed: 0, rejected: 0 });
  t.like(await client.get('resolvers/dns'), { requests: { name: 0 } });
  t.like(await client.get('http/caches/kept'), { hit: { responses: 0, bytes: 0 } });
});

test.serial('each field of the published description, apart from the ones that the docs list as absent', async (t) => {
  const node = await shared();
  const client = new PlusClient(node.srv.port('api'));
  const member = JSON.stringify({ server: `127.0.0.1:${node.srv.port('behind')}`, max_conns: 5 });
  for (const upstream of ['http/upstreams/updated', 'stream/upstreams/db'])
    t.is((await send(node.srv.port('api'), 'POST', `/api/9/${upstream}/servers`, member)).status, 201);
  for (const path of ['/', '/updated', '/limited?key=fields', '/cached', '/named?host=fields.example'])
    await get(node.srv.port('web'), path);
  await waitFor('the first session', async () => {
    await get(node.srv.port('passed'), '/');
    const { peers } = await client.get<{ readonly peers: readonly { readonly response_time?: number }[] }>('stream/upstreams/db');
    return peers.at(-1)?.response_time !== undefined;
  });
  const missing: string[] = [];
  for (const [path, fields] of Object.entries(FIELDS)) missing.push(...missingFields(await client.get(path), fields, path));
  t.deepEqual(missing, []);
});
