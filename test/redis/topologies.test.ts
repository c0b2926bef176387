/** Key-value pairs and zones over sentinels, and over a cluster of three. */
import type { ExecutionContext } from 'ava';
import type { RedisSettings } from '../../modules/redis/redis-settings.js';
import { freePort } from '../harness/ports.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { PairsNode } from './pairs-node.js';
import { startSentinel } from './sentinel.js';
import { ZoneNode } from './zone-node.js';

interface Counting extends ZoneNode {
  readonly of: ReturnType<typeof hits>;
}

const hits = (node: ZoneNode) => node.records('hits', 'last', { fields: ['n'], ttl: 60_000 });

/** Nodes that share a zone. */
async function zoneNodes(t: ExecutionContext, port: number, settings: Partial<RedisSettings>): Promise<[Counting, Counting]> {
  const nodes = ['a', 'b'].map((name) => {
    const node = ZoneNode.start(t, name, port, settings);
    return Object.assign(node, { of: hits(node) });
  });
  for (const node of nodes) await node.share();
  return nodes as [Counting, Counting];
}

/** Resolves when a record of one node has come to the other one. */
async function shares([a, b]: readonly [Counting, Counting], key: string): Promise<void> {
  a.of.add(key, 'n', 1);
  await waitFor('the record', () => b.of.get(key)?.n === 1);
}

testRedis('redis-server with sentinels: nodes follow a failover', async (t) => {
  const master = await RedisServer.start(t);
  const replica = await RedisServer.start(t, '--replicaof', '127.0.0.1', String(master.port));
  const { port: sentinel } = await startSentinel(t, master.port);
  const settings = { addresses: [{ host: '127.0.0.1', port: sentinel }], sentinel: { master: 'main' } };
  const a = await PairsNode.start(t, 'a', sentinel, { settings, wait: { replicas: 1, timeout: 1000 } });
  const b = await PairsNode.start(t, 'b', sentinel, { settings });
  await a.inSync();
  await b.inSync();
  await a.pairs.set('before', 'x');
  const zones = await zoneNodes(t, sentinel, settings);
  await shares(zones, 'before');
  await master.kill();
  await waitFor('the failover', () =>
    b.pairs.set('after', 'x').then(
      () => true,
      () => false,
    ),
  );
  t.regex(await replica.cli('ROLE'), /master/);
  await waitFor('both pairs', () => [a, b].every(({ pairs }) => pairs.get('before') === 'x' && pairs.get('after') === 'x'));
  await shares(zones, 'after');
});

const isOk = async (server: RedisServer): Promise<boolean> => (await server.cli('CLUSTER', 'INFO')).includes('cluster_state:ok');

async function startCluster(t: ExecutionContext): Promise<RedisServer[]> {
  const servers: RedisServer[] = [];
  const buses: number[] = [];
  for (let n = 0; n < 3; n++) {
    const bus = await freePort(t);
    buses.push(bus);
    servers.push(await RedisServer.start(t, '--cluster-enabled', 'yes', '--cluster-port', String(bus)));
  }
  const [first] = servers as [RedisServer];
  for (const [n, server] of servers.entries()) {
    const last = n === 2 ? 16_383 : (n + 1) * 5461 - 1;
    await server.cli('CLUSTER', 'ADDSLOTSRANGE', String(n * 5461), String(last));
    if (n > 0) await first.cli('CLUSTER', 'MEET', '127.0.0.1', String(server.port), String(buses[n]));
  }
  await waitFor('the cluster', async () => (await Promise.all(servers.map(isOk))).every(Boolean));
  return servers;
}

testRedis('redis-server as a cluster of three: all keys of a cluster_name are on one node', async (t) => {
  const servers = await startCluster(t);
  const addresses = servers.map(({ port }) => ({ host: '127.0.0.1', port }));
  const settings = { addresses, isCluster: true };
  const [port] = addresses.map((address) => address.port) as [number];
  const a = await PairsNode.start(t, 'a', port, { settings });
  const b = await PairsNode.start(t, 'b', port, { settings });
  for (const node of [a, b]) await node.inSync();
  for (let n = 0; n < 20; n++) await (n % 2 === 0 ? a : b).pairs.set(`key ${n}`, 'x');
  await waitFor('all pairs', () => [a, b].every((node) => Object.keys(node.all()).length === 20));
  const sizes = await Promise.all(servers.map((server) => server.cli('DBSIZE')));
  t.deepEqual(sizes.toSorted(), [':0\r\n', ':0\r\n', ':3\r\n']);
  await shares(await zoneNodes(t, port, settings), 'key');
});
