/** `redis_write local`: writes that a node makes without Redis, and what becomes of them. */
import { cpSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { PairsNode } from './pairs-node.js';

async function startNodes(t: ExecutionContext, names: string, { port }: RedisServer): Promise<PairsNode[]> {
  const nodes: PairsNode[] = [];
  for (const name of names) nodes.push(await PairsNode.start(t, name, port, { write: 'local' }));
  return nodes;
}

async function same(t: ExecutionContext, nodes: readonly PairsNode[], expected: Readonly<Record<string, string>>): Promise<void> {
  const text = JSON.stringify(expected);
  const isSame = (node: PairsNode): boolean => JSON.stringify(node.all()) === text && node.state === 'in_sync';
  const versions = (node: PairsNode | undefined) => Object.keys(expected).map((key) => node?.pairs.version(key));
  const [first] = nodes;
  // A write that a node has made alone gets its version by the merge.
  await waitFor('all nodes', () => nodes.every((node) => isSame(node) && versions(node).join() === versions(first).join()));
  for (const node of nodes) t.deepEqual(versions(node), versions(first));
}

/** Without Redis. */
async function away(server: RedisServer, nodes: readonly PairsNode[]): Promise<void> {
  await server.kill();
  await waitFor('all know', () => nodes.every(({ state }) => state === 'behind'));
}

const lostOf = ({ lost }: PairsNode) => lost.map(({ key, lost: whose }) => `${key} ${whose}`).toSorted();

testRedis('redis-server: writes are kept while Redis is away, and merged when it is back', async (t) => {
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const nodes = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  const [a, b] = nodes;
  await a.pairs.set('color', 'red');
  await a.pairs.set('gone', 'x');
  await a.pairs.set('shared', '0');
  await same(t, nodes, { color: 'red', gone: 'x', shared: '0' });
  await away(server, nodes);
  const before = a.pairs.version('color');
  await a.pairs.set('color', 'blue', { ifMatch: before });
  t.like(await t.throwsAsync(a.pairs.set('color', 'green', { ifMatch: before })), { status: 412 });
  await a.pairs.set('color', 'green', { ifMatch: a.pairs.version('color') });
  t.true(await a.pairs.delete('gone'));
  await b.pairs.set('new', 'b');
  await b.pairs.set('shared', 'early');
  await delay(20);
  await a.pairs.set('shared', 'late');
  await a.pairs.set('equal', 'x');
  await b.pairs.set('equal', 'x');
  t.deepEqual(a.all(), { color: 'green', equal: 'x', shared: 'late' });
  t.deepEqual(b.all(), { color: 'red', equal: 'x', gone: 'x', new: 'b', shared: 'early' });
  await server.start();
  await same(t, nodes, { color: 'green', equal: 'x', new: 'b', shared: 'late' });
  // Whichever node merged first: the later write counts, and the other one is named.
  const named = nodes.flatMap(lostOf);
  t.true(named.length === 1 && named[0]?.startsWith('shared ') === true, named.join());
  await b.pairs.set('color', 'black', { ifMatch: b.pairs.version('color') });
  await same(t, nodes, { color: 'black', equal: 'x', new: 'b', shared: 'late' });
});

testRedis('redis-server: a write of others that is later counts, one that is earlier is replaced; both are named', async (t) => {
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const nodes = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  const [a, b] = nodes;
  await a.pairs.set('first', '0');
  await a.pairs.set('second', '0');
  await same(t, nodes, { first: '0', second: '0' });
  await away(server, nodes);
  await a.pairs.set('first', 'a');
  // Killed, and started again without Redis: it still has the write.
  const folder = tempFolder(t);
  cpSync(a.folder, folder, { recursive: true });
  a.end();
  const again = await PairsNode.start(t, 'a', server.port, { write: 'local', folder });
  t.deepEqual(again.all(), { first: 'a', second: '0' });
  t.like(again.pairs.shared, { state: 'behind', local: 1 });
  await again.pairs.set('second', 'a');
  again.end();
  await server.start();
  await b.inSync();
  await b.pairs.set('first', 'b');
  await b.pairs.delete('second');
  await server.cli('XTRIM', '{srv:c}:changes', 'MAXLEN', '1');
  const back = await PairsNode.start(t, 'a', server.port, { write: 'local', folder });
  await same(t, [back, b], { first: 'b' });
  t.deepEqual(lostOf(back), ['first local', 'second local']);
  t.deepEqual(lostOf(b), []);
});

testRedis('redis-server: emptied while it was away, it gets the pairs and the writes of that time', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  const [a, b] = nodes;
  const old: Record<string, string> = {};
  for (let n = 10; n < 30; n++) await a.pairs.set(`key ${n}`, (old[`key ${n}`] = 'x'.repeat(40_000)));
  await same(t, nodes, old);
  await away(server, nodes);
  for (let n = 10; n < 30; n += 2) await a.pairs.set(`key ${n}`, (old[`key ${n}`] = 'y'.repeat(40_000)));
  await b.pairs.set('new', 'b', { ttl: 60_000 });
  await server.start();
  await same(t, nodes, { ...old, new: 'b' });
  t.deepEqual(nodes.flatMap(lostOf), []);
  t.true((a.pairs.ttl('new') ?? 0) > 50_000);
});

