/** Streams and changes of the configuration, limits, faults of clients, configuration errors. */
import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { connectRaw, exchange } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { helloOf } from './hellos.js';
import { reply } from './reply.js';
import { residentBytes } from '../../tools/bench/usage.js';

interface Site {
  readonly srv: Srv;
  readonly echo: number;
  /** Bytes that the backend of the flood could send, and to how many. */
  readonly flood: () => { readonly sent: number; readonly connections: number };
}

const LARGE = 20_000_000;

const conf = (echo: number, rest: string): string => `events { worker_connections 64; }
  worker_shutdown_timeout 30s;
  error_log logs/error.log info;
  stream {
    log_format session '$server_port $status $bytes_received/$bytes_sent $session_time';
    access_log logs/access.log session;
    server { listen 127.0.0.1:%%PORT_stays%%; proxy_pass 127.0.0.1:${echo}; }
    ${rest}
  }`;

async function startSite(t: Scope): Promise<Site> {
  const echo = await rawBackend(t, (socket) => void socket.pipe(socket));
  let sent = 0;
  const source = await rawBackend(t, (socket) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(65_536))) sent += 65_536;
    };
    socket.on('drain', more);
    more();
  });
  const srv = await startSrv(
    t,
    conf(
      echo.port,
      `server { listen 127.0.0.1:%%PORT_goes%%; error_log logs/goes.log info; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_flood%%; proxy_pass 127.0.0.1:${source.port}; }
      server { listen 127.0.0.1:%%PORT_up%%; proxy_upload_rate 20k; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_proxied%% proxy_protocol; proxy_protocol_timeout 200ms; proxy_pass 127.0.0.1:${echo.port}; }`,
    ),
    { allowCrashes: true },
  );
  return { srv, echo: echo.port, flood: () => ({ sent, connections: source.connections }) };
}

const site = shared(startSite);

async function opened(t: ExecutionContext, port: number): Promise<Awaited<ReturnType<typeof connectRaw>>> {
  const connection = await connectRaw(t, port);
  connection.send('a');
  await connection.receive(/^a$/);
  return connection;
}

test.serial('large data pass whole in both directions at once, and each byte is counted', async (t) => {
  const { srv } = await site();
  const sent = randomBytes(LARGE);
  const received: Buffer[] = [];
  const socket = connect(srv.port('stays'), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    received.push(chunk);
    // It reads on a little later now and then.
    if (received.length % 16 === 0) {
      socket.pause();
      setImmediate(() => socket.resume());
    }
  });
  socket.write(sent);
  await waitFor('the echo', () => received.reduce((sum, { length }) => sum + length, 0) === LARGE);
  t.true(Buffer.concat(received).equals(sent));
  socket.end();
  await waitFor('its line', () => srv.read('logs/access.log').includes(`${srv.port('stays')} 200 ${LARGE}/${LARGE} `));
});

test.serial('a slow reader costs no memory, and its member is not read on', async (t) => {
  const { srv, flood } = await site();
  const before = residentBytes(srv.pid);
  const sockets: Socket[] = [];
  for (let i = 0; i < 8; i++) {
    const socket = connect(srv.port('flood'), '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.pause();
    sockets.push(socket);
  }
  let last = -1;
  await waitFor('the flood to stop', () => {
    const { sent, connections } = flood();
    const stood = connections === 8 && sent === last;
    last = sent;
    return stood;
  });
  t.true(residentBytes(srv.pid) - before < 64_000_000);
  for (const socket of sockets) socket.resetAndDestroy();
  await waitFor(
    'the sessions to end',
    () => (srv.read('logs/access.log').match(new RegExp(`^${srv.port('flood')} 200 `, 'gm')) ?? []).length === 8,
  );
});

test.serial('the rate of a client is limited', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('up'));
  const began = Date.now();
  connection.send('x'.repeat(40_000));
  await connection.receive(/x{40000}/);
  t.true(Date.now() - began > 500);
});

test.serial('a client that resets, and one that says nothing, end their sessions', async (t) => {
  const { srv } = await site();
  const connection = await opened(t, srv.port('stays'));
  connection.socket.resetAndDestroy();
  await srv.waitForLog(/\[info\] .* recv\(\) failed \(104: Connection reset by peer\) while proxying and reading from client/);
  t.is(await exchange(t, srv.port('proxied'), 'PROX'), '');
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while reading PROXY protocol/);
  await srv.waitForLog(new RegExp(`^${srv.port('proxied')} 200 0/0 `, 'm'), 'logs/access.log');
});

test.serial('worker_connections counts sessions as well', async (t) => {
  const { srv } = await site();
  const connections: Awaited<ReturnType<typeof connectRaw>>[] = [];
  for (let i = 0; i < 70; i++) connections.push(await connectRaw(t, srv.port('stays')));
  await srv.waitForLog(/\[alert\] .* 64 worker_connections are not enough/);
  await waitFor('the refused ones', () => connections.some(({ closed }) => closed));
  for (const { socket } of connections) socket.destroy();
  await waitFor('room', async () => (await exchangeOnce(t, srv.port('stays'))) === 'a');
  t.pass();
});

async function exchangeOnce(t: ExecutionContext, port: number): Promise<string> {
  const connection = await connectRaw(t, port);
  connection.send('a');
  await waitFor('an echo, or the end', () => connection.received !== '' || connection.closed);
  connection.socket.destroy();
  return connection.received;
}

