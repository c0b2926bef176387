/**
 * Writes at three nodes while Redis is killed, paused and started again. Each node adds one to a counter by compare-and-set, so that a write that was lost,
 * or made twice, shows in its value. `SRV_REDIS_ROUNDS` faults.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { PairsNode } from './pairs-node.js';

const ROUNDS = Number(process.env['SRV_REDIS_ROUNDS'] ?? 4);

interface Outcomes {
  made: number;
  /** The connection was lost: they may have been made. */
  unknown: number;
  /** Pairs that were acknowledged. */
  readonly keys: string[];
}

async function add({ pairs, name }: PairsNode, outcomes: Outcomes, n: number): Promise<void> {
  const version = pairs.version('counter');
  const condition = version === undefined ? { ifNoneMatch: '*' } : { ifMatch: version };
  try {
    await pairs.set('counter', String(Number(pairs.get('counter') ?? 0) + 1), condition);
    outcomes.made++;
    await pairs.set(`${name} ${n}`, 'x');
    outcomes.keys.push(`${name} ${n}`);
  } catch (error) {
    if ((error as Error).message.includes('may have been made')) outcomes.unknown++;
    await delay(5);
  }
}

testRedis('redis-server killed and paused at random: no acknowledged write is lost or made twice', async (t) => {
  t.timeout(60_000 + ROUNDS * 10_000);
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const outcomes: Outcomes = { made: 0, unknown: 0, keys: [] };
  const nodes: PairsNode[] = [];
  for (const name of 'abc') nodes.push(await PairsNode.start(t, name, server.port, { settings: { commandTimeout: 200 } }));
  const end = new AbortController();
  const writing = nodes.map(async (node) => {
    for (let n = 0; !end.signal.aborted; n++) await add(node, outcomes, n);
  });
  for (let round = 0; round < ROUNDS; round++) {
    await delay(Math.random() * 300);
    if (round % 2 === 0) {
      await server.kill();
      await delay(Math.random() * 200);
      await server.start();
    } else {
      server.signal('SIGSTOP');
      await delay(Math.random() * 600);
      server.signal('SIGCONT');
    }
    const made = outcomes.made;
    await waitFor('writes', () => outcomes.made > made + 10);
  }
  end.abort();
  await Promise.all(writing);
  for (const node of nodes) await node.inSync();
  await waitFor('all nodes', () => new Set(nodes.map((node) => JSON.stringify(node.all()))).size === 1);
  for (const node of nodes) {
    const value = Number(node.pairs.get('counter'));
    t.true(
      value >= outcomes.made && value <= outcomes.made + outcomes.unknown,
      `${value}: ${outcomes.made} made, ${outcomes.unknown} unknown`,
    );
    t.deepEqual(
      outcomes.keys.filter((key) => node.pairs.get(key) !== 'x'),
      [],
    );
  }
  t.log(`${outcomes.made} writes, ${outcomes.unknown} of unknown outcome`);
});
