/** Connections to Redis over unix sockets and TLS, with passwords for Redis and for sentinels. */
import type { ExecutionContext } from 'ava';
import { writeInto } from '../harness/temp.js';
import { selfSigned } from '../harness/certificate.js';
import { freePort } from '../harness/ports.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import type { RedisSettings } from '../../modules/redis/redis-settings.js';
import { redisSettings } from './pairs-node.js';
import { startSentinel } from './sentinel.js';

function open(t: ExecutionContext, more: Partial<RedisSettings>): BlockConnection {
  const connection = new BlockConnection('main');
  t.teardown(() => connection.close('end'));
  connection.open(redisSettings(1, more), 'c');
  return connection;
}

const ready = (connection: BlockConnection): Promise<unknown> => waitFor('Redis', () => connection.status.state === 'ready');
const fails = (connection: BlockConnection, reason: RegExp): Promise<unknown> =>
  waitFor(String(reason), () => reason.test(connection.status.reason ?? ''));

const OURS = selfSigned('localhost');

/** Files for a server with TLS, and its arguments. */
function tlsArgs(t: ExecutionContext, port: number): string[] {
  const folder = tempFolder(t);
  writeInto(folder, 'cert.pem', OURS.cert);
  writeInto(folder, 'key.pem', OURS.key);
  const [cert, key] = [`${folder}/cert.pem`, `${folder}/key.pem`];
  return ['--tls-port', String(port), '--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert];
}

testRedis('redis-server: a unix socket', async (t) => {
  const socket = `${tempFolder(t)}/redis.sock`;
  await RedisServer.start(t, '--unixsocket', socket, '--unixsocketperm', '700');
  const connection = open(t, { addresses: [], socket });
  await ready(connection);
  t.is(await connection.command('PING'), 'PONG');
});

testRedis('redis-server: TLS, with the certificate of a client; wrong ones are rejected', async (t) => {
  const port = await freePort(t);
  await RedisServer.start(t, ...tlsArgs(t, port));
  const addresses = [{ host: 'localhost', port }];
  const tls = { ca: OURS.cert, cert: OURS.cert, key: OURS.key };
  await ready(open(t, { addresses, tls }));
  await fails(open(t, { addresses, tls: { cert: OURS.cert, key: OURS.key } }), /self-signed certificate/);
  await fails(open(t, { addresses, tls: { ca: selfSigned('other').cert } }), /certificate/);
  t.not(open(t, { addresses, tls: { ca: OURS.cert } }).status.state, 'ready');
});

testRedis('redis-server with sentinels: TLS and passwords, to Redis and to the sentinels', async (t) => {
  const [port, sentinelPort] = [await freePort(t), await freePort(t)];
  const args = [...tlsArgs(t, port), '--tls-auth-clients', 'no', '--requirepass', 'right-secret'];
  const server = await RedisServer.start(t, ...args);
  const lines = tlsArgs(t, sentinelPort).map((word) => word.replace(/^--/, '\n'));
  const secured = [
    ...lines.join(' ').split('\n'),
    'tls-auth-clients no',
    'requirepass other-secret',
    'sentinel auth-pass main right-secret',
  ];
  // The sentinel asks the port without TLS; clients get the one with TLS in its place.
  await startSentinel(t, server.port, [...secured, 'sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'], { tlsPort: port });
  const addresses = [{ host: 'localhost', port: sentinelPort }];
  const tls = { ca: OURS.cert };
  const sentinel = { master: 'main', password: 'other-secret', hasTls: true };
  const connection = open(t, { addresses, sentinel, password: 'right-secret', tls });
  await ready(connection);
  t.is(await connection.command('PING'), 'PONG');
  const wrong = open(t, { addresses, sentinel: { ...sentinel, password: 'wrong-secret' }, password: 'right-secret', tls });
  await waitFor('an attempt', () => wrong.status.reason !== 'not connected yet');
  t.is(wrong.status.state, 'away');
  t.notRegex(wrong.status.reason ?? '', /secret/);
});
