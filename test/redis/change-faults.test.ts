/**
 * Changes of the configuration at three nodes while Redis is killed, paused, emptied and started again, and set back to an earlier state.
 * `SRV_REDIS_ROUNDS` faults.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { ChangesNode, same } from './changes-node.js';

const ROUNDS = Number(process.env['SRV_REDIS_ROUNDS'] ?? 4);

interface Outcomes {
  /** Members that were acknowledged, that must not be there, and that may be there: the connection was lost. */
  readonly made: string[];
  readonly rejected: string[];
  readonly unknown: string[];
}

async function add(node: ChangesNode, member: string, outcomes: Outcomes): Promise<void> {
  try {
    await node.add(member);
    outcomes.made.push(member);
  } catch (error) {
    const { message } = error as Error;
    (message.includes('nothing was changed') ? outcomes.rejected : outcomes.unknown).push(member);
    await delay(5);
  }
}

testRedis('redis-server killed, paused and emptied at random: every acknowledged change is at all nodes, no rejected one', async (t) => {
  t.timeout(60_000 + ROUNDS * 15_000);
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const outcomes: Outcomes = { made: [], rejected: [], unknown: [] };
  const nodes: ChangesNode[] = [];
  for (const name of 'abc') nodes.push(await ChangesNode.start(t, name, server.port, { settings: { commandTimeout: 200 } }));
  const end = new AbortController();
  const changing = nodes.map(async (node, at) => {
    for (let n = 0; !end.signal.aborted; n++) await add(node, `10.${at + 1}.${n >> 8}.${n & 255}:80`, outcomes);
  });
  for (let round = 0; round < ROUNDS; round++) {
    await delay(Math.random() * 300);
    await [kill, pause, empty][round % 3]?.(server);
    const before = outcomes.made.length;
    await waitFor('changes', () => outcomes.made.length > before + 10);
  }
  end.abort();
  await Promise.all(changing);
  for (const node of nodes) await node.inSync();
  await same(t, nodes);
  const there = new Set(nodes[0]?.members.map((member) => member.split('@')[0]));
  t.deepEqual(
    outcomes.made.filter((member) => !there.has(member)),
    [],
  );
  t.deepEqual(
    outcomes.rejected.filter((member) => there.has(member)),
    [],
  );
  t.is(there.size, nodes[0]?.members.length ?? 0);
  t.log(`${outcomes.made.length} changes, ${outcomes.rejected.length} rejected, ${outcomes.unknown.length} of unknown outcome`);
});

async function kill(server: RedisServer): Promise<void> {
  await server.kill();
  await delay(Math.random() * 200);
  await server.start();
}

async function pause(server: RedisServer): Promise<void> {
  server.signal('SIGSTOP');
  await delay(Math.random() * 600);
  server.signal('SIGCONT');
}

async function empty(server: RedisServer): Promise<void> {
  await server.cli('FLUSHALL');
}

/** Redis as it was, as a replica that lacks the last writes. @param lost how many changes */
async function setBack(t: ExecutionContext, server: RedisServer, lost: number): Promise<void> {
  const config = '{srv:c}:config';
  const text = await server.cli('XREVRANGE', `${config}:changes`, '+', '-', 'COUNT', String(lost + 1));
  const ids = [...text.matchAll(/\r\n(\d+)-1\r\n/g)].map(([, id]) => Number(id));
  const marks = [...text.matchAll(/\r\nm\r\n\$\d+\r\n(\d+)\r\n/g)].map(([, mark]) => mark);
  t.is(ids.length, lost + 1);
  for (const id of ids.slice(0, lost)) await server.cli('XDEL', `${config}:changes`, `${id}-1`);
  await server.cli('XSETID', `${config}:changes`, `${ids[lost]}-1`);
  await server.cli('HSET', config, 'version', String(ids[lost]), 'mark', String(marks[lost]));
}

testRedis('redis-server that lost the last changes gets them back; what others have made in their place counts', async (t) => {
  const server = await RedisServer.start(t);
  const nodes: ChangesNode[] = [];
  for (const name of 'ab') nodes.push(await ChangesNode.start(t, name, server.port));
  const [a, b] = nodes as [ChangesNode, ChangesNode];
  for (const n of [3, 4, 5, 6]) await a.add(`10.0.0.${n}:80`);
  await same(t, nodes);
  await setBack(t, server, 2);
  await b.add('10.0.0.7:80');
  await same(t, nodes);
  t.is(a.members.length, 7);
  t.true([a, b].some(({ log }) => log.lines.some((line) => line.includes('had lost changes after version'))));

  // Another node goes on where they were lost.
  await a.add('10.0.0.8:80');
  await same(t, nodes);
  await b.end();
  await a.add('10.0.0.9:80');
  const kept = a.members;
  await a.end();
  await setBack(t, server, 1);
  const c = await ChangesNode.start(t, 'c', server.port);
  await c.add('10.0.0.10:80');
  const again = await ChangesNode.start(t, 'a', server.port, { folder: a.folder });
  await same(t, [again, c]);
  t.true(kept.some((member) => member.startsWith('10.0.0.9:')) && !again.members.some((member) => member.startsWith('10.0.0.9:')));
  t.true(again.members.some((member) => member.startsWith('10.0.0.10:')));
  t.true(again.log.lines.some((line) => /redis "main" has lost changes up to version \d+: its changes count/.test(line)));
});
