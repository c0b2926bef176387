/** A `redis` block: connections, their loss and their errors. */
import { createServer } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { createHash } from 'node:crypto';
import { RedisFailure, type RedisEntry } from '../../core/contract/redis.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import { retryDelay } from '../../modules/redis/redis-link.js';
import type { RedisSettings } from '../../modules/redis/redis-settings.js';
import { check } from '../harness/check.js';
import { freePort } from '../harness/ports.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { waitFor } from '../harness/wait.js';
import { redisSettings } from './pairs-node.js';

function open(t: ExecutionContext, port: number, more: Partial<RedisSettings> = {}): BlockConnection {
  const connection = new BlockConnection('main');
  t.teardown(() => connection.close('end'));
  connection.open(redisSettings(port, more), 'c');
  return connection;
}

const ready = (connection: BlockConnection): Promise<unknown> => waitFor('Redis', () => connection.status.state === 'ready');

const script = (text: string) => ({ text, hash: createHash('sha1').update(text).digest('hex') });

testRedis('redis-server: commands and scripts, and scripts again that the server has forgotten', async (t) => {
  const server = await RedisServer.start(t);
  const connection = open(t, server.port);
  t.is(connection.keys, '{srv:c}:');
  await ready(connection);
  t.is(await connection.command('SET', 'a', 'é'), 'OK');
  t.is(await connection.command('GET', 'a'), 'é');
  const twice = script(`return redis.call('get', KEYS[1]) .. ARGV[1]`);
  t.is(await connection.script(twice, ['a'], [1]), 'é1');
  await server.cli('SCRIPT', 'FLUSH');
  t.is(await connection.script(twice, ['a'], [2]), 'é2');
  t.like(await t.throwsAsync(connection.command('INCR', 'a')), { kind: 'rejected' });
  t.true(Math.abs(connection.status.clockOffset) < 1000);
});

testRedis('redis-server: gone, commands are rejected at once; back, everything goes on', async (t) => {
  const server = await RedisServer.start(t);
  const connection = open(t, server.port);
  await ready(connection);
  const read: RedisEntry[] = [];
  connection.follow(
    's',
    () => read.at(-1)?.id ?? '0-0',
    (entries) => void read.push(...entries),
  );
  await server.cli('XADD', 's', '1-1', 'a', '1');
  await waitFor('an entry', () => read.length === 1);
  await server.kill();
  await waitFor('the loss', () => connection.status.state === 'away');
  const began = performance.now();
  t.like(await t.throwsAsync(connection.command('PING')), { kind: 'away' });
  t.true(performance.now() - began < 200);
  await server.start();
  await server.cli('XADD', 's', '2-1', 'a', '2');
  await ready(connection);
  await waitFor('the next entry', () => read.length === 2);
  t.deepEqual(
    read.map(({ id, fields }) => [id, ...fields]),
    [
      ['1-1', 'a', '1'],
      ['2-1', 'a', '2'],
    ],
  );
});

testRedis('redis-server: one that hangs is away after the time limit', async (t) => {
  const server = await RedisServer.start(t);
  const connection = open(t, server.port, { commandTimeout: 200 });
  await ready(connection);
  server.signal('SIGSTOP');
  t.like(await t.throwsAsync(connection.command('PING')), { kind: 'lost', message: `no reply within 200 ms (127.0.0.1:${server.port})` });
  t.is(connection.status.state, 'away');
  server.signal('SIGCONT');
  await ready(connection);
  t.is(await connection.command('PING'), 'PONG');
});

testRedis('redis-server: max_pending limits the commands that wait', async (t) => {
  const server = await RedisServer.start(t);
  const connection = open(t, server.port, { maxPending: 2 });
  await ready(connection);
  const results = await Promise.allSettled([1, 2, 3].map(() => connection.command('PING')));
  t.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  t.is(await connection.command('PING'), 'PONG');
});

