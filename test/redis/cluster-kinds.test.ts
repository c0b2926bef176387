/** Changes of all kinds at nodes with one configuration, and nodes that cannot apply them. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { startNode, upstreams, type Node } from '../control/node.js';
import { KINDS } from '../durability/change-kinds.js';
import { selfSigned } from '../harness/certificate.js';
import type { JsonResponse } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';

const load = (names: readonly string[]): string => names.map((name) => `load_module modules/srv_${name}_module.so;`).join(' ');
const BOTH = ['http_dyn_header', 'http_health_check'];
const DATA = [...BOTH, 'cluster', 'http_dyn_upstream', 'http_dyn_server', 'http_location', 'http_config', 'http_dyn_ssl'];
const CONTROL = [
  ...BOTH,
  'cluster_api',
  'http_dyn_upstream_api',
  'http_dyn_server_api',
  'http_location_api',
  'http_config_api',
  'http_history_api',
  'http_transactions_api',
  'http_ssl_api',
];

const FILE = selfSigned('tls');

interface Cluster {
  readonly redis: RedisServer;
  readonly key: string;
}

async function startCluster(t: ExecutionContext): Promise<Cluster> {
  const key = join(tempFolder(t), 'cluster.key');
  writeFileSync(key, 'a'.repeat(64));
  chmodSync(key, 0o600);
  return { redis: await RedisServer.start(t), key };
}

function joined(t: ExecutionContext, { redis, key }: Cluster, name: string, http = upstreams('demo')): Promise<Node> {
  const main = `load_module modules/srv_redis_module.js; node_name ${name}; cluster_name shop;
    redis main { url redis://127.0.0.1:${redis.port}; } cluster_changes redis main; cluster_key_file ${key};`;
  return startNode(t, {
    main: main + load(DATA),
    controlMain: load(CONTROL),
    workers: 1,
    http: `${http} server { listen 127.0.0.1:%%PORT_tls%% ssl node=tls; server_name tls; ssl_certificate c.pem; ssl_certificate_key c.key; }`,
    files: { 'conf/c.pem': FILE.cert, 'conf/c.key': FILE.key },
    listen: 'node=web',
    server: 'server_name file; location /h1 { return 204; } location /p { proxy_pass http://demo; }',
  });
}

const WAIT = { prefer: 'wait=20' };

function done(t: ExecutionContext, { status, body, json }: JsonResponse): void {
  t.true(status < 300, body);
  const { cluster } = json as { cluster?: { nodes: object } };
  if (cluster !== undefined) t.deepEqual(cluster.nodes, { a: 'applied', b: 'applied' });
}

async function effective(node: Node): Promise<string> {
  const tree = (await node.call('GET', '/config/effective')).json as { directive: string }[];
  const ports = new RegExp(`${node.srv.port('web')}|${node.srv.port('tls')}`, 'g');
  return JSON.stringify(tree.filter(({ directive }) => directive === 'http')).replace(ports, 'PORT');
}
const history = async (node: Node): Promise<unknown> => (await node.call('GET', '/history')).json;

testRedis('redis-server: changes of all kinds are at all nodes, with one history; one takes back what the other has made', async (t) => {
  const cluster = await startCluster(t);
  const [a, b] = [await joined(t, cluster, 'a'), await joined(t, cluster, 'b')];
  const before = await effective(b);
  const carry = async (node: Node, method: string, path: string, body?: unknown): Promise<void> =>
    done(t, await node.call(method, path, body, WAIT));
  for (const [name, kind] of KINDS) {
    if (name === 'server') continue;
    const { method, path, body } = kind.call(a, '1', undefined, '201');
    await carry(a, method, path, body);
    t.deepEqual(await kind.list(b), [['1', '201']], name);
    const changed = kind.call(b, '1', '201', '202');
    await carry(b, changed.method, changed.path, changed.body);
    t.deepEqual(await kind.list(a), [['1', '202']], name);
  }
  await carry(b, 'POST', '/dyn_srv', { addr_port: 'unix:s1.sock', server_name: 's1', server_body: 'return 200 s1' });
  await carry(a, 'POST', '/hc/http/demo', { interval: 60, type: 'http', http: { uri: '/' } });
  t.is((await b.call('GET', '/hc/http/demo')).status, 200);
  const { cert, key } = selfSigned('a.example');
  const info = { cert_type: 'ecc', certificate: `data:${cert}`, certificateKey: `data:${key}` };
  await carry(a, 'PUT', '/ssl', { type: 'add', listens: [`127.0.0.1:${a.srv.port('tls')}`], serverNames: ['tls'], cert_info: info });
  const calls = [201, 202].map((weight) => ({
    method: 'POST',
    path: '/v1/upstream_api/http/upstreams/demo/servers',
    body: { server: `10.9.0.${weight - 200}`, weight },
  }));
  await carry(b, 'POST', '/transactions', { calls });
  t.is(await effective(a), await effective(b));
  t.deepEqual(await history(a), await history(b));
  t.notRegex(await cluster.redis.cli('XRANGE', '{srv:shop}:config:changes', '-', '+'), /PRIVATE|10\.9/);

  const first = ((await history(a)) as { version: number }[]).at(-1);
  await carry(b, 'POST', `/history/${(first?.version ?? 0) - 1}/rollback`);
  t.is(await effective(a), before);
  t.deepEqual(await history(a), await history(b));
});

testRedis('redis-server: a node that cannot apply a change stops there, serves on, and goes on when the reason is gone', async (t) => {
  const cluster = await startCluster(t);
  const [a, b] = [await joined(t, cluster, 'a'), await joined(t, cluster, 'b')];
  const place = { addr_port: `127.0.0.1:${await freePort(t)}`, server_name: 's1' };
  // Both nodes are on one machine.
  t.is((await a.call('POST', '/dyn_srv', { ...place, server_body: 'return 200 s1' })).status, 200);
  await b.srv.waitForLog(
    /configuration: version \d+ of another node cannot be applied, serving version \d+, changes are rejected: .*in use/,
  );
  const { nodes } = (await a.call('GET', '/cluster')).json as { nodes: Record<string, unknown>[] };
  t.like(nodes[1], { name: 'b', state: 'diverged' });
  t.regex(String(nodes[1]?.['reason']), /in use/);
  t.is((await b.web('/h1')).status, 204);
  t.like((await b.upstreams('POST', '/demo/servers/', { server: '10.0.0.9' })).json, { error: { status: 503, code: 'NodeDiverged' } });
  t.is((await a.upstreams('POST', '/demo/servers/', { server: '10.0.0.9' })).status, 201);

  t.is((await a.call('PUT', '/dyn_srv', { type: 'del', ...place })).status, 200);
  await b.srv.waitForLog(/configuration: in sync with the other nodes/);
  t.deepEqual(await a.list(), await b.list());
});

testRedis('redis-server: a node with other files shows the difference, and takes over the state of the others by resync', async (t) => {
  const cluster = await startCluster(t);
  const a = await joined(t, cluster, 'a', upstreams('demo', 'more'));
  const b = await joined(t, cluster, 'b');
  const drift = async (): Promise<unknown> => ((await a.call('GET', '/cluster')).json as { nodes: { drift: unknown }[] }).nodes[1]?.drift;
  t.deepEqual(await drift(), ['http']);
  t.is((await a.upstreams('POST', '/more/servers/', { server: '10.0.0.9' })).status, 201);
  await b.srv.waitForLog(/cannot be applied, .*"http \/ upstream more.*" is not in the configuration of this node|cannot be applied/);
  t.is((await b.call('POST', '/cluster/resync')).status, 200);
  const added = await b.upstreams('POST', '/demo/servers/', { server: '10.0.0.10' }, WAIT);
  done(t, added);
  t.deepEqual(await a.list(), await b.list());
});
