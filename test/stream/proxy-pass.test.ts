/** Sessions over TCP: bytes both ways, ends, members that fail, access log. */
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { createServer } from 'node:tls';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, exchange, get, RawConnection } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternDigest, patternStream } from '../http/byte-streams.js';

interface Site {
  readonly srv: Srv;
  readonly echo: number;
  readonly closed: number;
  /** What has come of a session with a rate. */
  readonly early: { readonly received: number };
}

/** Sends back what it gets, and ends when the client does. */
const echoes = (socket: Socket): void => void socket.pipe(socket);

async function startSite(t: Scope): Promise<Site> {
  const echo = (await rawBackend(t, echoes)).port;
  const [one, two] = await Promise.all(['one', 'two'].map((name) => rawBackend(t, (socket) => socket.end(name))));
  const resets = await rawBackend(t, (socket) => void socket.once('data', () => socket.resetAndDestroy()));
  const halves = await rawBackend(t, (socket) => {
    let text = '';
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => socket.end(`got ${text}`));
  });
  const says = await rawBackend(t, (socket) => socket.end(socket.remoteAddress ?? ''));
  const closed = await freePort(t);
  const early = { received: 0 };
  const counts = await rawBackend(t, (socket) => void socket.on('data', ({ length }) => (early.received += length)));
  const secure = createServer(selfSigned('a'), (socket) => void socket.on('error', () => undefined).write('x'.repeat(60_000)));
  await new Promise<void>((done) => secure.listen(0, '127.0.0.1', done));
  t.teardown(() => void secure.close());
  const srv = await startSrv(
    t,
    `events { }
    error_log logs/error.log info;
    http { access_log off; server { listen 127.0.0.1:%%PORT_status%%; location / { stub_status; } } }
    stream {
      log_format session '$server_port $remote_addr $protocol $status $bytes_received/$bytes_sent [$upstream_addr] $upstream_bytes_sent/$upstream_bytes_received';
      access_log logs/access.log session;
      upstream both { zone both 64k; server 127.0.0.1:${one?.port}; server 127.0.0.1:${two?.port}; }
      upstream partly { server 127.0.0.1:${closed} max_fails=0; server 127.0.0.1:${one?.port} backup; }
      upstream gone { server 127.0.0.1:${closed} down; }
      upstream hashed { hash $remote_addr consistent; server 127.0.0.1:${one?.port}; server 127.0.0.1:${two?.port}; }
      server { listen 127.0.0.1:%%PORT_echo%%; proxy_pass 127.0.0.1:${echo}; }
      server { listen 127.0.0.1:%%PORT_both%%; proxy_pass both; }
      server { listen 127.0.0.1:%%PORT_partly%%; proxy_pass partly; }
      server { listen 127.0.0.1:%%PORT_refused%%; proxy_pass 127.0.0.1:${closed}; }
      server { listen 127.0.0.1:%%PORT_gone%%; proxy_pass gone; }
      server { listen 127.0.0.1:%%PORT_hashed%%; proxy_pass hashed; }
      server { listen 127.0.0.1:%%PORT_resets%%; proxy_pass 127.0.0.1:${resets.port}; }
      server { listen 127.0.0.1:%%PORT_halves%%; proxy_half_close on; proxy_pass 127.0.0.1:${halves.port}; }
      server { listen 127.0.0.1:%%PORT_off%%; proxy_next_upstream off; proxy_pass partly; }
      server { listen 127.0.0.1:%%PORT_once%%; proxy_next_upstream_tries 1; proxy_pass partly; }
      server { listen 127.0.0.1:%%PORT_bound%%; proxy_bind 127.0.0.2; proxy_pass 127.0.0.1:${says.port}; }
      server { listen 127.0.0.1:%%PORT_foreign%%; proxy_bind 192.0.2.1; proxy_pass 127.0.0.1:${says.port}; }
      server { listen 127.0.0.1:%%PORT_idle%%; proxy_timeout 300ms; proxy_pass 127.0.0.1:${echo}; }
      server { listen 127.0.0.1:%%PORT_early%%; ssl_preread on; proxy_upload_rate 1k; proxy_pass 127.0.0.1:${counts.port}; }
      server { listen 127.0.0.1:%%PORT_whole%%; ssl_preread on; proxy_upload_rate 40k; proxy_half_close on; proxy_pass 127.0.0.1:${halves.port}; }
      server { listen 127.0.0.1:%%PORT_secure%%; proxy_ssl on; proxy_download_rate 1k; proxy_pass 127.0.0.1:${(secure.address() as AddressInfo).port}; }
      server { listen unix:%%PREFIX%%/echo.sock; proxy_pass 127.0.0.1:${echo}; }
      server { listen 127.0.0.1:%%PORT_unix%%; proxy_pass unix:%%PREFIX%%/echo.sock; }
    }`,
  );
  return { srv, echo, closed, early };
}