testRedis('redis-server: a wrong password, a missing right and another protocol are named, passwords never', async (t) => {
  const server = await RedisServer.start(t, '--requirepass', 'right-secret');
  const reasonOf = async (connection: BlockConnection, text: RegExp): Promise<void> => {
    await waitFor(String(text), () => text.test(connection.status.reason ?? ''));
    t.notRegex(connection.status.reason ?? '', /secret/);
  };
  await reasonOf(open(t, server.port), /rejects the user or the password: check "user" and "password_file"/);
  await reasonOf(open(t, server.port, { password: 'wrong-secret' }), /rejects the user or the password/);
  const right = open(t, server.port, { password: 'right-secret' });
  await ready(right);
  await right.command('ACL', 'SETUSER', 'poor', 'on', '>poor-secret', '+get', '~*');
  await reasonOf(open(t, server.port, { user: 'poor', password: 'poor-secret' }), /no right in Redis \(ACL\): NOPERM .*'time'/);
  await right.command('ACL', 'SETUSER', 'poor', '+time', '+ping');
  const poor = open(t, server.port, { user: 'poor', password: 'poor-secret' });
  await ready(poor);
  t.regex((await t.throwsAsync(poor.command('SET', 'a', 'x-secret'))).message, /no right in Redis/);
  t.is(poor.status.state, 'ready');
  await reasonOf(open(t, await freePort(t)), /Connection refused \(127\.0\.0\.1:\d+\)/);
  const web = createServer((socket) =>
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).on('error', () => undefined),
  );
  web.listen(0, '127.0.0.1');
  t.teardown(() => web.close());
  await waitFor('a port', () => web.listening);
  await reasonOf(open(t, (web.address() as { port: number }).port), /does not speak the protocol of Redis: check "url"/);
});

testRedis('redis-server: replicas that have a write are counted', async (t) => {
  const server = await RedisServer.start(t);
  const connection = open(t, server.port);
  await ready(connection);
  t.is(await connection.replicated(1, 20), 0);
  const replica = await RedisServer.start(t, '--replicaof', '127.0.0.1', String(server.port));
  await waitFor('replication', async () => (await connection.replicated(1, 100)) === 1);
  await replica.kill();
});

test('a block that is not there is away', async (t) => {
  const connection = new BlockConnection('none');
  t.is((await t.throwsAsync<RedisFailure>(connection.command('PING'))).kind, 'away');
  await t.throwsAsync(connection.replicated(1, 1));
});

test('delays double up to a limit, and half of each is random', (t) => {
  t.deepEqual(
    [0, 1, 20].map((failures) => retryDelay(failures, 0)),
    [50, 100, 2500],
  );
  t.deepEqual(
    [0, 1, 20].map((failures) => retryDelay(failures, 1)),
    [100, 200, 5000],
  );
});

test('errors of a block have its line, and no password', async (t) => {
  const errors = async (block: string, files: Readonly<Record<string, string>> = {}): Promise<string> => {
    const conf = `load_module modules/srv_redis_module.js;\nredis a {\n${block}\n}\nevents {}\n`;
    const { stderr } = await check(t, conf, files);
    t.notRegex(stderr, /secret/);
    return stderr;
  };
  t.regex(await errors('url redis://127.0.0.1:6379/2;'), /test is successful/);
  t.regex(await errors('url unix:/run/redis.sock;'), /test is successful/);
  t.regex(await errors('sentinel main 127.0.0.1 127.0.0.2:26380;'), /test is successful/);
  t.regex(await errors('url redis://a redis://b; cluster on;'), /test is successful/);
  t.regex(await errors(''), /redis "a": a "redis" block needs an address.*srv\.conf:2/s);
  t.regex(await errors('url http://127.0.0.1;'), /the address of Redis is invalid/);
  t.regex(await errors('url redis://user:secret@127.0.0.1;'), /must not have a user or a password/);
  t.regex(await errors('url redis://a redis://b;'), /several addresses need "cluster on"/);
  t.regex(await errors('url redis://a; sentinel_tls on;'), /"sentinel_…" needs "sentinel"/);
  t.regex(await errors('url redis://a; sentinel b c;'), /"sentinel" cannot be combined/);
  t.regex(await errors('url redis://a; password_file pass;'), /open\(\) ".*pass" failed \(2: No such file/);
  t.regex(await errors('url redis://a; password_file pass;', { 'conf/pass': 'secret' }), /others may read ".*pass"/);
  t.regex(await errors('url redis://a; tls_certificate c;'), /failed|need each other/);
  t.regex(await errors('url redis://a; }\nredis a { url redis://b;'), /duplicate redis "a"/);
});