test.serial('a session goes on under the configuration it began under; a server that is removed takes no more', async (t) => {
  const { srv, echo } = await site();
  const [staying, going] = [await opened(t, srv.port('stays')), await opened(t, srv.port('goes'))];
  await srv.configure(conf(echo, `server { listen 127.0.0.1:%%PORT_comes%%; return_nothing; }`));
  srv.signal('SIGHUP');
  await srv.waitForLog(/unknown directive "return_nothing"/);
  await srv.configure(conf(echo, `server { listen 127.0.0.1:%%PORT_comes%%; proxy_pass 127.0.0.1:${echo}; }`));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await waitFor('the socket to close', () =>
    connectRaw(t, srv.port('goes')).then(
      ({ socket }) => (socket.destroy(), false),
      () => true,
    ),
  );
  for (const connection of [staying, going]) {
    connection.send('still');
    await connection.receive(/^astill$/);
  }
  t.is(await exchangeOnce(t, srv.port('comes')), 'a');
  going.socket.end();
  await srv.waitForLog(/client disconnected, bytes from\/to client:6\/6/, 'logs/goes.log');
  staying.socket.end();
  await staying.receiveAll();
});

const named = (echo: number, text: string): string =>
  conf(
    echo,
    `server { listen 127.0.0.1:%%PORT_named%%; ssl_preread on; return default; }
    server { listen 127.0.0.1:%%PORT_named%%; server_name a.example; return "${text}"; }`,
  );

test.serial('a session that tells its name after a reload finds the server that was active when it began', async (t) => {
  const { srv, echo } = await site();
  const hello = await helloOf({ servername: 'a.example' });
  const ask = (port: number): Promise<string> => reply(port, { bytes: hello });
  await srv.configure(named(echo, 'old'));
  srv.signal('SIGHUP');
  await waitFor('the servers', () =>
    ask(srv.port('named')).then(
      (text) => text === 'old',
      () => false,
    ),
  );
  const early = await connectRaw(t, srv.port('named'));
  early.send(hello.subarray(0, 20).toString('latin1'));
  // One more connection of the same port: the first one has been accepted.
  t.is(await ask(srv.port('named')), 'old');
  await srv.configure(named(echo, 'new'));
  srv.signal('SIGHUP');
  await waitFor('the new server', async () => (await ask(srv.port('named'))) === 'new');
  early.send(hello.subarray(20).toString('latin1'));
  t.is(await early.receiveAll(), 'old');
});

test.serial('QUIT waits for sessions', async (t) => {
  const { srv } = await site();
  const connection = await opened(t, srv.port('stays'));
  srv.signal('SIGQUIT');
  await waitFor('the socket to close', () =>
    connectRaw(t, srv.port('stays')).then(
      ({ socket }) => (socket.destroy(), false),
      () => true,
    ),
  );
  connection.send('b');
  await connection.receive(/^ab$/);
  connection.socket.end();
  t.is((await srv.exited).code, 0);
});

const REJECTED: Readonly<Record<string, readonly [stream: string, message: RegExp]>> = {
  'a server without a handler': ['server { listen 127.0.0.1:%%PORT_a%%; }', /no handler for server/],
  'a server without an address': ['server { proxy_pass 127.0.0.1:1; }', /no "listen" is defined for server/],
  'an address without a port': [
    'server { listen 127.0.0.1; proxy_pass 127.0.0.1:1; }',
    /no port in "127\.0\.0\.1" of the "listen" directive/,
  ],
  'a member without a port': ['upstream u { server 127.0.0.1; }', /no port in upstream "127\.0\.0\.1"/],
  'a target without a port': ['server { listen 127.0.0.1:%%PORT_a%%; proxy_pass 127.0.0.1; }', /no port in upstream "127\.0\.0\.1"/],
  'TLS over UDP': ['server { listen 127.0.0.1:%%PORT_a%% udp ssl; proxy_pass 127.0.0.1:1; }', /"ssl" parameter is incompatible with "udp"/],
  'TLS without a certificate': [
    'server { listen 127.0.0.1:%%PORT_a%% ssl; proxy_pass 127.0.0.1:1; }',
    /no "ssl_certificate" is defined for the "listen \.\.\. ssl" directive/,
  ],
  'a variable of requests': ['server { listen 127.0.0.1:%%PORT_a%%; proxy_pass $uri; }', /unknown "uri" variable/],
  'directives of http': ['server { listen 127.0.0.1:%%PORT_a%%; location / { } }', /"location" directive is not allowed here/],
  'an upstream of http': ['server { listen 127.0.0.1:%%PORT_a%%; proxy_pass web; }', /no port in upstream "web"/],
  'a log without a format': [
    'access_log logs/a.log; server { listen 127.0.0.1:%%PORT_a%%; proxy_pass 127.0.0.1:1; }',
    /log format is not specified/,
  ],
};

for (const [what, [stream, message]] of Object.entries(REJECTED)) {
  test(`rejected: ${what}`, async (t) => {
    const { stderr } = await check(t, `events { } http { upstream web { server 127.0.0.1:1; } } stream { ${stream} }`);
    t.regex(stderr, message);
  });
}
