/** Key-value pairs of several nodes over a real Redis. */
import { cpSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionContext } from 'ava';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { PairsNode, redisSettings, type PairsNodeOptions } from './pairs-node.js';
import { documentedRights } from './rights.js';

async function startNodes(t: ExecutionContext, names: string, server: RedisServer, options: PairsNodeOptions = {}): Promise<PairsNode[]> {
  const nodes: PairsNode[] = [];
  for (const name of names) nodes.push(await PairsNode.start(t, name, server.port, options));
  return nodes;
}

const versions = (node: PairsNode) => Object.keys(node.all()).map((key) => node.pairs.version(key));

async function same(t: ExecutionContext, nodes: readonly PairsNode[], expected?: Readonly<Record<string, string>>): Promise<void> {
  const [first] = nodes as [PairsNode];
  await waitFor('all nodes', () =>
    nodes.every((node) => JSON.stringify(node.all()) === JSON.stringify(expected ?? first.all()) && node.state === 'in_sync'),
  );
  for (const node of nodes) t.deepEqual(versions(node), versions(first));
}

testRedis('redis-server: a write at one node is at the others, with one version', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b, c] = (await startNodes(t, 'abc', server)) as [PairsNode, PairsNode, PairsNode];
  await a.pairs.set('color', 'rot é\n:1:');
  t.is(a.pairs.get('color'), 'rot é\n:1:');
  await same(t, [a, b, c], { color: 'rot é\n:1:' });
  await b.pairs.set('empty', '');
  t.true(await a.pairs.delete('color'));
  await same(t, [a, b, c], { empty: '' });
  t.is(await c.pairs.clear(), 1);
  await same(t, [a, b, c], {});
  t.deepEqual(
    b.statuses.map(({ state }) => state),
    [],
  );
});

testRedis('redis-server: of writes of two nodes with one condition, one wins', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = await startNodes(t, 'ab', server);
  for (let round = 0; round < 20; round++) {
    const lock = (node: PairsNode) => node.pairs.set(`lock ${round}`, node.name, { ifNoneMatch: '*' });
    const results = await Promise.allSettled(nodes.map(lock));
    t.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    const lost = results.find((result) => result.status === 'rejected');
    t.like(lost?.reason, { status: 412, code: 'VersionMismatch' });
  }
  await same(t, nodes);
  const [a, b] = nodes as [PairsNode, PairsNode];
  const version = a.pairs.version('lock 0');
  await b.pairs.set('lock 0', 'b', { ifMatch: version });
  t.like(await t.throwsAsync(a.pairs.set('lock 0', 'a', { ifMatch: version })), { status: 412 });
});

testRedis('redis-server: a condition holds at a node that has not heard of the last write yet', async (t) => {
  const server = await RedisServer.start(t);
  const a = await PairsNode.start(t, 'a', server.port);
  const proxy = await FaultyProxy.start(t, server.port);
  const b = await PairsNode.start(t, 'b', proxy.port);
  await a.pairs.set('color', 'red');
  await same(t, [a, b], { color: 'red' });
  proxy.latency = 200;
  for (const value of ['green', 'blue']) {
    await a.pairs.set('color', value);
    const ifMatch = a.pairs.version('color');
    await b.pairs.set('color', `${value} too`, { ifMatch });
    t.like(await t.throwsAsync(b.pairs.set('color', 'black', { ifMatch })), { status: 412 });
    await waitFor('the other node', () => a.pairs.get('color') === `${value} too`);
  }
});

testRedis('redis-server: writes of three nodes at once all succeed, and all nodes are the same', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = await startNodes(t, 'abc', server);
  const writes = nodes.flatMap(({ name, pairs }) =>
    Array.from({ length: 100 }, async (_, n) => {
      await pairs.set(`shared ${n % 10}`, `${name} ${n}`);
      await pairs.set(`${name} ${n}`, 'x');
      if (n % 3 === 0) await pairs.delete(`${name} ${n}`);
    }),
  );
  await Promise.all(writes);
  await same(t, nodes);
  t.is(Object.keys(nodes[0]?.all() ?? {}).length, 10 + 3 * 66);
});

