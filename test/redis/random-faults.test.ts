/**
 * Writes at three nodes while Redis is killed, paused and started again. All nodes change one pair by compare-and-set, so that a write that was lost, or made
 * twice, shows in its history. `SRV_REDIS_ROUNDS` faults.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { historyFaults, type Swap } from './histories.js';
import { PairsNode } from './pairs-node.js';

const ROUNDS = Number(process.env['SRV_REDIS_ROUNDS'] ?? 4);

interface Outcomes {
  readonly history: Swap[];
  made: number;
  /** Pairs that were acknowledged. */
  readonly keys: string[];
}

async function add({ pairs, name }: PairsNode, outcomes: Outcomes, n: number): Promise<void> {
  const [version, from] = [pairs.version('counter'), pairs.get('counter')];
  const condition = version === undefined ? { ifNoneMatch: '*' } : { ifMatch: version };
  const key = `${name} ${n}`;
  const began = performance.now();
  const ended = (outcome: Swap['outcome'], response = ''): void =>
    void outcomes.history.push({ from, to: key, began, ended: performance.now(), outcome, response });
  try {
    await pairs.set('counter', key, condition);
  } catch (error) {
    const { message } = error as Error;
    ended(message.includes('may have been made') ? 'unknown' : 'rejected', message);
    await delay(5);
    return;
  }
  ended('made');
  outcomes.made++;
  await pairs.set(key, 'x').then(
    () => outcomes.keys.push(key),
    () => delay(5),
  );
}

testRedis('redis-server killed and paused at random: no acknowledged write is lost or made twice', async (t) => {
  t.timeout(60_000 + ROUNDS * 10_000);
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const outcomes: Outcomes = { history: [], made: 0, keys: [] };
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
    t.deepEqual(historyFaults(outcomes.history, node.pairs.get('counter')), []);
    t.deepEqual(
      outcomes.keys.filter((key) => node.pairs.get(key) !== 'x'),
      [],
    );
  }
  const unknown = outcomes.history.filter(({ outcome }) => outcome === 'unknown');
  t.log(`${outcomes.made} writes, ${unknown.length} of unknown outcome`);
});
