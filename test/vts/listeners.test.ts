import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, get } from '../harness/client.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode } from '../control/node.js';

interface Listener {
  readonly accepted: number;
  readonly rejected: number;
  readonly current: number;
  readonly tls?: unknown;
}

const node = shared(async (scope) => {
  const silent = await rawBackend(scope, () => undefined);
  const datagrams = await datagramBackend(scope, echo);
  const { key, cert } = selfSigned('here.example');
  return startNode(scope, {
    main: 'load_module modules/srv_http_vts_module.so;',
    controlMain: 'load_module modules/srv_http_vts_api_module.so;',
    files: { 'conf/key.pem': key, 'conf/cert.pem': cert },
    http: `
      vts on;
      ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:sessions:1m;
      ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256;
      server { listen 127.0.0.1:%%PORT_tls%% ssl; return 200; }`,
    server: 'return 200;',
    stream: `
      server { listen 127.0.0.1:%%PORT_stream%%; proxy_pass 127.0.0.1:${silent.port}; }
      server { listen 127.0.0.1:%%PORT_secure%% ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem; return secret; }
      server { listen 127.0.0.1:%%PORT_udp%% udp; proxy_responses 1; proxy_pass 127.0.0.1:${datagrams.port}; }`,
  });
});

/** The listener of a port, once it is as expected. */
async function listener(name: string, isReady: (listener: Listener) => boolean): Promise<Listener> {
  const { srv, call } = await node().then((one) => ({ srv: one.srv, call: one.call.bind(one) }));
  return waitFor(`the listener ${name}`, async () => {
    const { listeners } = (await call('GET', '/vts?group=listeners')).json as { readonly listeners?: Readonly<Record<string, Listener>> };
    const found = listeners?.[`127.0.0.1:${srv.port(name)}${name === 'udp' ? ' udp' : ''}`];
    return found !== undefined && isReady(found) && found;
  });
}

async function secure(name: string, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ port: (await node()).srv.port(name), host: '127.0.0.1', rejectUnauthorized: false, ...options });
  socket.on('error', () => undefined);
  return socket;
}

const closed = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('close', resolve));

/** Sends a request, and waits for the end of the connection. */
async function request(socket: TLSSocket): Promise<void> {
  socket.write('GET / HTTP/1.0\r\n\r\n');
  socket.resume();
  await once(socket, 'end');
  socket.end();
}

test.serial('connections are counted by listener, over TCP and UDP', async (t) => {
  const { srv } = await node();
  for (let round = 0; round < 3; round++) await get(srv.port('web'), '/');
  const open = await Promise.all([1, 2].map(() => connectRaw(t, srv.port('stream'))));
  t.like(await listener('stream', ({ current }) => current === 2), { accepted: 2, rejected: 0 });
  for (const { socket } of open) socket.destroy();
  t.like(await listener('stream', ({ current }) => current === 0), { accepted: 2 });
  t.deepEqual(await listener('web', ({ current }) => current === 0).then(({ accepted, tls }) => ({ accepted, tls })), {
    accepted: 3,
    tls: undefined,
  });
  const client = await datagramClient(t, srv.port('udp'));
  client.send('hello');
  t.like(await listener('udp', ({ current, accepted }) => accepted > 0 && current === 0), { accepted: 1 });
});

test.serial('handshakes are counted by protocol, cipher and failure, in both engines', async (t) => {
  const first = await secure('tls', { maxVersion: 'TLSv1.2' });
  await request(first);
  const session = first.getSession();
  const second = await secure('tls', { maxVersion: 'TLSv1.2', ...(session && { session }) });
  await request(second);
  t.true(second.isSessionReused());
  await request(await secure('tls', { ciphers: 'TLS_CHACHA20_POLY1305_SHA256' }));
  await closed(await secure('tls', { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL@SECLEVEL=0' }));
  await closed(await secure('tls', { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384' }));
  const { tls } = await listener('tls', ({ accepted, current }) => accepted === 5 && current === 0);
  t.deepEqual(tls, {
    handshakes: 3,
    resumed: 1,
    protocols: { 'TLSv1.2': 2, 'TLSv1.3': 1 },
    ciphers: { aes_gcm: 2, chacha20: 1 },
    failed: 2,
    failures: { protocol: 1, cipher: 1 },
  });

  const there = await secure('secure');
  there.resume();
  await closed(there);
  const plain: Socket = connect((await node()).srv.port('secure'), '127.0.0.1');
  plain.end(Buffer.from([0x16, 3, 1, 0, 100, 1]));
  plain.resume();
  await closed(plain);
  t.like((await listener('secure', ({ accepted, current }) => accepted === 2 && current === 0)).tls, {
    handshakes: 1,
    protocols: { 'TLSv1.3': 1 },
  });
});

test.serial('a listener that a reload removes is read once more', async (t) => {
  const { srv, call } = await node().then((one) => ({ srv: one.srv, call: one.call.bind(one) }));
  const conf = readFileSync(join(srv.prefix, 'conf/srv.conf'), 'utf8');
  await srv.configure(conf.replace(/server \{ listen \S+ ssl; return 200; \}/, ''));
  srv.signal('SIGHUP');
  const names = async (): Promise<string[]> => Object.keys(((await call('GET', '/vts')).json as { readonly listeners: object }).listeners);
  await waitFor('the end of the row', async () => !(await names()).includes(`127.0.0.1:${srv.port('tls')}`));
  t.true((await names()).includes(`127.0.0.1:${srv.port('web')}`));
});