testRedis('redis-server: away, reads go on and writes are 503; back, nothing that was acknowledged is lost', async (t) => {
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const nodes = await startNodes(t, 'ab', server);
  const [a, b] = nodes as [PairsNode, PairsNode];
  const acknowledged: Record<string, string> = {};
  for (let round = 0; round < 2; round++) {
    const writing = Array.from({ length: 20 }, async (_, n) => {
      await delay(n * 3);
      await nodes[n % 2]?.pairs.set(`${round} ${n}`, 'x').then(
        () => (acknowledged[`${round} ${n}`] = 'x'),
        (error: unknown) => t.like(error, { status: 503, code: 'StoreUnavailable' }),
      );
    });
    await delay(30);
    await server.kill();
    await Promise.all(writing);
    await waitFor('both know', () => nodes.every(({ state }) => state === 'behind'));
    const began = performance.now();
    t.like(await t.throwsAsync(a.pairs.set('x', 'y')), { status: 503, code: 'StoreUnavailable' });
    t.true(performance.now() - began < 500);
    for (const key of Object.keys(acknowledged))
      t.true(
        [a, b].some((node) => node.pairs.get(key) === 'x'),
        key,
      );
    await server.start();
    for (const node of nodes) await node.inSync();
  }
  await same(t, nodes);
  for (const key of Object.keys(acknowledged)) t.is(a.pairs.get(key), 'x', key);
});

testRedis('redis-server: a node starts with its last copy while Redis is away, and says so', async (t) => {
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const [a, b] = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  await a.pairs.set('color', 'red');
  await same(t, [a, b]);
  b.end();
  await a.pairs.set('color', 'blue');
  await server.kill();
  const again = await PairsNode.start(t, 'b', server.port, { folder: b.folder });
  t.is(again.pairs.get('color'), 'red');
  t.is(again.state, 'behind');
  t.like(again.statuses, [{ state: 'behind' }]);
  t.like(again.pairs.shared, { state: 'behind', isStale: true });
  await server.start();
  await waitFor('the write that it has missed', () => again.pairs.get('color') === 'blue');
  await again.inSync();
  t.like(again.pairs.shared, { state: 'in_sync', isStale: false });
});

testRedis('redis-server: a node that has missed more than the stream has takes a snapshot, and sees one change', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  await a.pairs.set('gone', '1');
  await a.pairs.set('color', 'red');
  await same(t, [a, b]);
  b.end();
  await a.pairs.delete('gone');
  for (let n = 0; n < 50; n++) await a.pairs.set('color', String(n));
  await server.cli('XTRIM', '{srv:c}:changes', 'MAXLEN', '3');
  const again = await PairsNode.start(t, 'b', server.port, { folder: b.folder });
  t.deepEqual(again.all(), { color: '49' });
  await a.pairs.set('color', 'last');
  await same(t, [a, again], { color: 'last' });
});

testRedis('redis-server: emptied, it gets the pairs of the nodes again', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  await a.pairs.set('color', 'red');
  await a.pairs.set('brief', 'x', { ttl: 3_600_000 });
  await same(t, [a, b]);
  await server.cli('FLUSHALL');
  await b.pairs.set('size', 'big');
  await same(t, [a, b], { brief: 'x', color: 'red', size: 'big' });
  await server.kill();
  await server.start();
  await waitFor('both', () => [a, b].every(({ connection }) => connection.status.state === 'ready'));
  await same(t, [a, b], { brief: 'x', color: 'red', size: 'big' });
  t.true((a.pairs.ttl('brief') ?? 0) > 3_500_000);
  await a.pairs.set('color', 'blue');
  await same(t, [a, b]);
  const fresh = await PairsNode.start(t, 'c', server.port);
  await same(t, [a, b, fresh], { brief: 'x', color: 'blue', size: 'big' });
});

