/** How long a node takes to join a large configuration, and the rights that it needs. */
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import { add } from '../control/fake-master.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { ChangesNode, same } from './changes-node.js';
import { redisSettings } from './pairs-node.js';
import { documentedRights } from './rights.js';

const MEMBERS = 10_000;

testRedis('redis-server: a node joins 10,000 changed directives with the rights in the documentation', async (t) => {
  const server = await RedisServer.start(t, '--requirepass', 'all');
  const admin = new BlockConnection('admin');
  t.teardown(() => admin.close('end'));
  admin.open(redisSettings(server.port, { password: 'all' }), 'c');
  await waitFor('Redis', () => admin.status.state === 'ready');
  await admin.command('ACL', 'SETUSER', 'srv', 'on', '>some', '~{srv:*', ...documentedRights());
  const settings = { user: 'srv', password: 'some' };
  const a = await ChangesNode.start(t, 'a', server.port, { settings });
  await a.master.transactions.apply((root) =>
    Array.from({ length: MEMBERS }, (_, n) => add(`server 10.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}:80;`)(root)).flat(),
  );
  t.true(await a.changes.wantSnapshot(a.status.version.number, 10_000));
  const began = performance.now();
  const b = await ChangesNode.start(t, 'b', server.port, { settings });
  const took = performance.now() - began;
  await same(t, [a, b]);
  t.is(b.members.length, MEMBERS + 2);
  t.log(`${Math.round(took)} ms`);
});
