import { Agent } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, get } from '../harness/client.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { fetched, Load } from './load.js';
import { endWithTest, isAlive, pidOf, upgrade } from './replaced.js';

/** 20 is what one wants to have seen; the suite does fewer. */
const UPGRADES = Number(process.env['SRV_UPGRADES'] ?? 2);

interface Stage {
  readonly srv: Srv;
  /** Lets the long requests end. */
  readonly release: () => void;
  /** Ports that the member for datagrams got them from, one for each session. */
  readonly sources: () => readonly number[];
}

async function stage(t: ExecutionContext): Promise<Stage> {
  const waiting: (() => void)[] = [];
  const web = await httpBackend(t, (incoming, response) => {
    if (incoming.url === '/long') waiting.push(() => response.end('long'));
    else response.end('hello');
  });
  const bytes = await rawBackend(t, (socket) => socket.pipe(socket));
  const datagrams = await datagramBackend(t, echo);
  const { key, cert } = selfSigned('localhost');
  const srv = await startSrv(
    t,
    `worker_processes 2;
    error_log logs/error.log info;
    events {}
    http {
      access_log off;
      upstream web { zone web 64k; server 127.0.0.1:${web.port}; keepalive 16; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://web; } }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate a.crt; ssl_certificate_key a.key; location / { proxy_pass http://web; } }
      server { listen unix:%%PREFIX%%/w.sock; location / { proxy_pass http://web; } }
    }
    stream {
      server { listen 127.0.0.1:%%PORT_tcp%%; proxy_pass 127.0.0.1:${bytes.port}; }
      server { listen 127.0.0.1:%%PORT_udp%% udp; proxy_timeout 12s; proxy_pass 127.0.0.1:${datagrams.port}; }
    }`,
    { files: { 'conf/a.crt': cert, 'conf/a.key': key } },
  );
  endWithTest(t, srv);
  return { srv, sources: () => datagrams.received.map(({ port }) => port), release: () => waiting.splice(0).forEach((end) => end()) };
}

/** One request over TLS; says whether the session was resumed. */
function overTls(port: number, session: Buffer | undefined): Promise<{ readonly session: Buffer | undefined; readonly isReused: boolean }> {
  return new Promise((resolve, reject) => {
    let next = session;
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, session });
    socket.on('session', (given: Buffer) => (next = given));
    let isReused = false;
    socket.once('secureConnect', () => {
      isReused = socket.isSessionReused();
      socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    });
    let text = '';
    socket.on('data', (bytes: Buffer) => (text += bytes));
    socket.once('error', reject);
    socket.once('close', () => (text.endsWith('hello') ? resolve({ session: next, isReused }) : reject(new Error(`response "${text}"`))));
  });
}

async function echoed(t: ExecutionContext, port: number): Promise<void> {
  const connection = await connectRaw(t, port);
  connection.send('ping');
  await connection.receive(/^ping$/);
  connection.socket.destroy();
}

/** What tells sockets apart that are bound to a port: for TCP those that listen. */
function socketsAt(port: number, protocol: 'tcp' | 'udp'): readonly string[] {
  const lines = readFileSync(`/proc/net/${protocol}`, 'utf8').split('\n');
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const bound = lines.map((line) => line.trim().split(/\s+/)).filter(([, at, to]) => at?.endsWith(local) && to?.endsWith(':0000'));
  return bound.map((fields) => fields[9] ?? '').toSorted();
}

test('no client notices an upgrade: new and kept connections, TLS, TCP, a unix socket, a long request, a tunnel', async (t) => {
  t.timeout(300_000);
  const { srv, release } = await stage(t);
  const first = pidOf(srv);
  const agents = [1, 2].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  t.teardown(() => agents.forEach((agent) => agent.destroy()));
  const port = srv.port('web');
  const long = get(port, '/long', { timeoutMs: 200_000 });
  const tunnel = await connectRaw(t, srv.port('tcp'));
  tunnel.send('before ');
  await tunnel.receive(/before /);
  const { session } = await overTls(srv.port('tls'), undefined);
  const load = new Load({
    'kept 1': fetched({ host: '127.0.0.1', port, agent: agents[0] }),
    'kept 2': fetched({ host: '127.0.0.1', port, agent: agents[1] }),
    new: fetched({ host: '127.0.0.1', port, agent: false }),
    'unix socket': fetched({ socketPath: srv.path('w.sock'), agent: false }),
    TLS: async () => void (await overTls(srv.port('tls'), undefined)),
    TCP: () => echoed(t, srv.port('tcp')),
  });
  const pids = new Set([first]);
  for (let count = 0; count < UPGRADES; count++) {
    const before = pidOf(srv);
    pids.add(await upgrade(srv));
    if (before === first) await srv.waitForLog(new RegExp(`^${first}$`, 'm'), 'logs/srv.pid.oldbin');
    await sleep(300);
  }
  t.is(pids.size, UPGRADES + 1);
  tunnel.send('after');
  await tunnel.receive(/after$/);
  t.true(isAlive(first), 'it still has a request and a tunnel');
  release();
  t.is((await long).body, 'long');
  tunnel.socket.end();
  // While its parent has not taken note of its end, its number exists.
  await waitFor('the end of the first program', () => !srv.running, 30_000);
  await load.end();
  t.deepEqual(load.failures, []);
  t.true((await overTls(srv.port('tls'), session)).isReused, 'its key for tickets is that of the first program');
  t.log(`${load.done} requests and connections, ${UPGRADES} upgrades`);
  t.true(existsSync(srv.path('w.sock')));
});

test('sessions of datagrams go on where they began, idle connections get one more response; the new program listens on the very sockets', async (t) => {
  const { srv, sources } = await stage(t);
  const listening = () => [socketsAt(srv.port('web'), 'tcp'), socketsAt(srv.port('tcp'), 'tcp'), socketsAt(srv.port('udp'), 'udp')];
  const sockets = listening();
  t.deepEqual(
    sockets.map(({ length }) => length),
    [2, 2, 2],
  );
  const idle = await connectRaw(t, srv.port('web'));
  idle.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await idle.receive(/hello$/);
  const clients = await Promise.all(Array.from({ length: 8 }, () => datagramClient(t, srv.port('udp'))));
  for (const client of clients) t.is(await client.ask('before'), 'before');
  await upgrade(srv);
  for (const client of clients) client.send('after');
  await waitFor('all responses', () => clients.every(({ received }) => received.some((bytes) => String(bytes) === 'after')));
  t.is(new Set(sources()).size, clients.length);
  // What waits in the queues of other sockets would be lost with them.
  t.deepEqual(listening(), sockets);
  await srv.waitForLog(/gracefully shutting down/);
  // Longer than a server that just ends waits for a request that may be on its way.
  await sleep(1500);
  idle.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await idle.receive(/HTTP\/1\.1 200 [^]*Connection: close[^]*hello$/);
  await waitFor('the end of the first program', () => /signal SIGUSR2[^]*exited with code 0/.test(srv.log()), 60_000);
  const later = await datagramClient(t, srv.port('udp'));
  t.is(await later.ask('later'), 'later');
});
