/** Nodes whose clock is ten minutes ahead of that of Redis. */
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { ChangesNode, same } from './changes-node.js';
import { PairsNode } from './pairs-node.js';

const AHEAD_MS = 600_000;
const clock = Date.now.bind(Date);
// Of this process alone: Redis has the clock of the machine.
Date.now = () => clock() + AHEAD_MS;

testRedis('redis-server: pairs live as long as they should, by the clock of Redis, with nodes that are ten minutes ahead', async (t) => {
  const server = await RedisServer.start(t);
  const a = await PairsNode.start(t, 'a', server.port);
  const b = await PairsNode.start(t, 'b', server.port);
  t.true(Math.abs(a.connection.status.clockOffset + AHEAD_MS) < 5000);
  await a.pairs.set('long', 'x', { ttl: 60_000 });
  await b.pairs.set('brief', 'x', { ttl: 300 });
  await b.pairs.set('stays', 'x');
  const expires = Number((await server.cli('HGET', '{srv:c}:pairs', 'long')).split(':')[1]);
  t.true(Math.abs(expires - clock() - 60_000) < 10_000);
  await waitFor('the end of one of them', () =>
    [a, b].every(({ pairs }) => pairs.get('brief') === undefined && pairs.get('stays') === 'x'),
  );
  const c = await PairsNode.start(t, 'c', server.port);
  for (const { pairs } of [a, b, c]) {
    const left = pairs.ttl('long') ?? 0;
    t.true(left > 20_000 && left <= 61_000, `${left}`);
  }
});

testRedis('redis-server: changes of the configuration have their order, with nodes that are ten minutes ahead', async (t) => {
  const server = await RedisServer.start(t);
  const nodes = [await ChangesNode.start(t, 'a', server.port), await ChangesNode.start(t, 'b', server.port)];
  for (const [at, node] of nodes.entries()) await node.add(`10.0.0.${at + 3}:80`);
  await same(t, nodes);
  t.is(nodes[0]?.members.length, 4);
});
