/**
 * Three whole nodes over one Redis, four clients that write to them, and requests all the time, while Redis and the nodes fail in every way.
 * `SRV_CHAOS_ROUNDS=50` for fifty of each fault of Redis, with ten failovers of a sentinel.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { browse, ClientRecord, routeAt, write } from './chaos-clients.js';
import { ChaosNode } from './chaos-node.js';
import { historyFaults } from './histories.js';
import { startSentinel } from './sentinel.js';

const ROUNDS = Number(process.env['SRV_CHAOS_ROUNDS'] ?? 1);
const IS_LONG = ROUNDS > 1;
const CLIENTS = 4;

interface Lab {
  readonly nodes: readonly ChaosNode[];
  readonly server: RedisServer;
  readonly proxy: FaultyProxy;
}

type Fault = (lab: Lab, round: number) => Promise<void>;

const upTo = (ms: number): Promise<void> => delay(Math.random() * ms);
const nodeOf = ({ nodes }: Lab, round: number): ChaosNode => nodes[round % nodes.length] ?? (nodes[0] as ChaosNode);

const REDIS_FAULTS: Readonly<Record<string, Fault>> = {
  async killed({ server }) {
    await server.kill();
    await upTo(300);
    await server.start();
  },
  async paused({ server }) {
    server.signal('SIGSTOP');
    await upTo(IS_LONG ? 1500 : 300);
    server.signal('SIGCONT');
  },
  async slow({ proxy }) {
    proxy.latency = 1000;
    await delay(1200);
    proxy.latency = 0;
  },
  async 'cut in the middle of replies'({ proxy }) {
    proxy.cutsNext = true;
    await delay(100);
    proxy.cutsNext = false;
  },
  async 'out of memory'({ server }) {
    await server.cli('CONFIG', 'SET', 'maxmemory', '1');
    await upTo(300);
    await server.cli('CONFIG', 'SET', 'maxmemory', '0');
  },
  async emptied({ server }) {
    await server.cli('FLUSHALL');
  },
};

const NODE_FAULTS: Readonly<Record<string, Fault>> = {
  async 'node killed'(lab, round) {
    await nodeOf(lab, round).kill();
    await upTo(300);
    await nodeOf(lab, round).start();
  },
  async 'node paused'(lab, round) {
    nodeOf(lab, round).pause();
    await delay(IS_LONG ? 30_000 : 700);
    nodeOf(lab, round).resume();
  },
  async 'node started again'(lab, round) {
    await nodeOf(lab, round).stop();
    await nodeOf(lab, round).start();
  },
};

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.round((sorted[Math.floor(sorted.length * share)] ?? 0) * 10) / 10;
}

const stateOf = async (node: ChaosNode): Promise<string> => {
  const [pairs, members, { version }] = await Promise.all([node.pairs(), node.members(), node.view()]);
  return JSON.stringify([[...pairs], members, version]);
};

const missing = (all: readonly string[], there: { has(key: string): boolean }) => all.filter((one) => !there.has(one));

/** Everything that was acknowledged is at every node, and the nodes are the same. */
async function assertWhole(t: ExecutionContext, nodes: readonly ChaosNode[], record: ClientRecord): Promise<void> {
  await waitFor('the same state', async () => new Set(await Promise.all(nodes.map(stateOf))).size === 1);
  await waitFor('all in sync', async () => (await nodes[0]?.view())?.nodes.every(({ state }) => state === 'in_sync'));
  const [first] = nodes as [ChaosNode];
  const pairs = await first.pairs();
  const members = new Set((await first.members()).map((line) => line.split(' ')[1]));
  t.deepEqual(missing(record.pairs, pairs), []);
  t.deepEqual(missing(record.members, members), []);
  t.deepEqual(
    record.rejected.filter((member) => members.has(member)),
    [],
  );
  for (const [key, history] of record.counters) t.deepEqual(historyFaults(history, pairs.get(key)), [], key);
  t.deepEqual(historyFaults(record.routes, await routeAt(first)), []);
}

/** Faults one after the other, under load. */
async function chaos(t: ExecutionContext, nodes: readonly ChaosNode[], faults: readonly (readonly [string, () => Promise<void>])[]) {
  const record = new ClientRecord();
  const [calm, disturbed]: [number[], number[]] = [[], []];
  const failed: string[] = [];
  const end = new AbortController();
  const calmEnd = new AbortController();
  const writing = Array.from({ length: CLIENTS }, (_, client) => write(nodes, client, record, end.signal));
  const before = nodes.map((node) => browse(node, calm, failed, calmEnd.signal));
  await delay(IS_LONG ? 10_000 : 500);
  calmEnd.abort();
  await Promise.all(before);
  const browsing = nodes.map((node) => browse(node, disturbed, failed, end.signal));
  for (const [name, fault] of faults) {
    const { made } = record;
    await fault();
    await waitFor(`writes after: ${name}`, () => record.made > made + 10);
  }
  end.abort();
  await Promise.all([...writing, ...browsing]);
  await assertWhole(t, nodes, record);
  t.deepEqual(failed, []);
  t.log(`${faults.length} faults; ${record.made} writes made, ${record.refused} rejected, ${record.unknown} of unknown outcome`);
  t.log(
    `${disturbed.length} requests, 99 % within ${percentile(disturbed, 0.99)} ms, before the faults within ${percentile(calm, 0.99)} ms`,
  );
}

testRedis('redis-server and nodes that fail under writes and requests: no acknowledged write is lost, no request fails', async (t) => {
  t.timeout(120_000 + ROUNDS * 90_000);
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const proxy = await FaultyProxy.start(t, server.port);
  const redis = `url redis://127.0.0.1:${proxy.port};`;
  const nodes = await Promise.all(['a', 'b', 'c'].map((name) => ChaosNode.start(t, name, redis, 'store redis main;\n')));
  const lab: Lab = { nodes, server, proxy };
  const faults: [string, () => Promise<void>][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, fault] of Object.entries(REDIS_FAULTS)) faults.push([name, () => fault(lab, round)]);
    // The faults of nodes take longest.
    const [name, fault] = Object.entries(NODE_FAULTS)[round % 3] ?? ['', () => Promise.resolve()];
    if (!IS_LONG || round % 2 === 0) faults.push([name, () => fault(lab, round)]);
  }
  await chaos(t, nodes, faults);
});

const isMaster = async (server: RedisServer): Promise<boolean> => (await server.cli('ROLE').catch(() => '')).includes('master');

if (IS_LONG)
  testRedis('redis-server with sentinels: forced failovers lose no write that replicas had to have', async (t) => {
    t.timeout(600_000);
    const one = await RedisServer.start(t);
    const two = await RedisServer.start(t, '--replicaof', '127.0.0.1', String(one.port));
    const sentinel = await startSentinel(t, one.port);
    const redis = `sentinel main 127.0.0.1:${sentinel.port};`;
    const kv = 'store redis main;\nredis_wait 1 1s;\n';
    const nodes = await Promise.all(['a', 'b', 'c'].map((name) => ChaosNode.start(t, name, redis, kv, 'cluster_wait 1 1s;')));
    const failover = async (): Promise<void> => {
      const [from, to] = (await isMaster(one)) ? [one, two] : [two, one];
      await waitFor('a failover that begins', async () =>
        (await sentinel.ask('SENTINEL', 'FAILOVER', 'main').catch(() => '')).startsWith('+OK'),
      );
      await waitFor('the failover', async () => (await isMaster(to)) && !(await isMaster(from)));
    };
    await chaos(
      t,
      nodes,
      Array.from({ length: 10 }, () => ['failover', failover] as const),
    );
  });