const site = shared(startSite);

const logged = (srv: Srv, port: string, rest: string): Promise<RegExpExecArray> =>
  srv.waitForLog(new RegExp(`^${srv.port(port)} ${rest}$`, 'm'), 'logs/access.log');

test('bytes go both ways, and the session is logged when it has ended', async (t) => {
  const { srv, echo } = await site();
  const connection = await connectRaw(t, srv.port('echo'));
  const from = connection.socket.localPort;
  for (const message of ['hello', '\0\xff\r\n', 'x'.repeat(20_000)]) {
    connection.send(message);
    await waitFor('the echo', () => connection.received === message);
    connection.take();
  }
  connection.socket.end();
  await connection.receiveAll();
  await logged(srv, 'echo', `127\\.0\\.0\\.1 TCP 200 20009/20009 \\[127\\.0\\.0\\.1:${echo}\\] 20009/20009`);
  const ended = await srv.waitForLog(
    /\[info\] .*: \*(\d+) client disconnected, bytes from\/to client:20009\/20009, bytes from\/to upstream:20009\/20009$/m,
  );
  t.regex(
    srv.log(),
    new RegExp(`\\[info\\] .*: \\*${ended[1]} client 127\\.0\\.0\\.1:${from} connected to 127\\.0\\.0\\.1:${srv.port('echo')}$`, 'm'),
  );
});

async function throughEcho(t: ExecutionContext, port: number, length: number, pauseMs: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  t.teardown(() => socket.destroy());
  const sink = new HashingSink(pauseMs);
  let received = 0;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length;
    if (received >= length) socket.end();
  });
  const reading = pipeline(socket, sink);
  for await (const piece of patternStream(length))
    if (!socket.write(piece as Buffer)) await new Promise((done) => socket.once('drain', done));
  await reading;
  t.is(sink.digest(), patternDigest(length));
}

test('a session is an active connection, and none that waits for a request', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('echo'));
  connection.send('a');
  await connection.receive(/^a$/);
  // Sessions of other tests that have just ended are not closed yet.
  await waitFor('no connection that waits', async () => {
    const { body } = await get(srv.port('status'), '/');
    const [, active = 0, waiting = -1] = /^Active connections: (\d+) .*Waiting: (\d+)/s.exec(body) ?? [];
    t.true(Number(active) > 1, body);
    return Number(waiting) === 0;
  });
});

test('much data arrives as it was sent, also at a slow reader', async (t) => {
  const { srv } = await site();
  await Promise.all([throughEcho(t, srv.port('echo'), 20_000_000, 0), throughEcho(t, srv.port('echo'), 2_000_000, 1)]);
});

test('unix sockets on either side', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('unix'));
  connection.send('through both');
  await connection.receive(/^through both$/);
  t.pass();
});

test('members of an upstream take turns', async (t) => {
  const { srv } = await site();
  const names = [];
  for (let i = 0; i < 4; i++) names.push(await exchange(t, srv.port('both'), ''));
  t.deepEqual(names.toSorted(), ['one', 'one', 'two', 'two']);
});

test('a hash of a variable sends a client to one member', async (t) => {
  const { srv } = await site();
  const names = await Promise.all([1, 2, 3].map(() => exchange(t, srv.port('hashed'), '')));
  t.is(new Set(names).size, 1);
});

test('the next member is asked when one rejects', async (t) => {
  const { srv, closed } = await site();
  t.is(await exchange(t, srv.port('partly'), ''), 'one');
  await srv.waitForLog(
    new RegExp(
      `\\[error\\] .* connect\\(\\) failed \\(111: Connection refused\\) while connecting to upstream, client: 127\\.0\\.0\\.1, server: 127\\.0\\.0\\.1:${srv.port('partly')}, upstream: "127\\.0\\.0\\.1:${closed}", bytes from/to client:0/0, bytes from/to upstream:0/0`,
    ),
  );
  await logged(srv, 'partly', `127\\.0\\.0\\.1 TCP 200 0/3 \\[127\\.0\\.0\\.1:${closed}, 127\\.0\\.0\\.1:\\d+\\] 0, 0/0, 3`);
});

