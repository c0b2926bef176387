/** Large bodies and tunnels that nothing looks at go from socket to socket without being read (splice): the same bytes, and the same figures. */
import { request, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { HashingSink, patternDigest, patternStream } from './byte-streams.js';
import { pipesAreMade, pipesOf } from './passing-pipes.js';

/** More than the sockets on the way hold. */
const LENGTH = 20_000_000;

interface Site {
  /** The second half of the response to `/held` may follow. */
  readonly release: () => void;
  readonly srv: Srv;
  readonly echo: number;
}

async function start(t: Scope): Promise<Site> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const member = await httpBackend(t, ({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://a');
    const length = Number(searchParams.get('length') ?? LENGTH);
    response.setHeader('Content-Length', length);
    response.setHeader('Content-Type', 'text/x');
    if (pathname === '/cut') void pipeline(patternStream(length / 2), response, { end: false }).then(() => response.destroy());
    else void pipeline(pathname === '/held' ? heldStream(length, released) : patternStream(length), response).catch(() => undefined);
  });
  const upgraded = await rawBackend(t, (socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: upgrade\r\n\r\n');
      void pipeline(socket, socket).catch(() => undefined);
    });
  });
  const echo = await rawBackend(t, (socket) => void pipeline(socket, socket).catch(() => undefined));
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_proxy_connect_module.so;
    worker_processes 1; error_log logs/error.log info;
    events {}
    http {
      log_format sums '$uri $status $body_bytes_sent [$upstream_response_length] $request_completion';
      log_format tunnel '$request_method $status $bytes_sent [$upstream_bytes_sent $upstream_bytes_received] $request_completion';
      access_log logs/access.log sums;
      upstream member { server 127.0.0.1:${member.port}; keepalive 4; }
      proxy_http_version 1.1; proxy_set_header Connection "";
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://member; }
        location /unbuffered { proxy_buffering off; proxy_pass http://member; }
        location /filtered { gunzip on; sub_filter_types *; sub_filter_once off; sub_filter nothing something; proxy_pass http://member; }
        location /paced { limit_rate 200m; proxy_pass http://member; }
        location /read-slowly { proxy_limit_rate 200m; proxy_pass http://member; }
        location /stored { proxy_store %%PREFIX%%/copy; proxy_pass http://member; }
      }
      server {
        listen 127.0.0.1:%%PORT_tunnel%%;
        access_log logs/access.log tunnel;
        proxy_connect; proxy_connect_allow all; proxy_connect_destination allow 127.0.0.0/8;
        location /upgrade { proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_pass http://127.0.0.1:${upgraded.port}; }
      }
    }`,
  );
  return { srv, release, echo: echo.port };
}

async function* heldStream(length: number, released: Promise<void>): AsyncGenerator<Buffer> {
  let sent = 0;
  for await (const piece of patternStream(length)) {
    if (sent > length / 2) await released;
    sent += (piece as Buffer).length;
    yield piece as Buffer;
  }
}

async function download(t: ExecutionContext, { srv }: Site, path: string): Promise<IncomingMessage> {
  const call = request({ host: '127.0.0.1', port: srv.port('web'), path, agent: false });
  t.teardown(() => call.destroy());
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

async function digestOf(response: NodeJS.ReadableStream): Promise<string> {
  const sink = new HashingSink();
  await pipeline(response, sink);
  return sink.digest();
}

/** Sends the pattern through a tunnel, whose other end sends it back, and ends it. */
async function echoed(t: ExecutionContext, port: number, head: string): Promise<string> {
  const socket: Socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  t.teardown(() => socket.destroy());
  socket.write(head);
  for (let received = ''; !received.endsWith('\r\n\r\n');) {
    const byte = socket.read(1) as Buffer | null;
    if (byte === null) await once(socket, 'readable');
    else received += byte.latin1Slice();
  }
  const sink = new HashingSink();
  let left = LENGTH;
  socket.on('data', (chunk: Buffer) => {
    sink.write(chunk);
    left -= chunk.length;
    if (left === 0) socket.end();
  });
  const closed = once(socket, 'close');
  await pipeline(patternStream(LENGTH), socket, { end: false });
  await closed;
  return sink.digest();
}

test('a body is whole, its connections carry further requests, and each byte is counted', async (t) => {
  const site = await start(t);
  const before = pipesOf(site.srv);
  for (const path of ['/', '/unbuffered']) t.is(await digestOf(await download(t, site, path)), patternDigest(LENGTH), path);
  t.is(pipesOf(site.srv) - before, pipesAreMade);
  t.is(await digestOf(await download(t, site, '/?length=10')), patternDigest(10));
  await site.srv.waitForLog(new RegExp(`^/ 200 ${LENGTH} \\[${LENGTH}\\] OK$`, 'm'), 'logs/access.log');
  await site.srv.waitForLog(new RegExp(`^/unbuffered 200 ${LENGTH} \\[${LENGTH}\\] OK$`, 'm'), 'logs/access.log');
  await site.srv.waitForLog(/^\/ 200 10 \[10\] OK$/m, 'logs/access.log');
});

test('a client that reads late gets all of it in its order', async (t) => {
  const site = await start(t);
  const response = await download(t, site, '/unbuffered');
  await once(response, 'readable');
  t.is(await digestOf(await download(t, site, '/other')), patternDigest(LENGTH));
  t.is(await digestOf(response), patternDigest(LENGTH));
});

test('a body that is buffered while its member goes on keeps its order', async (t) => {
  const site = await start(t);
  const response = await download(t, site, '/held');
  await once(response, 'readable');
  await site.srv.waitForLog(/an upstream response is buffered to a temporary file/);
  // From now on the client takes what is stored, and the member sends more.
  const digest = digestOf(response);
  site.release();
  t.is(await digest, patternDigest(LENGTH));
});

test('a body that breaks off breaks its response off, and no byte is added', async (t) => {
  const site = await start(t);
  const response = await download(t, site, '/cut');
  const sink = new HashingSink();
  await t.throwsAsync(pipeline(response, sink), { code: 'ECONNRESET' });
  await site.srv.waitForLog(/upstream prematurely closed connection while reading upstream/);
  const [, sent] = await site.srv.waitForLog(/^\/cut 200 (\d+) \[\d+\] $/m, 'logs/access.log');
  t.true(Number(sent) <= LENGTH / 2);
});

test('bodies that something looks at, limits or stores are read', async (t) => {
  const site = await start(t);
  const before = pipesOf(site.srv);
  for (const path of ['/filtered', '/paced', '/read-slowly', '/stored'])
    t.is(await digestOf(await download(t, site, path)), patternDigest(LENGTH), path);
  t.is(pipesOf(site.srv), before);
});

for (const [name, head, line] of [
  ['CONNECT', 'CONNECT 127.0.0.1:%s HTTP/1.1\r\nHost: a\r\n\r\n', 'CONNECT 200'],
  ['an upgraded connection', 'GET /upgrade HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n', 'GET 101'],
] as const)
  test(`${name}: bytes in both directions are the same, and counted`, async (t) => {
    const { srv, echo } = await start(t);
    const before = pipesOf(srv);
    t.is(await echoed(t, srv.port('tunnel'), head.replace('%s', `${echo}`)), patternDigest(LENGTH));
    t.is(pipesOf(srv) - before, pipesAreMade);
    const [, sent, up, down] = await srv.waitForLog(new RegExp(`^${line} (\\d+) \\[(\\d+) (\\d+)\\] OK$`, 'm'), 'logs/access.log');
    for (const figure of [sent, up, down]) t.true(Number(figure) - LENGTH >= 0 && Number(figure) - LENGTH < 1000, figure);
    if (name === 'CONNECT') t.deepEqual([up, down], [`${LENGTH}`, `${LENGTH}`]);
  });
