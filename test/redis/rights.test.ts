/** A user who lacks one of the rights in the documentation: what it is is said, nothing is left half done, and all is well when it is given. */
import { cpSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { ChangesNode } from './changes-node.js';
import { PairsNode } from './pairs-node.js';
import { documentedRights } from './rights.js';

/** Rights that a node needs to begin an empty Redis, to write a pair and to remove one; the others are for nodes that join, zones and replicas. */
const PAIRS = ['time', 'evalsha', 'del', 'exists', 'hdel', 'hgetall', 'hmget', 'hset', 'persist', 'pexpire', 'rename', 'xadd', 'xrange'];
const CHANGES = ['time', 'evalsha', 'del', 'exists', 'hgetall', 'hmget', 'hset', 'persist', 'pexpire', 'rename', 'xadd', 'xrange'];

/** A user with keys of its own. @param without a right that is missing */
async function user(
  server: RedisServer,
  name: string,
  without: string,
): Promise<{ readonly settings: object; readonly grant: () => Promise<unknown> }> {
  const rights = documentedRights().filter((right) => right !== `+${without}`);
  await server.cli('ACL', 'SETUSER', name, 'on', '>secret', `~{${name}:*`, ...rights);
  const grant = (): Promise<unknown> => server.cli('ACL', 'SETUSER', name, `+${without}`);
  return { settings: { user: name, password: 'secret', prefix: name }, grant };
}

/** All calls are rejected; the reason is said, by the response or of the connection. */
async function rejected(t: ExecutionContext, call: () => Promise<unknown>, reason: () => string | undefined, right: string): Promise<void> {
  await waitFor(`the reason without ${right}`, async () => {
    const error = await t.throwsAsync(call(), undefined, right);
    t.like(error, { status: 503, code: 'StoreUnavailable' }, right);
    t.notRegex(error?.message ?? '', /another program|secret/, right);
    return /the user has no right in Redis \(ACL\)/.test(`${error?.message} ${reason()}`);
  });
}

const made = (what: string, call: () => Promise<unknown>): Promise<unknown> =>
  waitFor(what, () =>
    call().then(
      () => true,
      () => false,
    ),
  );

testRedis('redis-server: pairs with one right too few', async (t) => {
  const server = await RedisServer.start(t);
  const alone = await PairsNode.start(t, 'seed', server.port, { settings: { prefix: 'seed' } });
  await alone.pairs.set('old', 'x');
  alone.end();
  const tried = PAIRS.map(async (right) => {
    const { settings, grant } = await user(server, `p-${right}`, right);
    const folder = tempFolder(t);
    cpSync(alone.folder, folder, { recursive: true });
    const a = await PairsNode.start(t, 'a', server.port, { settings, folder });
    const write = async (): Promise<void> => {
      await a.pairs.set('color', 'red');
      await a.pairs.delete('color');
    };
    await rejected(t, write, () => a.connection.status.reason, right);
    await grant();
    await made(`writes with ${right}`, write);
    const b = await PairsNode.start(t, 'b', server.port, { settings });
    await waitFor(`the other node with ${right}`, () => JSON.stringify(b.all()) === '{"old":"x"}');
    t.deepEqual(a.all(), b.all(), right);
  });
  await Promise.all(tried);
});

testRedis('redis-server: changes with one right too few', async (t) => {
  const server = await RedisServer.start(t);
  const tried = CHANGES.map(async (right) => {
    const { settings, grant } = await user(server, `c-${right}`, right);
    const a = await ChangesNode.start(t, 'a', server.port, { settings });
    await rejected(
      t,
      () => a.add('10.0.0.3:80'),
      () => a.connection.status.reason,
      right,
    );
    t.is(a.members.length, 2, right);
    await grant();
    await made(`a change with ${right}`, () => a.add('10.0.0.4:80'));
    const b = await ChangesNode.start(t, 'b', server.port, { settings });
    await waitFor(`the other node with ${right}`, () => JSON.stringify(b.members) === JSON.stringify(a.members));
    t.is(b.members.length, 3, right);
  });
  await Promise.all(tried);
});