testRedis('redis-server: writes that Redis has lost are reported, and all nodes are the same again', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  await a.pairs.set('color', 'red');
  await same(t, [a, b]);
  const dump = ['meta', 'pairs', 'changes'].map((name) => `{srv:c}:${name}`);
  for (const key of dump) await server.cli('COPY', key, `${key} before`);
  await a.pairs.set('color', 'blue');
  await same(t, [a, b]);
  b.end();
  for (const key of dump) await server.cli('COPY', `${key} before`, key, 'REPLACE');
  await a.pairs.set('color', 'green');
  t.is(a.pairs.get('color'), 'green');
  // The same number, but another change.
  const again = await PairsNode.start(t, 'b', server.port, { folder: b.folder });
  await same(t, [a, again], { color: 'green' });
  for (const { log } of [a, again]) t.true(log.lines.some((line) => line.includes('has lost writes up to version')));
});

testRedis('redis-server: pairs expire on all nodes, by the clock of Redis', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  await a.pairs.set('brief', 'x', { ttl: 200 });
  await a.pairs.set('long', 'x', { ttl: 60_000 });
  await a.pairs.set('stays', 'x');
  await same(t, [a, b]);
  await waitFor('the end', () => [a, b].every(({ pairs }) => pairs.get('brief') === undefined));
  await waitFor('its removal', async () => (await server.cli('HEXISTS', '{srv:c}:pairs', 'brief')) === ':0\r\n');
  await same(t, [a, b], { long: 'x', stays: 'x' });
  for (const { pairs } of [a, b]) t.true((pairs.ttl('long') ?? 0) > 50_000 && (pairs.ttl('long') ?? 0) <= 60_000);
});

testRedis('redis-server: keys of another program and another format are not touched', async (t) => {
  const server = await RedisServer.start(t);
  await server.cli('SET', '{srv:c}:meta', 'mine');
  const a = await PairsNode.start(t, 'a', server.port);
  t.like(await t.throwsAsync(a.pairs.set('x', 'y')), { status: 503, code: 'StoreUnavailable' });
  t.is(a.pairs.node.reason, 'redis "main" has keys "{srv:c}:…" of another program: choose another "prefix"');
  t.is(await server.cli('GET', '{srv:c}:meta'), '$4\r\nmine\r\n');
  await server.cli('FLUSHALL');
  await server.cli('HSET', '{srv:c}:pairs', 'a', 'b');
  const b = await PairsNode.start(t, 'b', server.port);
  t.regex(b.pairs.node.reason ?? '', /of another program/);
  await server.cli('HSET', '{srv:c}:meta', 'format', '2');
  const c = await PairsNode.start(t, 'c', server.port);
  t.regex(c.pairs.node.reason ?? '', /has format 2, this version of srv has format 1/);
  await waitFor('news of the other reason', () => a.statuses.some(({ reason }) => reason?.includes('has format 2') === true));
  t.is(await server.cli('HGET', '{srv:c}:pairs', 'a'), '$1\r\nb\r\n');
});

testRedis('redis-server: the rights in the documentation suffice', async (t) => {
  const server = await RedisServer.start(t, '--requirepass', 'all');
  const admin = new BlockConnection('admin');
  t.teardown(() => admin.close('end'));
  admin.open(redisSettings(server.port, { password: 'all' }), 'c');
  await waitFor('Redis', () => admin.status.state === 'ready');
  await admin.command('ACL', 'SETUSER', 'srv', 'on', '>some', '~{srv:*', ...documentedRights());
  const settings = { user: 'srv', password: 'some' };
  const [a, b] = (await startNodes(t, 'ab', server, { settings, wait: { replicas: 1, timeout: 50 } })) as [PairsNode, PairsNode];
  const error = await t.throwsAsync(a.pairs.set('color', 'red', { ttl: 60_000 }));
  t.like(error, { status: 503, message: 'the write is made, but 0 of 1 replicas have it after 50 ms: a failover may lose it' });
  await same(t, [a, b], { color: 'red' });
  await admin.command('XTRIM', '{srv:c}:changes', 'MAXLEN', '0');
  const c = await PairsNode.start(t, 'c', server.port, { settings });
  t.deepEqual(c.all(), { color: 'red' });
});

