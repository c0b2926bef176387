/** Tunnels of srv_http_proxy_connect_module over HTTP/1 and HTTP/2: bytes, ends, time limits. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, connectRawTls, exchange, RawConnection } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternBytes, patternDigest } from './byte-streams.js';
import { connectTo, startProxies, statusOf, tunnel } from './proxy-connect-site.js';

const site = shared(startProxies);

test('bytes go both ways, those that came with the request included', async (t) => {
  const { srv, echo } = await site();
  const connection = await tunnel(t, srv.port('open'), `localhost:${echo.port}`, 'early');
  await connection.receive(/early$/);
  const [head = ''] = connection.take().split('\r\n\r\n');
  t.regex(head, /^HTTP\/1\.1 200 Connection established\r\n/);
  t.regex(head, /\r\nX-Proxy: srv$/m);
  t.notRegex(head, /Content-Length|Transfer-Encoding|Content-Type|\r\nConnection:/i);
  for (const message of ['hello', '\0\xff\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n']) {
    connection.send(message);
    await waitFor('the echo', () => connection.received === message);
    connection.take();
  }
  connection.socket.end();
  await connection.receiveAll();
  // Other tests, which send less, are in the log as well.
  const [, sent, received] = await srv.waitForLog(
    new RegExp(
      `^200 - localhost ${echo.port} 127.0.0.1:${echo.port} 0\\.\\d{3} 0\\.\\d{3} 0\\.\\d{3} \\[127.0.0.1:${echo.port} (\\d\\d) (\\d\\d)\\] OK$`,
      'm',
    ),
    'logs/access.log',
  );
  t.deepEqual([sent, received], ['43', '43']);
});

test('either side may end its half and go on reading', async (t) => {
  const { srv } = await site();
  const ends: string[] = [];
  const backend = await rawBackend(t, (socket) => {
    let text = '';
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => {
      ends.push(text);
      if (text === 'first') socket.end('second');
    });
    socket.write('hello');
    if (ends.length > 0) socket.end();
  });
  const client = async (): Promise<RawConnection> => {
    const socket = connect({ port: srv.port('open'), host: '127.0.0.1', allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    const connection = new RawConnection(socket);
    connection.send(connectTo(`127.0.0.1:${backend.port}`));
    await connection.receive(/\r\n\r\nhello$/);
    return connection;
  };
  const first = await client();
  first.send('first');
  first.socket.end();
  await first.receive(/hellosecond$/);
  t.deepEqual(ends, ['first']);
  const other = await client();
  await waitFor('the end of the server', () => other.closed);
  other.send('after');
  other.socket.end();
  await waitFor('what the client sent after it', () => ends.includes('after'));
});

test('the proxy itself may speak TLS', async (t) => {
  const { srv } = await site();
  const backend = await rawBackend(t, (socket) => {
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('end', () => socket.end('bye'));
  });
  const connection = await connectRawTls(t, srv.port('secure'));
  connection.send(`${connectTo(`127.0.0.1:${backend.port}`)}early`);
  await connection.receive(/^HTTP\/1\.1 200 [^]*\r\n\r\nearly$/);
  connection.socket.end();
  await connection.receive(/earlybye$/);
  t.regex(
    await exchange(t, srv.port('secure'), connectTo(`127.0.0.1:${backend.port}`)),
    /^HTTP\/1\.1 400 [^]*plain HTTP request was sent to HTTPS port/,
  );
});

test('large bodies wait for the slower side', async (t) => {
  const { srv } = await site();
  const length = 6_000_000;
  const atServer = new HashingSink(1);
  const backend = await rawBackend(t, (socket) => {
    socket.pipe(atServer);
    void send(socket, length);
  });
  const connection = await connectRaw(t, srv.port('open'));
  const atClient = new HashingSink(1);
  connection.socket.setEncoding('latin1').removeAllListeners('data');
  connection.send(connectTo(`127.0.0.1:${backend.port}`));
  let inTunnel = false;
  connection.socket.on('data', (text: string) => {
    const piece = inTunnel ? text : text.slice(text.indexOf('\r\n\r\n') + 4);
    inTunnel = true;
    if (atClient.write(Buffer.from(piece, 'latin1'))) return;
    connection.socket.pause();
    atClient.once('drain', () => connection.socket.resume());
  });
  await send(connection.socket, length);
  connection.socket.end();
  connection.socket.on('end', () => atClient.end());
  await waitFor('all bytes', () => atServer.writableFinished && atClient.writableFinished, 30_000);
  t.is(atServer.digest(), patternDigest(length));
  t.is(atClient.digest(), patternDigest(length));
});

test('a side that reads nothing stops the other one', async (t) => {
  const { srv } = await site();
  const piece = Buffer.alloc(1_000_000);
  const pieces = 64;
  /** Sends, and resolves with the bytes that were taken when no more are. */
  const takenOf = async (socket: Socket): Promise<number> => {
    for (let at = 0; at < pieces; at++) socket.write(piece);
    let before = -1;
    await waitFor('the end of sending', async () => {
      const [last, now] = [before, socket.writableLength];
      before = now;
      await sleep(300);
      return now === last && now === socket.writableLength;
    });
    return pieces * piece.length - socket.writableLength;
  };
  let taken: Promise<number> | undefined;
  const sending = await rawBackend(t, (socket) => void (taken = takenOf(socket)));
  const deaf = await connectRaw(t, srv.port('open'));
  deaf.socket.pause();
  deaf.send(connectTo(`127.0.0.1:${sending.port}`));
  // What the system holds in its buffers is a part of it.
  t.true((await waitFor('a connection', () => taken)) < 32_000_000);

  let received = 0;
  let server: Socket | undefined;
  const silent = await rawBackend(t, (socket) => (server = socket.pause()).on('data', (chunk) => (received += chunk.length)).pause());
  const client = await tunnel(t, srv.port('open'), `127.0.0.1:${silent.port}`);
  t.true((await takenOf(client.socket)) < 32_000_000);
  server?.resume();
  await waitFor('all of it', () => received === pieces * piece.length);
});

