import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { usesEpoll } from '../harness/event-methods.js';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { plugin } from '../harness/plugins.js';
import { shared as sharedScope, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** @param workers with several: a session that one of them made is to be resumed by any other */
function start(t: Scope, directives: string, files: Readonly<Record<string, string>> = {}, workers = 1): Promise<Srv> {
  const [a, b] = [selfSigned('a.example'), selfSigned('b.example')];
  return startSrv(
    t,
    `worker_processes ${workers};
    events {} http { ${directives}
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name a.example; ssl_certificate a.pem; ssl_certificate_key a.key; return 200 a; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name b.example; ssl_certificate b.pem; ssl_certificate_key b.key; return 200 b; } }`,
    { files: { 'conf/a.pem': a.cert, 'conf/a.key': a.key, 'conf/b.pem': b.cert, 'conf/b.key': b.key, ...files } },
  );
}

/** One whose tickets no other can read. */
const withoutFile = sharedScope((scope) => start(scope, ''));

/** Settings of servers that one process can have side by side, each at a port of its name. */
const SETTINGS = {
  tickets: '',
  cache: 'ssl_session_tickets off; ssl_session_cache builtin:1000 shared:SSL:1m;',
  unset: 'ssl_session_tickets off;',
  off: 'ssl_session_tickets off; ssl_session_cache off;',
  none: 'ssl_session_tickets off; ssl_session_cache none;',
  short: 'ssl_session_tickets off; ssl_session_cache shared:short:1m; ssl_session_timeout 1s;',
} as const;

const shared = sharedScope((scope) => {
  const [a, b] = [selfSigned('a.example'), selfSigned('b.example')];
  const servers = Object.entries(SETTINGS).flatMap(([port, directives]) =>
    ['a', 'b'].map(
      (name) => `server { listen 127.0.0.1:%%PORT_${port}%% ssl; server_name ${name}.example; ${directives}
        ssl_certificate ${name}.pem; ssl_certificate_key ${name}.key; return 200 ${name}; }`,
    ),
  );
  return startSrv(scope, `worker_processes 3; events {} http { ${servers.join('\n')} }`, {
    files: { 'conf/a.pem': a.cert, 'conf/a.key': a.key, 'conf/b.pem': b.cert, 'conf/b.key': b.key },
  });
});

interface Visit {
  readonly session: Buffer;
  readonly isReused: boolean;
  readonly body: string;
}

/** One request on a connection of its own. The session is the last that the server gave. */
function visit(t: ExecutionContext, port: number, options: ConnectionOptions): Promise<Visit> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, servername: 'a.example', ...options });
    t.teardown(() => socket.destroy());
    let received = '';
    let session: Buffer = Buffer.alloc(0);
    let isReused = false;
    socket.on('session', (given: Buffer) => (session = given));
    socket.once('secureConnect', () => (isReused = socket.isSessionReused()));
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.once('error', reject);
    socket.once('close', () => resolve({ session, isReused, body: received.split('\r\n\r\n')[1] ?? '' }));
    socket.write(`GET / HTTP/1.1\r\nHost: ${options.servername ?? 'a.example'}\r\nConnection: close\r\n\r\n`);
  });
}

/** How many of ten connections with the session of a first one resume it. */
async function resumed(t: ExecutionContext, port: number, options: ConnectionOptions, later: ConnectionOptions = options): Promise<number> {
  const { session } = await visit(t, port, options);
  let count = 0;
  for (let at = 0; at < 10; at++) if ((await visit(t, port, { ...later, session })).isReused) count++;
  return count;
}

const TLS12 = { maxVersion: 'TLSv1.2' } as const;

test('with tickets sessions are resumed in every worker, in both versions', async (t) => {
  const port = (await shared()).port('tickets');
  t.is(await resumed(t, port, {}), 10, 'TLS 1.3');
  t.is(await resumed(t, port, TLS12), 10, 'TLS 1.2');
});

test('without tickets sessions are resumed from a shared cache in every worker, in both versions', async (t) => {
  const port = (await shared()).port('cache');
  // The memory reaches the workers a moment after the start.
  await waitFor('the caches of all workers', async () => (await resumed(t, port, {})) === 10);
  t.is(await resumed(t, port, {}), 10, 'TLS 1.3');
  t.is(await resumed(t, port, TLS12), 10, 'TLS 1.2');
  t.is((await visit(t, port, {})).body, 'a');
});

