import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('proxy_read_timeout is for the pause between two reads', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.once('data', (chunk) => {
      const [, path = ''] = chunk.toString('latin1').split(' ');
      if (path === '/slow') void trickle(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n', 'com', 'pl', 'e', 't', 'e');
      else if (path === '/head') socket.write('HTTP/1.1 200 OK\r\n');
      else if (path === '/body') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart');
    });
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_read_timeout 2s; } } }`,
  );
  const port = srv.port('web');
  const [slow, never, head, body] = await Promise.all([
    get(port, '/slow'),
    get(port, '/never'),
    get(port, '/head'),
    exchange(t, port, 'GET /body HTTP/1.1\r\nHost: a\r\n\r\n'),
  ]);
  t.is(slow.body, 'complete', 'pauses that are short enough');
  t.is(never.status, 504);
  t.is(head.status, 504);
  t.regex(body, /^HTTP\/1\.1 200 [^]*part$/, 'the connection is closed: half an answer cannot become a 504');
  await srv.waitForLog(
    /\[error\].* upstream timed out \(110: Connection timed out\) while reading response header from upstream, client: .* upstream: "http:\/\/.*\/never"/,
  );
  await srv.waitForLog(/upstream timed out \(110: Connection timed out\) while reading upstream/);
});

async function trickle(socket: Socket, ...pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await sleep(400);
  }
}

test('proxy_read_timeout runs again after a slow client has caught up', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.once('data', () => {
      // More than all buffers between here and the client hold, then nothing.
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n');
      socket.write(Buffer.alloc(30_000_000));
    });
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_read_timeout 1500ms; } } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  client.socket.once('data', () => client.socket.pause());
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.receive(/200 OK/);
  await sleep(2500);
  t.false(client.closed, 'while the client is slow the member is not to blame');
  let length = 0;
  client.socket.on('data', (text: string) => {
    length += text.length;
    client.received = '';
  });
  client.socket.resume();
  await client.receiveAll();
  t.true(length > 1_000_000);
  await srv.waitForLog(/upstream timed out .* while reading upstream/);
});

test('proxy_send_timeout is for a member that takes nothing', async (t) => {
  const stuck = await rawBackend(t, (socket) => socket.pause());
  const srv = await startSrv(
    t,
    `events {}
    http {
      client_max_body_size 0;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_send_timeout 3s;
        location / { proxy_pass http://127.0.0.1:${stuck.port}; }
        location /stream { proxy_pass http://127.0.0.1:${stuck.port}; proxy_request_buffering off; client_body_timeout 2s; }
      }
    }`,
  );
  for (const [path, length] of [
    ['/', 30_000_000],
    ['/stream', 90_000_000],
  ] as const) {
    const client = await connectRaw(t, srv.port('web'));
    client.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${length}\r\n\r\n`);
    for (let at = 0; at < 30; at++) client.send('x'.repeat(1_000_000));
    t.regex(await client.receiveAll(), /^HTTP\/1\.1 504 /, 'and not 408: the client is not to blame');
    const line = `upstream timed out \\(110: Connection timed out\\) while sending request to upstream, .*POST ${path} `;
    await srv.waitForLog(new RegExp(line));
  }
});

test('proxy_connect_timeout, and then the next member', async (t) => {
  const full = await fullListener(t);
  const good = await rawBackend(t, (socket) => {
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood'));
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      proxy_connect_timeout 300ms;
      upstream group { server 127.0.0.1:${full}; server 127.0.0.1:${good.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        add_header X-Times "$upstream_connect_time $upstream_header_time" always;
        location / { proxy_pass http://127.0.0.1:${full}; }
        location /group { proxy_pass http://group; }
      }
    }`,
  );
  const { status, headers } = await get(srv.port('web'), '/');
  t.deepEqual([status, headers['x-times']], [504, '- -']);
  await srv.waitForLog(/upstream timed out \(110: Connection timed out\) while connecting to upstream/);
  const next = await get(srv.port('web'), '/group');
  t.is(next.body, 'good');
  t.regex(String(next.headers['x-times']), /^-, \d\.\d{3} -, \d\.\d{3}$/);
});

const DEAF = `const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  require('node:fs').writeSync(1, String(server.address().port));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});`;

/** A port that takes no connection: the queue of the one who listens there, and never looks, is full. */
async function fullListener(t: ExecutionContext): Promise<number> {
  const child = spawn(process.execPath, ['-e', DEAF], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line);
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    t.teardown(() => socket.destroy());
    await sleep(100);
    // After a stall the time is over before the news of the connection is read.
    await turn();
    if (socket.connecting) return port;
  }
}
