/** Whole nodes with a store in Redis. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { startNode, type Node } from '../control/node.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const SERVER = `location / { return 200 "[$kv_http_color]"; }`;

function node(t: ExecutionContext, name: string, { port }: RedisServer, password: string): Promise<Node> {
  const main = `load_module modules/srv_redis_module.js; node_name ${name}; cluster_name shop;
    redis main { url redis://127.0.0.1:${port}; password_file ${password}; }`;
  const files = { 'conf/kv.conf': 'store redis main;\nredis_write strict;\n' };
  const modules = {
    main: `${main} load_module modules/srv_cluster_module.so;`,
    controlMain: 'load_module modules/srv_cluster_api_module.so;',
  };
  return startNode(t, { ...modules, http: 'dyn_kv_conf conf/kv.conf;', server: SERVER, workers: 1, files });
}

testRedis('redis-server: two nodes: a key that the API of one sets is in the traffic of the other; secrets are nowhere', async (t) => {
  const server = await RedisServer.start(t, '--requirepass', 'very-secret');
  const password = join(tempFolder(t), 'password');
  writeFileSync(password, 'very-secret\n');
  chmodSync(password, 0o600);
  const [a, b] = await Promise.all([node(t, 'a', server, password), node(t, 'b', server, password)]);
  const set = await a.call('PUT', '/kv/keys/color', { value: 'red' });
  t.is(set.status, 200);
  t.is((await a.web()).body, '[red]');
  await waitFor('the other node', async () => (await b.web()).body === '[red]');
  t.like((await a.call('GET', '/cluster')).json, { nodes: [{ name: 'a', pairs: { state: 'in_sync', local: 0, stale: undefined } }] });
  const etag = { 'if-match': String(set.headers['etag']) };
  t.is((await b.call('PUT', '/kv/keys/color', { value: 'blue' }, etag)).status, 200);
  t.is((await a.call('PUT', '/kv/keys/color', { value: 'green' }, etag)).status, 412);
  await waitFor('the first node', async () => (await a.web()).body === '[blue]');

  await server.kill();
  await a.srv.waitForLog(/redis "main" is away: /);
  await a.srv.waitForLog(/key-value: changes of other nodes cannot be read, serving version \d+/);
  t.like((await a.call('GET', '/cluster')).json, { nodes: [{ name: 'a', pairs: { state: 'behind', local: 0 } }] });
  const refused = await a.call('PUT', '/kv/keys/color', { value: 'green' });
  t.is(refused.status, 503);
  t.truthy(refused.headers['retry-after']);
  t.like((refused.json as { error: unknown }).error, { code: 'StoreUnavailable' });
  t.is((await a.call('GET', '/kv/keys/color')).status, 200);
  t.is((await b.web()).body, '[blue]');

  // Redis has nothing any more: the nodes bring it.
  await server.start();
  await waitFor('writes', async () => (await a.call('PUT', '/kv/keys/color', { value: 'green' })).status === 200);
  await waitFor('the other node', async () => (await b.web()).body === '[green]');

  writeFileSync(password, 'wrong-secret\n');
  b.srv.signal('SIGHUP');
  await b.srv.waitForLog(/redis "main" is away: Redis rejects the user or the password/);
  t.is((await b.call('PUT', '/kv/keys/color', { value: 'x' })).status, 503);
  writeFileSync(password, 'very-secret\n');
  b.srv.signal('SIGHUP');
  await waitFor('writes', async () => (await b.call('PUT', '/kv/keys/color', { value: 'x' })).status === 200);
  for (const { srv } of [a, b]) t.notRegex(srv.log(), /(very|wrong)-secret/);
  t.notRegex(JSON.stringify((await a.call('GET', '/events')).json ?? ''), /very-secret/);
});