testRedis('redis-server: writes whose replies are lost are made once, and replace nothing that came after them', async (t) => {
  const server = await RedisServer.start(t);
  const proxy = await FaultyProxy.start(t, server.port);
  const a = await PairsNode.start(t, 'a', proxy.port, { write: 'local', settings: { commandTimeout: 200 } });
  const b = await PairsNode.start(t, 'b', server.port, { write: 'local' });
  await a.pairs.set('gone', 'x');
  await same(t, [a, b], { gone: 'x' });
  // Redis makes the first write of each moment; the node does not learn of it, and makes them all by itself.
  const written = async (...writes: readonly (() => Promise<unknown>)[]): Promise<void> => {
    proxy.latency = 60_000;
    for (const write of writes) await write();
    t.true((a.pairs.shared?.local ?? 0) > 0);
  };
  const back = (): void => {
    proxy.latency = 0;
    proxy.reset();
  };
  await written(() => a.pairs.set('color', 'red', { ttl: 60_000 }));
  await waitFor('the write at the other node', () => b.pairs.get('color') === 'red');
  await b.pairs.set('color', 'blue');
  back();
  await same(t, [a, b], { color: 'blue', gone: 'x' });
  await written(() => a.pairs.delete('gone'));
  await waitFor('the deletion at the other node', () => b.pairs.get('gone') === undefined);
  await b.pairs.set('gone', 'again');
  back();
  await same(t, [a, b], { color: 'blue', gone: 'again' });
  await written(
    () => a.pairs.set('size', 'small'),
    () => a.pairs.set('size', 'large'),
  );
  back();
  await same(t, [a, b], { color: 'blue', gone: 'again', size: 'large' });
  const version = a.pairs.version('size');
  await written(() => a.pairs.set('color', 'green', { ifMatch: a.pairs.version('color') }));
  back();
  await same(t, [a, b], { color: 'green', gone: 'again', size: 'large' });
  t.is(Number(a.pairs.version('color')), Number(version) + 1);
  t.deepEqual([a, b].flatMap(lostOf), []);
});

testRedis('redis-server: keys of another program are not merged into, and writes are rejected', async (t) => {
  const server = await RedisServer.start(t);
  await server.cli('HSET', '{srv:c}:meta', 'format', '2');
  const [a] = (await startNodes(t, 'a', server)) as [PairsNode];
  t.like(await t.throwsAsync(a.pairs.set('x', 'y')), { status: 503, code: 'StoreUnavailable' });
  t.deepEqual(a.all(), {});
});