test('the next address is tried when one fails', async (t) => {
  const { srv, echo } = await site();
  // ::1 and 127.0.0.1; nothing listens on the former.
  const connection = await tunnel(t, srv.port('open'), `any.localhost:${echo.port}`, 'x');
  await connection.receive(/x$/);
  t.is(await statusOf(t, srv.port('open'), '127.0.0.1:1'), 502);
  await srv.waitForLog(
    /\[error\] .*connect\(\) failed \(111: Connection refused\) while connecting to 127\.0\.0\.1:1, client: .*upstream: "127\.0\.0\.1:1"/,
  );
  await srv.waitForLog(/^502 - 127\.0\.0\.1 1 127\.0\.0\.1:1 0\.\d{3} - - \[127\.0\.0\.1:1 0 0\] OK$/m, 'logs/access.log');
});

test('time limits, limits, local address and response', async (t) => {
  const { srv, echo } = await site();
  const port = srv.port('short');
  const sources: (string | undefined)[] = [];
  const silent = await rawBackend(t, (socket) => sources.push(socket.remoteAddress));
  const idle = await connectRaw(t, port);
  idle.send(connectTo(`127.0.0.1:${silent.port}`));
  await idle.receive(/\r\n\r\n$/);
  t.is(idle.received, `HTTP/1.1 201 Ready\r\nX-Via: 127.0.0.1:${silent.port}\r\n\r\n`);
  t.deepEqual(sources, ['127.0.0.5']);
  t.is(await statusOf(t, port, `127.0.0.1:${echo.port}`), 503, 'limit_conn');
  await idle.receiveAll();
  await srv.waitForLog(/\[info\] .*connection timed out \(110: Connection timed out\) while proxying connection/);
  await waitFor('its place', async () => (await statusOf(t, port, 'forbidden.example:443')) === 410);

  const full = await fullBackend(t);
  const late = await exchange(t, port, connectTo(`127.0.0.4:${full}`));
  t.regex(late, /^HTTP\/1\.1 504 /);
  await srv.waitForLog(/\[error\] .*upstream timed out \(110: Connection timed out\) while connecting to upstream/);
});

test('HTTP/2: each stream is a tunnel of its own', async (t) => {
  const { srv, echo } = await site();
  const session = connectHttp2(`http://127.0.0.1:${srv.port('open')}`);
  t.teardown(() => session.destroy());
  session.on('error', () => undefined);
  const target = `localhost:${echo.port}`;
  const streams = ['one', 'two'].map((text) => {
    const stream = session.request({ ':method': 'CONNECT', ':authority': target });
    stream.write(text);
    return { stream, text, received: collected(stream), response: once(stream, 'response') };
  });
  for (const { stream, text, received, response } of streams) {
    const [headers] = (await response) as [Record<string, unknown>];
    t.is(headers[':status'], 200);
    t.is(headers['x-proxy'], 'srv');
    t.is(headers['content-length'], undefined);
    await waitFor('the echo', () => received() === text);
    stream.end('!');
    await once(stream, 'close');
    t.is(received(), `${text}!`);
    t.is(stream.rstCode, 0);
  }
  t.is(await http2Status(session, '127.0.0.1:1'), 502);
  t.is(await http2Status(session, 'no-such.invalid:80'), 502);
  t.is(await http2Status(session, 'a.example'), 400);
});

