/** Whole nodes with one configuration. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { startNode, upstreams, type Node } from '../control/node.js';
import { httpBackend } from '../harness/backends.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

function node(t: ExecutionContext, name: string, { port }: RedisServer, more = ''): Promise<Node> {
  const main = `load_module modules/srv_redis_module.js; node_name ${name}; cluster_name shop;
    redis main { url redis://127.0.0.1:${port}; } cluster_changes redis main; ${more}`;
  const controlMain = 'load_module modules/srv_cluster_api_module.so; load_module modules/srv_http_history_api_module.so;';
  const modules = 'load_module modules/srv_cluster_module.so; load_module modules/srv_http_config_module.so;';
  return startNode(t, { main: main + modules, controlMain, workers: 1, http: upstreams('demo') });
}

interface View {
  readonly version: number;
  readonly nodes: readonly { readonly name: string; readonly state: string; readonly version: number; readonly stale?: boolean }[];
  readonly redis?: { readonly state: string };
}

const view = async (node: Node): Promise<View> => (await node.call('GET', '/cluster')).json as View;

testRedis('redis-server: a change by the API of one node is in the traffic of the others; all respond 503 without Redis', async (t) => {
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const backend = await httpBackend(t, (_, response) => response.end('hello'));
  const [a, b] = await Promise.all([node(t, 'a', server), node(t, 'b', server)]);
  const member = `127.0.0.1:${backend.port}`;
  const added = await a.upstreams('POST', '/demo/servers/', { server: member });
  t.is(added.status, 201, JSON.stringify(added.json));
  await waitFor('the other node', async () => (await b.web()).body === 'hello');
  t.deepEqual(await a.list(), await b.list());
  t.like((await a.call('GET', '/cluster')).json, {
    name: 'shop',
    node: 'a',
    nodes: [
      { name: 'a', state: 'in_sync', lag: 0, drift: [] },
      // It listens on another port.
      { name: 'b', state: 'in_sync', lag: 0, drift: ['http'] },
    ],
    redis: { name: 'main', state: 'ready', role: 'master' },
  });
  const waited = await b.upstreams('PATCH', '/demo/servers/0', { weight: 3 }, { prefer: 'wait=20' });
  const { version } = await view(b);
  t.like(waited.json, { cluster: { version, nodes: { a: 'applied', b: 'applied' } } });
  t.like((await a.call('GET', `/cluster/versions/${version}`)).json, { version, nodes: { a: 'applied', b: 'applied' } });
  const health = (await b.upstreams('GET', '/demo?nodes=all')).json as { nodes: Record<string, { peers: object[] }> };
  t.deepEqual(Object.keys(health.nodes), ['a', 'b']);
  t.like(health.nodes['a']?.peers[2], { server: member, state: 'up' });
  t.like(health.nodes['b']?.peers[2], { server: member, state: 'up' });

  // Records that are not those of a node hide no other one.
  for (const [name, record] of [
    ['x', '{'],
    ['y', 'null'],
    ['z', '{"state":"bogus"}'],
  ] as const)
    await server.cli('HSET', '{srv:shop}:nodes', name, `${Date.now()} ${record}`);
  await a.srv.waitForLog(
    /ignored records of the cluster, which are not those of a node: [^]*"z"; remove them with "HDEL \{srv:shop\}:nodes NAME"/,
  );
  t.deepEqual(
    (await view(a)).nodes.map(({ name, state }) => [name, state]),
    [
      ['a', 'in_sync'],
      ['b', 'in_sync'],
    ],
  );

  await server.cli('DEL', '{srv:shop}:nodes');
  await server.cli('SET', '{srv:shop}:nodes', 'of another program');
  await a.srv.waitForLog(/redis "main": records of the nodes cannot be written: a key of srv has another type .* set another "prefix"/);
  await server.cli('DEL', '{srv:shop}:nodes');

  await server.kill();
  await b.srv.waitForLog(/configuration: changes of other nodes cannot be read, serving version \d+/);
  const rejected = await b.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:9' });
  t.is(rejected.status, 503);
  t.truthy(rejected.headers['retry-after']);
  t.like((rejected.json as { error: unknown }).error, { code: 'StoreUnavailable' });
  t.is((await b.web()).body, 'hello');
  // A node that starts serves its last copy.
  const c = await node(t, 'c', server);
  await c.srv.waitForLog(/configuration: changes of other nodes cannot be read/);
  t.like(await view(c), { nodes: [{ name: 'c', state: 'behind', stale: true }], redis: { state: 'away' } });

  await server.start();
  await waitFor('changes', async () => (await c.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:9' })).status === 201);
  await waitFor('the same members', async () => JSON.stringify(await b.list()) === JSON.stringify(await c.list()));
  t.true((await c.list()).some((one) => one.endsWith(member)));
  await waitFor('all nodes in the view', async () =>
    (await view(a)).nodes.every(({ state, stale }) => state === 'in_sync' && stale !== true),
  );
  t.deepEqual(
    (await view(a)).nodes.map(({ name }) => name),
    ['a', 'b', 'c'],
  );
});

testRedis('redis-server: a node has the changes of the others before it serves', async (t) => {
  const server = await RedisServer.start(t);
  const backend = await httpBackend(t, (_, response) => response.end('hello'));
  const key = join(tempFolder(t), 'cluster.key');
  writeFileSync(key, `${'k'.repeat(64)}\n`);
  chmodSync(key, 0o600);
  const a = await node(t, 'a', server, `cluster_key_file ${key};`);
  t.is((await a.upstreams('POST', '/demo/servers/', { server: `127.0.0.1:${backend.port}` })).status, 201);
  const b = await node(t, 'b', server, `cluster_key_file ${key};`);
  t.is((await b.web()).body, 'hello');
  t.true(b.srv.log().indexOf('in sync') < b.srv.log().indexOf('start worker'), b.srv.log());
});
