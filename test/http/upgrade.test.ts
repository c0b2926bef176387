import type { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rawBackend, type Backend } from '../harness/backends.js';
import { connectRaw, exchange, get, type RawConnection } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternBytes, patternDigest } from './byte-streams.js';

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n';
const ASK = 'GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\nSec-WebSocket-Key: k\r\n\r\n';

/** Switches to its own protocol when it is asked to, then hands the connection over. */
function upgrading(t: ExecutionContext, onTunnel: (socket: Socket, head: string) => void): Promise<Backend> {
  return rawBackend(t, (socket) => {
    socket.once('data', (chunk) => {
      const head = chunk.toString('latin1');
      if (!/^upgrade: echo\r$/im.test(head)) socket.end('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n');
      else onTunnel(socket, head);
    });
  });
}

function proxying(t: ExecutionContext, { port }: Backend): Promise<Srv> {
  return startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      log_format short "$status $bytes_sent $request_uri $request_completion";
      access_log logs/access.log short;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection "upgrade";
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /short { proxy_pass http://127.0.0.1:${port}; proxy_read_timeout 2s; }
        location /not-passed { proxy_pass http://127.0.0.1:${port}; proxy_set_header X-A b; }
        location /status { stub_status; }
      }
    }`,
  );
}

async function upgraded(t: ExecutionContext, srv: Srv, ask = ASK): Promise<RawConnection> {
  const connection = await connectRaw(t, srv.port('web'));
  connection.send(ask);
  await connection.receive(/^HTTP\/1\.1 101 Switching Protocols\r\n[^]*?\r\n\r\n/);
  return connection;
}

test('bytes go both ways after 101', async (t) => {
  let head = '';
  const backend = await upgrading(t, (socket, received) => {
    head = received;
    socket.write(`${SWITCHING}early`);
    socket.on('data', (chunk) => socket.write(`<${chunk.toString('latin1')}>`, 'latin1'));
  });
  const srv = await proxying(t, backend);
  const connection = await upgraded(t, srv, `${ASK}first`);
  await connection.receive(/<first>/);
  const answer = connection.take();
  t.regex(answer, /\r\nUpgrade: echo\r\n/);
  t.regex(answer, /\r\nConnection: upgrade\r\n/i);
  t.regex(answer, /\r\nSec-WebSocket-Accept: x\r\n/);
  t.notRegex(answer, /Transfer-Encoding|Content-Length|keep-alive/i);
  t.regex(answer, /\r\n\r\nearly<first>$/, 'what came with the heads, on both sides');
  for (const message of ['hello', '\0\xff\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n']) {
    connection.send(message);
    await waitFor('the echo', () => connection.received === `<${message}>`);
    connection.take();
  }
  t.regex(head, /\r\nSec-WebSocket-Key: k\r\n/);
  t.is(head.match(/^connection:/gim)?.length, 1);
  connection.socket.end();
  await connection.receiveAll();
  await srv.waitForLog(/^101 \d+ \/echo OK$/m, 'logs/access.log');
});

test('either side may end it, and what was sent before arrives', async (t) => {
  const sink = new HashingSink(1);
  const length = 5_000_000;
  const backend = await upgrading(t, (socket, head) => {
    socket.write(SWITCHING);
    if (head.startsWith('GET /down')) void send(socket, length).then(() => socket.end());
    else socket.pipe(sink);
  });
  const srv = await proxying(t, backend);

  const up = await upgraded(t, srv, ASK.replace('/echo', '/up'));
  await send(up.socket, length);
  up.socket.end();
  await waitFor('all bytes at the member', () => sink.writableFinished, 30_000);
  t.is(sink.digest(), patternDigest(length));

  const down = await connectRaw(t, srv.port('web'));
  const received = new HashingSink();
  let started = false;
  down.socket.on('data', (text: string) => {
    down.received = '';
    const at = started ? 0 : text.indexOf('\r\n\r\n') + 4;
    started = true;
    received.write(Buffer.from(text.slice(at), 'latin1'));
  });
  down.send(ASK.replace('/echo', '/down'));
  await down.receiveAll(30_000);
  t.is(received.digest(), patternDigest(length));
});

test('a connection that is broken frees the other one', async (t) => {
  const sockets: Socket[] = [];
  const backend = await upgrading(t, (socket) => {
    sockets.push(socket);
    socket.write(SWITCHING);
  });
  const srv = await proxying(t, backend);
  const reset = await upgraded(t, srv);
  reset.socket.resetAndDestroy();
  await waitFor('the end at the member', () => sockets[0]?.destroyed === true || sockets[0]?.readableEnded === true);
  const other = await upgraded(t, srv);
  sockets[1]?.resetAndDestroy();
  await other.receiveAll();
  await waitFor('no connection but the one that asks', async () =>
    (await get(srv.port('web'), '/status')).body.startsWith('Active connections: 1 '),
  );
  t.pass();
});

test('a silent tunnel ends after proxy_read_timeout, one that is used does not', async (t) => {
  const backend = await upgrading(t, (socket) => {
    socket.write(SWITCHING);
    socket.on('data', (chunk) => socket.write(chunk));
  });
  const srv = await proxying(t, backend);
  const connection = await upgraded(t, srv, ASK.replace('/echo', '/short'));
  const since = Date.now();
  for (let at = 0; at < 8; at++) {
    await new Promise((resolve) => setTimeout(resolve, 300));
    connection.send('x');
  }
  await connection.receive(/x{8}/);
  t.true(Date.now() - since > 2200);
  await connection.receiveAll();
  await srv.waitForLog(/upstream timed out .* while proxying upgraded connection/);
});

test('without an upgrade nothing is switched', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', () => socket.write(SWITCHING));
  });
  const refusing = await upgrading(t, () => undefined);
  const srv = await proxying(t, backend);
  t.regex(await exchange(t, srv.port('web'), 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'), /^HTTP\/1\.1 502 /, 'nobody asked');
  t.regex(
    await exchange(t, srv.port('web'), 'GET / HTTP/1.0\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n'),
    /^HTTP\/1\.1 502 /,
    'not in HTTP/1.0',
  );
  const other = await proxying(t, refusing);
  const declined = await get(other.port('web'), '/not-passed', { headers: { upgrade: 'echo', connection: 'upgrade' } });
  t.is(declined.status, 426, 'Upgrade ends at this hop, unless proxy_set_header passes it');
});

async function send(socket: Socket, length: number): Promise<void> {
  for await (const piece of patternBytes(length)) {
    if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve));
  }
}