test('a member that is back gets all sessions as soon as one is connected to it', async (t) => {
  const port = await freePort(t);
  const one = await rawBackend(t, (socket) => socket.write('backup'));
  const lines = `zone u 64k; server 127.0.0.1:${port} fail_timeout=1s; server 127.0.0.1:${one.port} backup;`;
  const srv = await startSrv(
    t,
    `worker_processes 2; events {} stream { upstream u { ${lines} } server { listen 127.0.0.1:%%PORT_web%%; proxy_pass u; } }`,
  );
  const session = async (): Promise<string> => {
    const connection = await connectRaw(t, srv.port('web'));
    await connection.receive(/p$/);
    return connection.received;
  };
  t.is(await session(), 'backup');
  await rawBackend(t, (socket) => socket.write('primary, up'), port);
  // The sessions stay open.
  await waitFor('the member', async () => (await session()) !== 'backup');
  for (let count = 0; count < 3; count++) t.is(await session(), 'primary, up');
});

test('no other member is asked where proxy_next_upstream does not allow it', async (t) => {
  const { srv, closed } = await site();
  for (const port of ['off', 'once']) {
    t.is(await exchange(t, srv.port(port), ''), '');
    await logged(srv, port, `127\\.0\\.0\\.1 TCP 502 0/0 \\[127\\.0\\.0\\.1:${closed}\\] 0/0`);
  }
});

test('connections to members come from the address of proxy_bind', async (t) => {
  const { srv } = await site();
  t.is(await exchange(t, srv.port('bound'), ''), '127.0.0.2');
  t.is(await exchange(t, srv.port('foreign'), ''), '');
  await srv.waitForLog(/\[crit\].* bind\(192\.0\.2\.1\) failed \(99: Cannot assign requested address\) while connecting to upstream/);
});

test('a session without a member that connects ends with 502', async (t) => {
  const { srv } = await site();
  t.is(await exchange(t, srv.port('refused'), ''), '');
  await logged(srv, 'refused', '127\\.0\\.0\\.1 TCP 502 0/0 .*');
  t.is(await exchange(t, srv.port('gone'), ''), '');
  await logged(srv, 'gone', '127\\.0\\.0\\.1 TCP 502 0/0 \\[gone\\] 0/0');
  await srv.waitForLog(/no live upstreams while connecting to upstream, client: 127\.0\.0\.1, .*upstream: "gone"/);
});

test('a member that resets ends the session', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('resets'));
  connection.send('something');
  t.is(await connection.receiveAll(), '');
  await logged(srv, 'resets', '127\\.0\\.0\\.1 TCP 200 9/0 .*');
  await srv.waitForLog(/recv\(\) failed \(104: Connection reset by peer\) while proxying and reading from upstream/);
});

test('with proxy_half_close a client that has sent everything still receives', async (t) => {
  const { srv } = await site();
  const socket = connect({ port: srv.port('halves'), host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  const connection = new RawConnection(socket);
  connection.send('a request');
  socket.end();
  t.is(await connection.receiveAll(), 'got a request');
});

test('rates hold for what came before a member was connected, and for what TLS has read ahead', async (t) => {
  const { srv, early } = await site();
  const up = await connectRaw(t, srv.port('early'));
  up.send('x'.repeat(60_000));
  const down = await connectRaw(t, srv.port('secure'));
  await waitFor('the first second’s worth', () => early.received >= 1024 && down.received.length >= 1024);
  // Without the limit all of it would be here by now.
  await setTimeout(300);
  t.true(early.received < 20_000, String(early.received));
  t.true(down.received.length < 20_000, String(down.received.length));
});

test('what a client sent before it half-closed arrives at its rate, and then the end', async (t) => {
  const { srv } = await site();
  const socket = connect({ port: srv.port('whole'), host: '127.0.0.1', allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  const connection = new RawConnection(socket);
  socket.end('y'.repeat(60_000));
  t.is(await connection.receiveAll(), `got ${'y'.repeat(60_000)}`);
});

test('a session in which nothing moves for proxy_timeout ends', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('idle'));
  connection.send('a');
  t.is(await connection.receiveAll(), 'a');
  await srv.waitForLog(/connection timed out \(110: Connection timed out\) while proxying connection/);
});
