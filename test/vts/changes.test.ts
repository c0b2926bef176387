/** Statistics when workers die and members are removed. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from '../control/node.js';

interface Figures {
  readonly requests: number;
  readonly attempts: number;
  readonly active: number;
  readonly received: number;
  readonly sent: number;
  readonly responses: unknown;
  readonly times: { readonly count: number; readonly sum: number };
  readonly servers: Readonly<Record<string, Figures>>;
}
type Statistics = Readonly<Record<'servers' | 'upstreams', Readonly<Record<string, Figures>>>>;

/** A location that ends the worker when the request is under way. */
const EXIT = plugin('exit', {
  manifest: `directives: { exit: directive({ in: ['location'], args: text() }) }`,
  body: `compile({ conf }) { return conf.exit && { content: () => new Promise(() => setImmediate(() => process.exit(3))) }; }`,
});

const setup = shared(async (scope): Promise<{ node: Node; members: readonly string[] }> => {
  const backends = await Promise.all([1, 2].map(() => httpBackend(scope, (_, response) => setTimeout(() => response.end('hello'), 3))));
  const members = backends.map(({ port }) => `127.0.0.1:${port}`);
  const node = await startNode(scope, {
    allowCrashes: true,
    files: { 'modules/exit.js': EXIT },
    main: 'load_module modules/srv_http_vts_module.so; load_module modules/exit.js;',
    controlMain: 'load_module modules/srv_http_vts_api_module.so;',
    http: `vts on; upstream demo { zone demo 256k; ${members.map((member) => `server ${member};`).join(' ')} }`,
    server: 'server_name a; location / { proxy_pass http://demo; } location /exit { exit now; }',
  });
  return { node, members };
});

const statistics = async (node: Node): Promise<Statistics> => (await node.call('GET', '/vts')).json as Statistics;

/** Sends requests, and waits until the server `a` has counted that many in all. */
async function send(node: Node, count: number, all: number): Promise<Statistics> {
  for (let sent = 0; sent < count; sent += 10) await Promise.all(Array.from({ length: 10 }, () => node.web()));
  return waitFor(`${all} requests`, async () => {
    const read = await statistics(node);
    const { requests = 0, active } = read.servers['a'] ?? {};
    return requests >= all && active === 0 && read;
  });
}

test.serial('what a worker has counted is kept when it dies, and the requests that died with it are not active', async (t) => {
  const { node } = await setup();
  const { srv } = node;
  const { rates: _first, ...first } = (await send(node, 60, 60)).servers['a'] as Figures & { readonly rates: unknown };
  t.is(first.requests, 60);
  for (let deaths = 1; deaths <= 3; deaths++) {
    const died = new RegExp(`(exited with code 3[^]*start worker[^]*){${deaths}}`);
    await waitFor(`death ${deaths}`, async () => died.test(srv.log()) || void (await get(srv.port('web'), '/exit').catch(() => undefined)));
  }
  // A read removes rows that have ended.
  await statistics(node);
  const { servers, upstreams } = await waitFor('no active requests', async () => {
    const read = await statistics(node);
    return read.servers['a']!.active === 0 && read;
  });
  const { rates: _later, ...later } = servers['a'] as Figures & { readonly rates: unknown };
  t.deepEqual(later, first);
  t.is(upstreams['demo']!.attempts, 60);
  // On a busy machine both workers may be starting.
  await waitFor('a worker that accepts connections', () => connectRaw(t, srv.port('web')).catch(() => undefined));
  const more = await send(node, 40, 100);
  t.is(more.servers['a']!.requests, 100);
  t.is(more.servers['a']!.times.count, 100);
  t.is(more.upstreams['demo']!.attempts, 100);
  t.is(more.servers['a']!.sent, (first.sent / 60) * 100);
});

test.serial('the row of a removed member can be read once more, and begins at zero if the member is added again', async (t) => {
  const { node, members } = await setup();
  const [removed, left] = members as [string, string];
  const before = (await statistics(node)).upstreams['demo']!;
  t.true(before.servers[removed]!.attempts > 0);
  t.is((await node.upstreams('DELETE', `/demo/servers/${removed}`)).status, 200);
  t.is((await statistics(node)).upstreams['demo']!.servers[removed]!.attempts, before.servers[removed]!.attempts);
  const after = await waitFor('the end of the row', async () => {
    const { demo } = (await statistics(node)).upstreams;
    return demo!.servers[removed] === undefined && demo;
  });
  t.deepEqual(Object.keys(after.servers), [left]);
  t.is(after.attempts, before.attempts);
  t.is(after.servers[left]!.attempts, before.servers[left]!.attempts);
  t.is((await node.upstreams('POST', '/demo/servers/', { server: removed })).status, 201);
  const { requests } = (await statistics(node)).servers['a']!;
  const added = (await send(node, 20, requests + 20)).upstreams['demo']!;
  t.is(added.servers[removed]!.attempts + added.servers[left]!.attempts, after.servers[left]!.attempts + 20);
  t.true(added.servers[removed]!.attempts > 0);
});

test.serial('the JSON of nginx-module-vts has sums and averages of times, and lists without samples', async (t) => {
  const { node } = await setup();
  const { times } = (await statistics(node)).servers['a']!;
  const { serverZones } = (await node.call('GET', '/vts/format/json')).json as {
    readonly serverZones: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const expected = {
    requestMsecCounter: times.sum,
    requestMsec: Math.round(times.sum / times.count),
    requestMsecs: { times: [], msecs: [] },
    requestBuckets: { msecs: [], counters: [] },
  };
  t.true(expected.requestMsec >= 2);
  t.like(serverZones['a'], expected);
  t.like(serverZones['*'], expected);
});
