import test from 'ava';
import { httpBackend, bodyOf } from '../harness/backends.js';
import { connectRaw, exchange } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { residentBytes } from './resident-bytes.js';

async function start(t: Scope): Promise<Srv> {
  const backend = await httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) => setTimeout(() => response.end(`[${request.method} ${request.url} ${body}]`), Math.random() * 3));
  });
  return startSrv(
    t,
    `events {}
    http {
      keepalive_requests 100000;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 "[$request_uri]"; }
        location /proxied { proxy_pass http://127.0.0.1:${backend.port}; }
        location /large { return 200 "${'x'.repeat(4000)}"; }
      }
    }`,
  );
}

const common = shared(start);

const head = (method: string, path: string, lines = ''): string => `${method} ${path} HTTP/1.1\r\nHost: a\r\n${lines}\r\n`;
const LAST = head('GET', '/last', 'Connection: close\r\n');
const bodies = (received: string): string[] => received.match(/\[[^\]]*\]/g) ?? [];

test('requests sent at once get their responses in order', async (t) => {
  const srv = await common();
  const port = srv.port('web');
  const numbers = Array.from({ length: 3000 }, (_, at) => at);
  t.deepEqual(bodies(await exchange(t, port, numbers.map((at) => head('GET', `/${at}`)).join('') + LAST)), [
    ...numbers.map((at) => `[/${at}]`),
    '[/last]',
  ]);
  const some = numbers.slice(0, 40);
  t.deepEqual(bodies(await exchange(t, port, some.map((at) => head('GET', at % 3 ? `/${at}` : `/proxied/${at}`)).join('') + LAST)), [
    ...some.map((at) => (at % 3 ? `[/${at}]` : `[GET /proxied/${at} ]`)),
    '[/last]',
  ]);
});

test('a request after a body, whoever reads that', async (t) => {
  const srv = await common();
  const body = 'y'.repeat(300);
  const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Trailer: a\r\n\r\n`;
  const requests = ['/proxied', '/unread'].flatMap((path) => [
    head('POST', path, `Content-Length: ${body.length}\r\n`) + body,
    head('PUT', path, 'Transfer-Encoding: chunked\r\n') + chunked,
  ]);
  const expected = [`[POST /proxied ${body}]`, `[PUT /proxied ${body}]`, '[/unread]', '[/unread]', '[/last]'];
  const all = requests.join('') + LAST;
  t.deepEqual(bodies(await exchange(t, srv.port('web'), all)), expected);
  // The same in pieces whose ends fall anywhere.
  for (const size of [1, 7, 61, 512]) {
    const connection = await connectRaw(t, srv.port('web'));
    for (let at = 0; at < all.length; at += size) {
      connection.send(all.slice(at, at + size));
      if (at % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    t.deepEqual(bodies(await connection.receiveAll()), expected, `pieces of ${size}`);
  }
});

test('what is wrong after a good request does not spoil its response', async (t) => {
  const srv = await common();
  const received = await exchange(
    t,
    srv.port('web'),
    `${head('GET', '/proxied/a')}${head('GET', '/b')}GARBAGE\r\n\r\n${head('GET', '/c')}`,
  );
  t.deepEqual(bodies(received), ['[GET /proxied/a ]', '[/b]']);
  t.regex(received, /HTTP\/1\.1 400 Bad Request/);
  t.is(received.split('HTTP/1.1 ').length - 1, 3, 'nothing behind the bad one is looked at');
});

test('a client that closes its side after its requests gets its responses', async (t) => {
  const srv = await common();
  const connection = await connectRaw(t, srv.port('web'));
  connection.socket.end(head('GET', '/a') + head('GET', '/b'), 'latin1');
  t.deepEqual(bodies(await connection.receiveAll()), ['[/a]', '[/b]']);
});

test('a client that sends and does not read costs no memory', async (t) => {
  const srv = await start(t);
  const connection = await connectRaw(t, srv.port('web'));
  connection.socket.pause();
  const before = residentBytes(srv.pid);
  const requests = head('GET', '/large', `X-Padding: ${'p'.repeat(1000)}\r\n`).repeat(500);
  let unsent = 0;
  // Until the server takes no more: 80 MB of responses if it took everything.
  for (let round = 0; round < 40; round++) {
    connection.send(requests);
    await new Promise((resolve) => setTimeout(resolve, 5));
    unsent = connection.socket.writableLength;
  }
  t.true(unsent > 0, 'it is made to wait');
  t.true(residentBytes(srv.pid) - before < 40_000_000);
  connection.socket.resume();
  await waitFor('all answers', () => connection.received.split('HTTP/1.1 200 OK').length === 20_001, 30_000);
  t.pass();
});