test('HTTP/2: large bodies both ways, and a server that breaks off', async (t) => {
  const { srv } = await site();
  const length = 3_000_000;
  const atServer = new HashingSink(1);
  const backend = await rawBackend(t, (socket) => {
    socket.pipe(atServer);
    void send(socket, length);
  });
  const session = connectHttp2(`http://127.0.0.1:${srv.port('open')}`);
  t.teardown(() => session.destroy());
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${backend.port}` });
  const atClient = new HashingSink(1);
  stream.pipe(atClient);
  await send(stream, length);
  stream.end();
  await waitFor('all bytes', () => atServer.writableFinished && atClient.writableFinished, 30_000);
  t.is(atServer.digest(), patternDigest(length));
  t.is(atClient.digest(), patternDigest(length));

  const breaking = await rawBackend(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));
  const broken = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${breaking.port}` });
  broken.on('error', () => undefined);
  broken.write('x');
  await waitFor('the end of the stream', () => broken.closed);
  t.is(broken.rstCode, 10, 'CONNECT_ERROR (RFC 9113, 8.5)');
});

test('tunnels end with worker_shutdown_timeout', async (t) => {
  const echo = await rawBackend(t, (socket) => socket.on('data', (chunk) => socket.write(chunk)));
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_proxy_connect_module.so;
    error_log logs/error.log notice;
    worker_shutdown_timeout 1s;
    worker_processes 1;
    events { worker_connections 4; }
    http {
      access_log logs/access.log;
      server { listen 127.0.0.1:%%PORT_web%%; proxy_connect; proxy_connect_allow all; proxy_connect_destination allow 127.0.0.0/8; }
    }`,
    { allowCrashes: true },
  );
  const first = await tunnel(t, srv.port('web'), `127.0.0.1:${echo.port}`);
  await tunnel(t, srv.port('web'), `127.0.0.1:${echo.port}`);
  const third = await connectRaw(t, srv.port('web'));
  await third.receiveAll();
  await srv.waitForLog(/4 worker_connections are not enough/);
  srv.signal('SIGQUIT');
  await srv.waitForLog(/gracefully shutting down/);
  first.send('still there');
  await first.receive(/still there$/);
  await first.receiveAll();
  t.is((await srv.exited).code, 0);
  t.is(srv.read('logs/access.log').match(/"CONNECT 127/g)?.length, 2);
});

function collected(stream: ClientHttp2Stream): () => string {
  let text = '';
  stream.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  return () => text;
}

async function http2Status(session: ClientHttp2Session, authority: string): Promise<unknown> {
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  stream.resume().end();
  return headers[':status'];
}

async function send(to: Socket | ClientHttp2Stream, length: number): Promise<void> {
  for await (const piece of patternBytes(length)) if (!to.write(piece)) await once(to, 'drain');
  to.end();
}

/** A port whose queue of connections is full, in a process that accepts none: connecting takes forever. */
async function fullBackend(t: ExecutionContext): Promise<number> {
  const program = `const server = require('node:net').createServer().listen({ port: 0, backlog: 1 }, () => {
    require('node:fs').writeSync(1, server.address().port + '\\n');
    for (;;);
  });`;
  const child = spawn(process.execPath, [
    '-e',
    program.replace('for (;;);', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'),
  ]);
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  const sockets = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => undefined));
  t.teardown(() => sockets.forEach((socket) => socket.destroy()));
  await waitFor('a full queue', () => sockets.some((socket) => !socket.connecting) && sockets.some((socket) => socket.connecting));
  return port;
}

test('tunnel_pass: where the client wants to go, or to one address', async (t) => {
  const { srv, echo } = await site();
  for (const [name, target] of [
    ['tunnel', `127.0.0.1:${echo.port}`],
    ['tunnelfixed', 'elsewhere.example:1'],
  ] as const) {
    const connection = await tunnel(t, srv.port(name), target, 'early');
    await connection.receive(/early$/);
    connection.socket.end();
    await connection.receiveAll();
  }
  t.is(await statusOf(t, srv.port('tunnel'), '127.0.0.1:1'), 502, 'a rule of the server');
  t.is(await statusOf(t, srv.port('tunnelclosed'), '127.0.0.1:1'), 403);
  t.regex(srv.log(), /proxy_connect: destination 127\.0\.0\.1 is not allowed/);
});