test('without cache and tickets no session is resumed', async (t) => {
  for (const setting of ['unset', 'off', 'none'] as const) {
    const port = (await shared()).port(setting);
    t.is(await resumed(t, port, TLS12), 0, SETTINGS[setting]);
    t.is(await resumed(t, port, {}), 0, SETTINGS[setting]);
  }
});

test('a session is over after ssl_session_timeout', async (t) => {
  const port = (await shared()).port('short');
  const [before, after] = [await visit(t, port, TLS12), await visit(t, port, {})];
  await new Promise((resolve) => setTimeout(resolve, 2100));
  t.false((await visit(t, port, { ...TLS12, session: before.session })).isReused);
  t.false((await visit(t, port, { session: after.session })).isReused);
});

test('a session is good for the server that it was made with', async (t) => {
  for (const setting of ['tickets', 'cache'] as const) {
    const port = (await shared()).port(setting);
    t.is(await resumed(t, port, TLS12, { ...TLS12, servername: 'b.example' }), 0, SETTINGS[setting]);
    t.is(await resumed(t, port, {}, { servername: 'b.example' }), 0, SETTINGS[setting]);
  }
});

test('ssl_session_ticket_key: servers with one file resume the sessions of each other', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const files = { 'conf/a.pem': cert, 'conf/a.key': key, 'conf/ticket.key': randomBytes(36).toString('base64') };
  const one = await start(t, 'ssl_session_ticket_key ticket.key;', files);
  const other = await start(t, 'ssl_session_ticket_key ticket.key;', files);
  const stranger = await withoutFile();
  const { session } = await visit(t, one.port('tls'), TLS12);
  t.true((await visit(t, other.port('tls'), { ...TLS12, session })).isReused);
  t.false((await visit(t, stranger.port('tls'), { ...TLS12, session })).isReused);
});

test('ssl_session_ticket_key: of several files the first encrypts, and tickets of all are accepted', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const [old, recent] = [randomBytes(36).toString('base64'), randomBytes(60).toString('base64')];
  const files = { 'conf/a.pem': cert, 'conf/a.key': key, 'conf/old.key': old, 'conf/recent.key': recent };
  const before = await start(t, 'ssl_session_ticket_key old.key;', files);
  const now = await start(t, 'ssl_session_ticket_key recent.key; ssl_session_ticket_key old.key;', files, 3);
  const after = await start(t, 'ssl_session_ticket_key recent.key;', files);
  const stranger = await withoutFile();
  for (const version of [{}, TLS12]) {
    const { session } = await visit(t, before.port('tls'), version);
    t.false((await visit(t, after.port('tls'), { ...version, session })).isReused);
    const moved = await visit(t, now.port('tls'), { ...version, session });
    t.true(moved.isReused);
    t.is(await resumed(t, now.port('tls'), version), 10);
    const strange = await visit(t, stranger.port('tls'), version);
    const fresh = await visit(t, now.port('tls'), { ...version, session: strange.session });
    t.deepEqual([fresh.isReused, fresh.body], [false, 'a'], 'a ticket of nobody is no harm');
    // Node shows a client of TLS 1.2 no ticket that it gets beside an old one.
    if (version !== TLS12) t.true((await visit(t, after.port('tls'), { session: moved.session })).isReused, 'the client got a new ticket');
  }
});

const CRASH = plugin('crash', {
  manifest: `directives: { crash: directive({ in: ['location'] }) }`,
  body: `compile(scope) { return scope.conf.crash ? { content: () => { setImmediate(() => process.exit(3)); return -2; } } : undefined; }`,
});

/** Ends a worker. */
function crash(t: ExecutionContext, srv: Srv): void {
  const client = connectTcp(srv.port('crash'), '127.0.0.1').on('error', () => undefined);
  t.teardown(() => client.destroy());
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
}

const withSharedCache = (
  content: string,
): string => `load_module modules/crash.js; events {} http { ssl_session_tickets off; ssl_session_cache shared:SSL:32k;
    server { listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate a.pem; ssl_certificate_key a.key; ${content} }
    server { listen 127.0.0.1:%%PORT_crash%%; location / { crash; } } }`;

