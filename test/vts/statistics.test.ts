import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { shared } from '../harness/scope.js';
import { follow } from '../control/event-client.js';
import { startNode, type Node } from '../control/node.js';

/** An event of `/v1/vts/stream`. */
interface Followed extends Pick<Statistics, 'servers'> {
  readonly recent: { readonly count: number; readonly p50: number };
}

/** The JSON of `/v1/vts`, as far as the tests look into it. */
interface Statistics {
  readonly servers: Readonly<Record<string, Figures>>;
  readonly locations: Readonly<Record<string, Figures>>;
  readonly upstreams: Readonly<Record<string, Figures & { readonly servers: Readonly<Record<string, Figures>> }>>;
  readonly filters: Readonly<Record<string, { readonly keys: Readonly<Record<string, Figures>> }>>;
  readonly sample: number;
  readonly limits: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly groups: { readonly groups: number; readonly rejected: number };
}
interface Figures {
  readonly requests: number;
  readonly attempts: number;
  readonly failures: number;
  readonly retries: number;
  readonly received: number;
  readonly sent: number;
  readonly responses: Readonly<Record<string, number>> & { readonly codes: Readonly<Record<string, number>> };
  readonly methods: Readonly<Record<string, number>>;
  readonly times: { readonly count: number };
  readonly rates: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const node = shared(async (scope): Promise<Node> => {
  const backend = await httpBackend(scope, (request, response) => {
    if (request.url === '/slow') setTimeout(() => response.end('slow'), 120);
    else response.end('hello');
  });
  return startNode(scope, {
    main: 'load_module modules/srv_http_vts_module.so; load_module modules/srv_http_status_zone_module.so;',
    controlMain: 'load_module modules/srv_http_vts_api_module.so;',
    http: `
      vhost_traffic_status_zone;
      vts_filter_max_node 3;
      limit_req_zone $arg_key zone=rate:64k rate=1r/m;
      limit_conn_zone $arg_key zone=conns:64k;
      upstream demo { zone demo 64k; server 127.0.0.1:1 max_fails=0; server 127.0.0.1:${backend.port} max_fails=0; }
      server { listen 127.0.0.1:%%PORT_off%%; server_name off.example; vts off; location / { return 200; } }
      server { listen 127.0.0.1:%%PORT_zone%%; server_name b.example; status_zone named; location / { return 200; } }`,
    server: `
      server_name a.example;
      location / { proxy_pass http://demo; }
      location /counted { status_zone place; return 200 abc; }
      location /rate { limit_req zone=rate; limit_conn conns 5; stub_status; }
      location /burst { limit_req zone=rate burst=1 nodelay; stub_status; }
      location /dry { limit_req zone=rate; limit_req_dry_run on; stub_status; }
      location /keys { vts_filter_by_set_key $arg_key kind; return 200; }`,
  });
});

async function statistics(query = ''): Promise<Statistics> {
  const { json } = await (await node()).call('GET', `/vts${query}`);
  return json as Statistics;
}

test.serial('requests of servers are counted by name or status_zone, of locations by status_zone', async (t) => {
  const { srv } = await node();
  for (let round = 0; round < 5; round++) await get(srv.port('web'), '/counted');
  await get(srv.port('web'), '/counted', { method: 'POST', body: 'x' });
  await get(srv.port('zone'), '/');
  await get(srv.port('off'), '/');
  await waitFor('the requests', async () => (await statistics()).servers['named']?.requests === 1);
  const { servers, locations } = await statistics();
  t.deepEqual(Object.keys(servers).toSorted(), ['a.example', 'named']);
  t.is(locations['place']?.requests, 6);
  t.deepEqual(locations['place']?.methods, { GET: 5, POST: 1 });
  t.is(servers['a.example']?.responses['2xx'], 6);
  t.deepEqual(servers['a.example']?.responses.codes, { 200: 6 });
  t.is(servers['a.example']?.times.count, 6);
});

test.serial('attempts are counted by upstream and member, retries by server', async (t) => {
  const { srv } = await node();
  for (let round = 0; round < 10; round++) t.is((await get(srv.port('web'), '/')).body, 'hello');
  await waitFor('the attempts', async () => (await statistics()).upstreams['demo']?.responses.codes['200'] === 10);
  const { upstreams, servers } = await statistics();
  const demo = upstreams['demo']!;
  const [dead, live] = Object.entries(demo.servers).toSorted(([one], [other]) => one.length - other.length);
  t.is(live![1].responses.codes['200'], 10);
  t.is(dead![1].failures, dead![1].attempts);
  t.is(demo.attempts, live![1].attempts + dead![1].attempts);
  t.is(servers['a.example']?.retries, dead![1].attempts);
  t.is(demo.retries, dead![1].attempts);
});

test.serial('groups of a key are counted up to the budget, the rest in "other"', async (t) => {
  const { srv } = await node();
  for (const key of ['a', 'b', 'a', 'c', 'd', 'e', 'd', '', 'other']) await get(srv.port('web'), `/keys?key=${key}`);
  await waitFor('the groups', async () => (await statistics()).filters?.['kind']?.keys['other']?.requests === 4);
  const { filters, groups } = await statistics();
  const keys = Object.entries(filters['kind']!.keys).map(([key, { requests }]) => [key, requests]);
  t.deepEqual(Object.fromEntries(keys), { a: 2, b: 1, c: 1, other: 4 });
  t.is(groups.groups, 3);
});

async function withCall(): Promise<Pick<Node, 'call'>> {
  const one = await node();
  return { call: (...args) => one.call(...args) };
}

test.serial('figures can be filtered, and set to zero', async (t) => {
  const { call } = await withCall();
  const only = await statistics('?group=servers&name=named');
  t.deepEqual(Object.keys(only.servers), ['named']);
  t.false('upstreams' in only);
  t.deepEqual((await call('DELETE', '/vts?group=servers&name=named&dry_run=1')).json, { dry_run: true, diff: ['1 rows'] });
  t.is((await statistics()).servers['named']?.requests, 1);
  t.deepEqual((await call('DELETE', '/vts?group=servers&name=named')).json, { reset: 1 });
  const { servers } = await statistics();
  t.is(servers['named']?.requests, 0);
  t.is(servers['named']?.times.count, 0);
  t.true(servers['a.example']!.requests > 0);
  t.is((await call('DELETE', '/vts?name=unknown')).status, 404);
});

test.serial('a call waits until something is counted', async (t) => {
  const { srv } = await node();
  const { sample } = await statistics();
  await waitFor('a sample without requests', async () => (await statistics()).sample > sample + 1);
  const before = await statistics();
  const waiting = statistics(`?after=${before.sample}&wait=20&group=servers`);
  await get(srv.port('web'), '/counted');
  const after = await waiting;
  t.is(after.servers['a.example']!.requests, before.servers['a.example']!.requests + 1);
  t.true(after.servers['a.example']!.rates['requests']!['1s']! > 0);
  t.true(after.servers['a.example']!.rates['requests']!['5m']! > 0);
});

test.serial('a client follows the figures, each second, with the times of the last seconds', async (t) => {
  const { srv } = await node();
  const client = await follow(t, srv.port('api'), '/vts/stream?group=servers');
  t.is(client.response.headers['content-type'], 'text/event-stream; charset=utf-8');
  const events = (): readonly Followed[] => client.events as unknown as Followed[];
  const first = await waitFor('an event', () => events()[0]);
  t.deepEqual(Object.keys(first).includes('upstreams'), false);
  t.is(first.recent.count, 0);
  const before = first.servers['a.example']!.requests;
  await Promise.all(Array.from({ length: 4 }, () => get(srv.port('web'), '/slow', { headers: { host: 'a.example' } })));
  const last = await waitFor('an event with the requests', () =>
    events().find(({ servers }) => servers['a.example']!.requests === before + 4),
  );
  t.is(last.recent.count, 4);
  // /slow takes 120 ms at least; quantiles are within 5 %.
  t.true(last.recent.p50 > 110, String(last.recent.p50));
  client.close();

  const clients = await Promise.all(Array.from({ length: 50 }, () => follow(t, srv.port('api'), '/vts/stream?group=http')));
  await waitFor('all to follow', () => clients.every(({ events: [any] }) => any !== undefined));
  t.is((await (await node()).call('GET', '/vts/stream')).status, 503);
  for (const one of clients) one.close();
  // Each one that leaves makes room.
  await waitFor('room', async () => {
    const next = await follow(t, srv.port('api'), '/vts/stream?group=http');
    next.close();
    return next.response.statusCode === 200;
  });
});

test.serial('figures survive a reload; what is removed is read once more', async (t) => {
  const { srv } = await node();
  const before = (await statistics()).servers;
  const conf = readFileSync(join(srv.prefix, 'conf/srv.conf'), 'utf8');
  await srv.configure(conf.replace('status_zone named;', 'status_zone renamed;'));
  srv.signal('SIGHUP');
  await waitFor('the reload', async () => (await statistics()).servers['renamed'] !== undefined);
  const { servers } = await statistics();
  t.is(servers['a.example']!.requests, before['a.example']!.requests);
  await waitFor('the removal', async () => (await statistics()).servers['named'] === undefined);
});

test.serial('zones of limits: keys, room, and what became of requests', async (t) => {
  const { srv } = await node();
  await waitFor('the figures', async () => (await statistics()).limits['rate']?.['capacity'] !== undefined);
  const before = (await statistics()).limits;
  t.like(before['rate'], { entries: 0, passed: 0, delayed: 0, rejected: 0, evicted: 0 });
  const room = before['rate']!['capacity']!;
  t.true(room > 100 && room < 1000, String(room));
  for (const path of ['/rate?key=a', '/rate?key=a', '/rate?key=b', '/rate?key=', '/burst?key=a', '/dry?key=a'])
    await get(srv.port('web'), path);
  await waitFor('the keys', async () => (await statistics()).limits['rate']?.['entries'] === 2);
  const { limits } = await statistics();
  t.like(limits['rate'], { entries: 2, passed: 3, delayed: 0, rejected: 1, rejected_dry_run: 1 });
  t.like(limits['conns'], { entries: 0, passed: 2, rejected: 0 });
  for (let key = 0; key < 1000; key++) await get(srv.port('web'), `/burst?key=key-${key}`);
  await waitFor('a full zone', async () => (await statistics()).limits['rate']!['evicted']! > 0);
  const { rate } = (await statistics()).limits;
  t.true(Math.abs(rate!['entries']! - room) < room / 4, `${rate!['entries']} of ${room}`);
  t.true(rate!['entries']! / rate!['capacity']! > 0.9, 'the zone is full');
});
