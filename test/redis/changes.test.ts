/** The configuration of several nodes over a real Redis. */
import type { ExecutionContext } from 'ava';
import { FaultyProxy } from '../harness/faulty-proxy.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { flag } from '../../core/contract/args.js';
import { exactTree } from '../../core/contract/print.js';
import { directive } from '../../core/contract/spec.js';
import { add, find, registry } from '../control/fake-master.js';
import { CONFIG } from '../control/node-operations.js';
import { ChangesNode, same, type ChangesNodeOptions } from './changes-node.js';

type Three = [ChangesNode, ChangesNode, ChangesNode];

async function startNodes(t: ExecutionContext, names: string, { port }: RedisServer, options: ChangesNodeOptions = {}): Promise<Three> {
  const nodes: ChangesNode[] = [];
  for (const name of names) nodes.push(await ChangesNode.start(t, name, port, options));
  return nodes as unknown as Three;
}

const KEY = '-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----';

/** A directive of a module that only the newer version has. */
const extra = ({ master }: ChangesNode): Promise<unknown> =>
  master.transactions.apply((root) => [{ op: 'add', parent: find(root, 'location', '/x'), text: 'extra on;' }]);

const withKey = ({ master }: ChangesNode): Promise<unknown> =>
  master.transactions.apply((root) => [{ op: 'add', parent: find(root, 'location', '/x'), text: `allow "${KEY}";` }]);

testRedis('redis-server: nodes go through the same versions, whichever of them changes the configuration', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = await startNodes(t, 'abc', server);
  const [a, b, c] = nodes;
  await a.add('10.0.0.3:80');
  await same(t, nodes);
  await Promise.all(nodes.flatMap((node, n) => Array.from({ length: 8 }, (_, i) => node.add(`10.0.${n}.${10 + i}:80`))));
  await same(t, nodes);
  t.is(b.members.length, 27);
  t.is(new Set(c.members.map((member) => member.split('@')[1])).size, 27);
  t.deepEqual(
    nodes.map(({ status }) => status.version.number),
    Array.from({ length: 3 }, () => a.status.version.number),
  );
  const history = c.master.store.history.last(30);
  t.deepEqual([...new Set(history.map(({ node }) => node))].toSorted(), ['a', 'b', 'c']);
});

testRedis('redis-server: of changes of two nodes with one condition, one wins', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = await startNodes(t, 'ab', server);
  const [a] = nodes;
  for (let round = 0; round < 5; round++) {
    const ifMatch = `"${a.status.version.number}"`;
    await same(t, nodes);
    const calls = nodes.map(({ master, name }) =>
      master.transactions.together(
        [(time) => master.transactions.apply(add(`server 10.${name === 'a' ? 1 : 2}.0.${round}:80;`), time).then((value) => ({ value }))],
        { dryRun: false, requestId: name, ifMatch },
      ),
    );
    const results = await Promise.allSettled(calls);
    t.deepEqual(results.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    t.like(results.find((result) => result.status === 'rejected')?.reason, { status: 412 });
  }
  await same(t, nodes);
});

testRedis('redis-server: a version that one node has just made is known to the other one, which has not heard of it', async (t) => {
  const server = await RedisServer.start(t);
  const proxy = await FaultyProxy.start(t, server.port);
  const a = await ChangesNode.start(t, 'a', server.port);
  const b = await ChangesNode.start(t, 'b', proxy.port);
  proxy.latency = 200;
  await a.add('10.0.0.3:80');
  const ifMatch = `"${a.status.version.number}"`;
  const { transactions } = b.master;
  const change = (): Promise<unknown> =>
    transactions.together([(time) => transactions.apply(add('server 10.0.0.4:80;'), time).then((value) => ({ value }))], {
      dryRun: false,
      requestId: 'b',
      ifMatch,
    });
  await change();
  t.like(await t.throwsAsync(change()), { status: 412 });
  await same(t, [a, b]);
  t.is(a.members.length, 4);
});

testRedis('redis-server: away, changes are 503; back, nothing that was acknowledged is lost; emptied, the nodes put it back', async (t) => {
  const server = await RedisServer.start(t, '--appendonly', 'yes');
  const nodes = await startNodes(t, 'ab', server);
  const [a, b] = nodes;
  await a.add('10.0.0.3:80');
  await server.kill();
  await waitFor('both know', () => nodes.every(({ status }) => status.state === 'behind'));
  t.notRegex(a.status.reason ?? '', /nothing was changed/);
  t.truthy(a.status.reason);
  t.like(await t.throwsAsync(a.add('10.0.0.4:80')), { status: 503, code: 'StoreUnavailable' });
  await server.start();
  await Promise.all(nodes.map((node) => node.inSync()));
  await same(t, nodes);
  await b.add('10.0.0.5:80');
  await same(t, nodes);
  await server.cli('FLUSHALL');
  await waitFor('a change', () =>
    a.add('10.0.0.6:80').then(
      () => true,
      () => false,
    ),
  );
  await same(t, nodes);
  t.deepEqual(
    b.members.map((member) => member.split('@')[0]),
    ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80', '10.0.0.5:80', '10.0.0.6:80'],
  );
});