testRedis('redis-server: a write whose reply is late is made and acknowledged, or not made', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = (await startNodes(t, 'ab', server, { settings: { commandTimeout: 200 } })) as [PairsNode, PairsNode];
  const during = async (ms: number, write: () => Promise<unknown>): Promise<unknown> => {
    server.signal('SIGSTOP');
    const written = write().then(
      () => 'made',
      (error: unknown) => error,
    );
    await delay(ms);
    server.signal('SIGCONT');
    return written;
  };
  const late = await during(400, () => a.pairs.set('late', 'x'));
  if (late === 'made') t.is(a.pairs.get('late'), 'x');
  else t.like(late, { status: 503 });
  t.like(await during(1300, () => a.pairs.set('too late', 'x')), { status: 503, code: 'StoreUnavailable' });
  for (const node of [a, b]) await node.inSync();
  await a.pairs.set('after', 'x');
  await same(t, [a, b], { after: 'x', ...(late === 'made' && { late: 'x' }) });
});

testRedis('redis-server: redis_wait responds when a replica has the write', async (t) => {
  const server = await RedisServer.start(t);
  await RedisServer.start(t, '--replicaof', '127.0.0.1', String(server.port));
  const a = await PairsNode.start(t, 'a', server.port, { wait: { replicas: 1, timeout: 2000 } });
  await waitFor('replication', async () => (await a.connection.replicated(1, 100)) === 1);
  await t.notThrowsAsync(a.pairs.set('color', 'red'));
});

testRedis('redis-server: a copy that was not saved before a crash is completed from the stream', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = (await startNodes(t, 'ab', server)) as [PairsNode, PairsNode];
  await a.pairs.set('color', 'red');
  await same(t, [a, b]);
  const before = tempFolder(t);
  cpSync(b.folder, before, { recursive: true });
  await a.pairs.set('color', 'blue');
  await a.pairs.set('size', 'big');
  await same(t, [a, b]);
  // As after a crash: the files are those of an earlier moment.
  const again = await PairsNode.start(t, 'c', server.port, { folder: before });
  await same(t, [a, again], { color: 'blue', size: 'big' });
});

testRedis('redis-server: a node that is killed after its response has the write, also without Redis', async (t) => {
  const server = await RedisServer.start(t);
  const a = await PairsNode.start(t, 'a', server.port);
  const folder = tempFolder(t);
  await Promise.all(Array.from({ length: 20 }, (_, n) => a.pairs.set(`key ${n}`, 'x')));
  await a.pairs.set('color', 'red');
  cpSync(a.folder, folder, { recursive: true });
  await server.kill();
  const again = await PairsNode.start(t, 'a', server.port, { folder });
  t.is(again.pairs.get('color'), 'red');
  t.is(Object.keys(again.all()).length, 21);
});

testRedis('redis-server: emptied while a node has not read the last write, it gets that write again', async (t) => {
  const server = await RedisServer.start(t);
  const proxy = await FaultyProxy.start(t, server.port);
  const a = await PairsNode.start(t, 'a', server.port);
  const b = await PairsNode.start(t, 'b', proxy.port);
  await a.pairs.set('color', 'red');
  await same(t, [a, b], { color: 'red' });
  proxy.latency = 300;
  await a.pairs.set('color', 'blue');
  await server.cli('FLUSHALL');
  proxy.reset();
  proxy.latency = 0;
  await same(t, [a, b], { color: 'blue' });
});

testRedis('redis-server: redis_wait counts no replica of a server that lacks the write, as after a failover', async (t) => {
  const server = await RedisServer.start(t);
  const other = await RedisServer.start(t);
  await RedisServer.start(t, '--replicaof', '127.0.0.1', String(other.port));
  await waitFor('replication', async () => (await other.cli('WAIT', '1', '100')) === ':1\r\n');
  const proxy = await FaultyProxy.start(t, server.port);
  const a = await PairsNode.start(t, 'a', proxy.port, { wait: { replicas: 1, timeout: 200 } });
  proxy.target = other.port;
  const error = await t.throwsAsync(a.pairs.set('color', 'red'));
  t.like(error, { status: 503, message: 'the write is made, but 0 of 1 replicas have it after 200 ms: a failover may lose it' });
});
