/** Bodies of requests that nothing looks at go from the client's socket to that of the member without being read (splice). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, rawBackend, type HttpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, connectRawTls, type RawConnection } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternDigest, patternStream } from './byte-streams.js';
import { pipesAreMade, pipesOf } from './passing-pipes.js';

/** More than the sockets on the way hold. */
const LENGTH = 20_000_000;
const { cert, key } = selfSigned('localhost');

interface Site {
  readonly srv: Srv;
  readonly member: HttpBackend;
}

/** Responds with the number of bytes and their digest, or as the path says. */
function receive(request: IncomingMessage, response: ServerResponse): void {
  if (request.url === '/early') request.once('data', () => response.end('early'));
  else {
    const sink = new HashingSink(request.url === '/slow' ? 1 : 0);
    void pipeline(request, sink).then(
      () => response.end(sink.digest()),
      () => undefined,
    );
  }
}

async function start(t: Scope): Promise<Site> {
  const member = await httpBackend(t, receive);
  const leaves = await rawBackend(t, (socket) => {
    let left = LENGTH / 2;
    socket.on('data', ({ length }) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
  });
  const next = await httpBackend(t, (_, response) => response.end('the next one'));
  const srv = await startSrv(
    t,
    `worker_processes 1; error_log logs/error.log info;
    events {}
    http {
      log_format sums '$uri $status $request_length [$upstream_bytes_sent] $upstream_addr.';
      access_log logs/access.log sums;
      upstream member { server 127.0.0.1:${member.port}; keepalive 4; }
      upstream pair { server 127.0.0.1:${leaves.port} weight=100; server 127.0.0.1:${next.port}; }
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host a;
      client_max_body_size ${LENGTH};
      server {
        listen 127.0.0.1:%%PORT_web%%;
        listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate cert.pem; ssl_certificate_key key.pem;
        location / { proxy_request_buffering off; proxy_pass http://member; }
        location /stored { proxy_pass http://member; }
        location /stalls { proxy_request_buffering off; client_body_timeout 1s; proxy_pass http://member; }
        location /pair { proxy_request_buffering off; proxy_next_upstream error timeout; proxy_pass http://pair; }
      }
    }`,
    { files: { 'conf/cert.pem': cert, 'conf/key.pem': key } },
  );
  return { srv, member };
}

/** For the tests that need no figures of their own. */
const site = shared(start);

const headOf = (path: string, framing: string): string => `PUT ${path} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`;
const head = (path: string, length = LENGTH): string => headOf(path, `Content-Length: ${length}`);

async function uploading(t: ExecutionContext, { srv }: Site, path: string): Promise<RawConnection> {
  const client = await connectRaw(t, srv.port('web'));
  client.send(head(path));
  return client;
}

/** Sends bytes of the pattern from `from` to before `to`. */
async function send({ socket }: RawConnection, from: number, to: number): Promise<void> {
  let at = 0;
  for await (const piece of patternStream(to)) {
    const bytes = piece as Buffer;
    const left = bytes.subarray(Math.max(from - at, 0));
    at += bytes.length;
    if (left.length === 0 || socket.write(left)) continue;
    if (socket.destroyed) return;
    await drained(socket);
  }
}

/** Resolves when the socket has room, or is closed. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}

/** Status and body of the response that has come. */
async function answer(client: RawConnection): Promise<string> {
  await client.receive(/^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n\d+ [0-9a-f]{64}/);
  return client.take();
}

/** With framing, over TLS, and stored before. */
async function sendReadBodies(t: ExecutionContext, own: Site): Promise<void> {
  const { srv } = own;
  const chunked = await connectRaw(t, srv.port('web'));
  chunked.send(`${headOf('/chunked', 'Transfer-Encoding: chunked')}${LENGTH.toString(16)}\r\n`);
  const secure = await connectRawTls(t, srv.port('tls'));
  secure.send(head('/secure'));
  for (const client of [chunked, secure, await uploading(t, own, '/stored')]) {
    await send(client, 0, LENGTH);
    if (client === chunked) client.send('\r\n0\r\n\r\n');
    t.true((await answer(client)).endsWith(patternDigest(LENGTH)));
  }
}

test('a body is whole, its connections carry further requests, and each byte is counted', async (t) => {
  const own = await start(t);
  const { srv, member } = own;
  const before = pipesOf(srv);
  await sendReadBodies(t, own);
  t.is(pipesOf(srv), before);
  const connections = member.connections;
  const client = await uploading(t, own, '/first');
  await send(client, 0, LENGTH);
  t.true((await answer(client)).endsWith(patternDigest(LENGTH)));
  t.is(pipesOf(srv) - before, pipesAreMade);
  // The next request follows at once.
  client.send(head('/second'));
  await send(client, 0, LENGTH);
  client.send(head('/third', 10));
  await send(client, 0, 10);
  const [, second, third] = await client.receive(/200 OK[^]*?\r\n\r\n(\d+ [0-9a-f]{64})HTTP[^]*?\r\n\r\n(\d+ [0-9a-f]{64})/);
  t.deepEqual([second, third], [patternDigest(LENGTH), patternDigest(10)]);
  t.is(member.connections, connections);
  for (const path of ['/first', '/second']) {
    const line = new RegExp(`^${path} 200 (\\d+) \\[(\\d+)\\]`, 'm');
    const [, received, sent] = await srv.waitForLog(line, 'logs/access.log');
    t.is(Number(received), LENGTH + head(path).length);
    // The field lines have another order, and Connection is left out.
    t.is(Number(sent), LENGTH + head(path).length);
  }
});

test('a slow member gets all of it in its order', async (t) => {
  const client = await uploading(t, await site(), '/slow');
  await send(client, 0, LENGTH);
  t.true((await answer(client)).endsWith(patternDigest(LENGTH)));
});

test('a response that comes before the end of the body is sent, and the client may go on', async (t) => {
  const client = await uploading(t, await site(), '/early');
  await send(client, 0, LENGTH / 2);
  await client.receive(/\r\n\r\nearly$/);
  client.take();
  await send(client, LENGTH / 2, LENGTH);
  client.send(head('/after-early', 10));
  await send(client, 0, 10);
  t.true((await answer(client)).endsWith(patternDigest(10)));
});

test('a body that breaks off reaches its member as such, and is counted as far as it came', async (t) => {
  const all = await site();
  const { srv, member } = all;
  const client = await uploading(t, all, '/breaks-off');
  await send(client, 0, LENGTH / 2);
  client.socket.end();
  const [, received, sent] = await srv.waitForLog(/^\/breaks-off 400 (\d+) \[(\d+)\]/m, 'logs/access.log');
  t.is(Number(received), LENGTH / 2 + head('/breaks-off').length);
  t.true(Number(sent) <= Number(received));
  const request = member.requests.find(({ url }) => url === '/breaks-off');
  await waitFor('the end of the connection to the member', () => request?.destroyed);
  t.false(request?.complete);
});

test('a client that stalls is too slow', async (t) => {
  const client = await uploading(t, await site(), '/stalls');
  await send(client, 0, LENGTH / 2);
  t.regex(await client.receiveAll(), /^HTTP\/1\.1 408 /);
});

test('a body that was sent in part is not sent to the next member', async (t) => {
  const all = await site();
  const client = await uploading(t, all, '/pair');
  const sending = send(client, 0, LENGTH).catch(() => undefined);
  await client.receive(/^HTTP\/1\.1 502 /);
  client.socket.destroy();
  await sending;
  const [line] = await all.srv.waitForLog(/^\/pair 502 .*$/m, 'logs/access.log');
  t.false(line.includes(','), 'one member');
});

test('a body that is longer than allowed is rejected before any of it is sent', async (t) => {
  const { srv, member } = await site();
  const client = await connectRaw(t, srv.port('web'));
  client.send(head('/too-long', LENGTH + 1));
  t.regex((await client.receive(/^HTTP\/1\.1 (\d+) [^]*\r\n\r\n/))[0], /^HTTP\/1\.1 413 /);
  t.false(member.requests.some(({ url }) => url === '/too-long'));
});

test('a reload does not disturb it', async (t) => {
  const all = await site();
  const { srv } = all;
  const client = await uploading(t, all, '/reloaded');
  await send(client, 0, LENGTH / 2);
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await send(client, LENGTH / 2, LENGTH);
  t.true((await answer(client)).endsWith(patternDigest(LENGTH)));
});