testRedis('redis-server: a node that joins, or was away for long, has the snapshot and what follows it', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = await startNodes(t, 'ab', server);
  const [a, b] = nodes;
  await b.add('10.0.0.3:80');
  await same(t, nodes);
  await b.end();
  for (let n = 0; n < 220; n++) await a.add(`10.1.${n}.1:80`);
  await waitFor('a snapshot', async () => /\$\d+\r\n[1-9]\d+/.test(await server.cli('HGET', '{srv:c}:config', 'snapshot')));
  await waitFor('a trimmed stream', async () => Number((await server.cli('XLEN', '{srv:c}:config:changes')).slice(1)) < 150);
  const again = await ChangesNode.start(t, 'b', server.port, { folder: b.folder });
  const c = await ChangesNode.start(t, 'c', server.port);
  await same(t, [a, again, c]);
  t.is(c.members.length, 223);
  await c.add('10.0.0.9:80');
  await same(t, [a, again, c]);
});

testRedis('redis-server: private keys travel with cluster_key_file only, encrypted', async (t) => {
  const server = await RedisServer.start(t);
  const secret = 'a secret of the cluster with forty letters';
  const [plain] = await startNodes(t, 'p', server);
  t.like(await t.throwsAsync(withKey(plain)), { status: 409, code: 'ClusterKeyMissing' });
  t.notRegex(plain.master.printed(), /PRIVATE/);
  await plain.end();
  await server.cli('FLUSHALL');
  const nodes = await startNodes(t, 'ab', server, { secret });
  await withKey(nodes[0]);
  await same(t, nodes);
  t.regex(nodes[1].master.printed(), /PRIVATE/);
  t.notRegex(await server.cli('XRANGE', '{srv:c}:config:changes', '-', '+'), /PRIVATE|allow/);
  const other = await ChangesNode.start(t, 'c', server.port);
  t.is(other.status.state, 'diverged');
  t.regex(other.status.reason ?? '', /set "cluster_key_file", with the same key/);
  const wrong = await ChangesNode.start(t, 'd', server.port, { secret: `${secret}!` });
  t.regex(wrong.status.reason ?? '', /encrypted with another key/);
});

testRedis('redis-server: a node that lacks a module of the others does not take over their state', async (t) => {
  const server = await RedisServer.start(t);
  const specs = registry();
  specs.register('extra_module', { extra: directive({ in: ['http'], args: flag(), dynamic: true }) });
  const a = await ChangesNode.start(t, 'a', server.port, { specs, config: CONFIG.replace('http {', 'http { extra on;') });
  await a.add('10.0.0.3:80');
  const b = await ChangesNode.start(t, 'b', server.port);
  t.like(b.status, { state: 'diverged' });
  t.regex(b.status.reason ?? '', /modules that this one has not loaded: "extra_module"/);
  t.is(b.members.length, 2);
  t.like(await t.throwsAsync(b.add('10.0.0.4:80')), { status: 503, code: 'NodeDiverged' });
  const c = await ChangesNode.start(t, 'c', server.port, { specs });
  t.is(c.members.length, 3);
});

testRedis('redis-server: older nodes of two versions stop at a change that they do not understand, until they are upgraded', async (t) => {
  const server = await RedisServer.start(t);
  const specs = registry();
  specs.register('extra_module', { extra: directive({ in: ['location'], args: flag(), dynamic: true }) });
  const upgraded = async (node: ChangesNode): Promise<ChangesNode> => {
    await node.end();
    return ChangesNode.start(t, node.name, server.port, { specs, folder: node.folder });
  };
  const [a, b, c] = await startNodes(t, 'abc', server);
  const newC = await upgraded(c);
  // Both versions understand these, whichever node makes them.
  await newC.add('10.0.0.3:80');
  await a.add('10.0.0.4:80');
  await same(t, [a, b, newC]);
  await t.throwsAsync(extra(a), { message: /extra/ });
  await extra(newC);
  await waitFor('the older nodes', () => [a, b].every(({ status }) => status.state === 'diverged'));
  for (const node of [a, b]) {
    t.regex(node.status.reason ?? '', /unknown directive "extra"|modules that this one has not loaded: "extra_module"/);
    t.like(await t.throwsAsync(node.add('10.0.0.9:80')), { status: 503, code: 'NodeDiverged' });
    t.is(node.members.length, 4);
  }
  await newC.add('10.0.0.5:80');
  const newB = await upgraded(b);
  await newB.add('10.0.0.6:80');
  await same(t, [newB, newC]);
  t.is(a.members.length, 4);
  const newA = await upgraded(a);
  await same(t, [newA, newB, newC]);
  t.is(newA.members.length, 6);
  t.regex(newA.master.printed(), /extra on/);
});