test('sessions of a shared cache outlive a worker and a reload', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const srv = await startSrv(t, withSharedCache('return 200 a;'), {
    files: { 'conf/a.pem': cert, 'conf/a.key': key, 'modules/crash.js': CRASH },
    allowCrashes: true,
  });
  const port = srv.port('tls');
  const session = async (): Promise<Buffer> => (await visit(t, port, TLS12)).session;
  // The memory reaches the worker a moment after the start.
  await waitFor('a session', async () => (await visit(t, port, { ...TLS12, session: await session() })).isReused);
  const before = await session();
  crash(t, srv);
  await srv.waitForLog(/worker .*exited/);
  const isReused = async (): Promise<boolean> => {
    try {
      return (await visit(t, port, { ...TLS12, session: before })).isReused;
    } catch {
      // No worker listens yet.
      return false;
    }
  };
  t.true(await waitFor('the next worker', isReused));
  await srv.configure(withSharedCache('return 200 again;'));
  srv.signal('SIGHUP');
  await waitFor('the reload', async () => (await visit(t, port, TLS12)).body === 'again');
  t.true(await isReused());
  for (let at = 0; at < 200; at++) await session();
  t.false(await isReused(), 'the oldest ones give way');
  t.true((await visit(t, port, { ...TLS12, session: await session() })).isReused);
});

test('connections of workers that have died leave no memory', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const srv = await startSrv(
    t,
    `load_module modules/crash.js; events {} http {
      server { listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate a.pem; ssl_certificate_key a.key; return 200 a; }
      server { listen 127.0.0.1:%%PORT_crash%%; location / { crash; } } }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key, 'modules/crash.js': CRASH }, allowCrashes: true },
  );
  const port = srv.port('tls');
  const { session } = await visit(t, port, {});
  const connected = (): Promise<TLSSocket> =>
    new Promise((resolve, reject) => {
      const socket: TLSSocket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, session }, () => resolve(socket));
      t.teardown(() => socket.destroy());
      socket.on('error', reject);
    });
  const memory = (): number => Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${String(srv.pid)}/status`, 'utf8'))?.[1]);
  const used: number[] = [];
  for (let generation = 1; generation <= 10; generation++) {
    const idle: TLSSocket[] = [];
    for (let at = 0; at < 100; at++) idle.push(await connected());
    used.push(memory());
    crash(t, srv);
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once('close', resolve).resume())));
    await waitFor('the next worker', async () => (await connected().catch(() => undefined))?.destroy() !== undefined);
  }
  const [, , third = 0] = used;
  const grown = (used.at(-1) ?? Infinity) - third;
  t.true(grown < 8000, `${grown} kB since the third: ${used.join(' ')}`);
});

(usesEpoll ? test : test.skip)('ssl_session_ticket_key: of 80 bytes all are used, over restarts', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const bytes = randomBytes(60).toString('base64');
  // The last half of the AES key is another one.
  const alike = `${bytes.slice(0, 64)}${randomBytes(12).toString('base64')}`;
  const files = { 'conf/a.pem': cert, 'conf/a.key': key, 'conf/long.key': bytes, 'conf/alike.key': alike };
  const before = await start(t, 'ssl_session_ticket_key long.key;', files);
  const after = await start(t, 'ssl_session_ticket_key long.key;', files, 2);
  const other = await start(t, 'ssl_session_ticket_key alike.key;', files);
  for (const version of [{}, TLS12]) {
    const { session } = await visit(t, before.port('tls'), version);
    t.true((await visit(t, after.port('tls'), { ...version, session })).isReused);
    const fresh = await visit(t, other.port('tls'), { ...version, session });
    t.deepEqual([fresh.isReused, fresh.body], [false, 'a']);
  }
});

test('ssl_session_ticket_key: a file of another length is rejected', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const conf =
    'events {} http { ssl_session_ticket_key short.key; server { listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate a.pem; ssl_certificate_key a.key; } }';
  const files = { 'conf/a.pem': cert, 'conf/a.key': key, 'conf/short.key': 'short' };
  const { stderr } = await check(t, conf, files);
  t.regex(stderr, /\[emerg\] ".*short\.key" must be 48 or 80 bytes/);
});