testRedis(
  'redis-server: emptied while only nodes are left that could not apply the last change, one of them begins by resync',
  async (t) => {
    const server = await RedisServer.start(t);
    const specs = registry();
    specs.register('extra_module', { extra: directive({ in: ['location'], args: flag(), dynamic: true }) });
    const [a, b, c] = await startNodes(t, 'abc', server);
    await c.end();
    const newC = await ChangesNode.start(t, 'c', server.port, { specs, folder: c.folder });
    await newC.add('10.0.0.3:80');
    await extra(newC);
    await waitFor('the older nodes', () => [a, b].every(({ status }) => status.state === 'diverged'));
    const { entry } = a.status;
    await newC.end();
    await server.cli('FLUSHALL');
    const text = `this node lacks version ${entry}: start a node that has it, or begin with what this one has: srvctl cluster resync`;
    await waitFor('the reason', () => [a, b].every(({ status }) => status.state === 'diverged' && status.reason?.endsWith(text) === true));
    t.like(await t.throwsAsync(a.add('10.0.0.4:80')), { status: 503, code: 'NodeDiverged' });
    await a.master.transactions.resync();
    await same(t, [a, b]);
    await b.add('10.0.0.4:80');
    await same(t, [a, b]);
    t.is(a.members.length, 4);
    // The change that only this node has is replaced, and it says so.
    const back = await ChangesNode.start(t, 'c', server.port, { specs, folder: c.folder });
    await same(t, [a, b, back]);
    t.true(
      back.log.lines.some((line) => /changes of this node \(version \d+\) are replaced by those of redis "main"/.test(line)),
      back.log.lines.join('\n'),
    );
  },
);

testRedis('redis-server: cluster_wait: a change that no replica has is made, and the response says so', async (t) => {
  const server = await RedisServer.start(t);
  const [a, b] = await startNodes(t, 'ab', server, { wait: { replicas: 1, timeout: 50 } });
  const error = await t.throwsAsync(a.add('10.0.0.3:80'));
  t.like(error, { status: 503, message: 'the change is made, but 0 of 1 replicas have it after 50 ms: a failover may lose it' });
  await same(t, [a, b]);
  t.is(b.members.length, 3);
  for (const { master } of [a, b])
    t.deepEqual(
      master.workers.map(({ tree }) => exactTree(tree.root)),
      [master.printed(), master.printed()],
    );
});

testRedis('redis-server: a node with cluster_key_file takes nothing that is not encrypted', async (t) => {
  const server = await RedisServer.start(t);
  const a = await ChangesNode.start(t, 'a', server.port);
  await a.add('10.0.0.3:80');
  const b = await ChangesNode.start(t, 'b', server.port, { secret: 'a secret of the cluster with forty letters' });
  t.is(b.status.state, 'diverged');
  t.regex(b.status.reason ?? '', /is not encrypted, as this node expects/);
  t.false(b.members.some((member) => member.startsWith('10.0.0.3:')));
});

testRedis('redis-server: keys of another program and another format are named, and not touched', async (t) => {
  const server = await RedisServer.start(t);
  const rejected = async (name: string, text: RegExp): Promise<void> => {
    const node = await ChangesNode.start(t, name, server.port);
    const error = await t.throwsAsync(node.add('10.0.0.3:80'));
    t.like(error, { status: 503, code: 'StoreUnavailable' });
    t.regex(error?.message ?? '', text);
    t.is(node.members.length, 2);
    await node.end();
  };
  await server.cli('SET', '{srv:c}:config', 'mine');
  await rejected('a', /has keys "\{srv:c\}:…" of another program: choose another "prefix"; nothing was changed/);
  t.is(await server.cli('GET', '{srv:c}:config'), '$4\r\nmine\r\n');
  await server.cli('FLUSHALL');
  await server.cli('HSET', '{srv:c}:config', 'color', 'red');
  await rejected('b', /of another program: choose another "prefix"/);
  await server.cli('HSET', '{srv:c}:config', 'format', '0');
  await rejected('c', /the data in redis "main" has format 0, this version of srv has format 1: choose another "prefix"/);
  t.is(await server.cli('HGETALL', '{srv:c}:config'), '*4\r\n$5\r\ncolor\r\n$3\r\nred\r\n$6\r\nformat\r\n$1\r\n0\r\n');
});
