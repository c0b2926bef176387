import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import test from 'ava';
import { httpsBackend, rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { MALFORMED_CHUNKS, MALFORMED_RESPONSES } from './malformed-responses.js';

test('a member that breaks off, at any point', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.once('data', (chunk) => {
      const [, path = ''] = chunk.toString('latin1').split(' ');
      const [, how = '', where = ''] = path.split('/');
      const end = (): void => void (how === 'reset' ? socket.resetAndDestroy() : socket.end());
      const part = PARTS[where] ?? '';
      if (part === '') end();
      else socket.write(part, () => setTimeout(end, 20));
    });
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } location /alive { return 200 alive; } }
    }`,
  );
  const ask = (path: string): Promise<string> =>
    exchange(t, srv.port('web'), `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\nGET /alive HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  for (const how of ['end', 'reset']) {
    for (const where of ['nothing', 'status', 'head']) {
      const { status } = await get(srv.port('web'), `/${how}/${where}`);
      t.is(status, 502, `${how} ${where}`);
    }
    for (const where of ['length', 'chunked', 'chunk']) {
      const received = await ask(`/${how}/${where}`);
      t.regex(received, /^HTTP\/1\.1 200 OK/, `${how} ${where}`);
      t.regex(received, /\r\n\r\n[^]*part/);
      t.notRegex(received, /0\r\n\r\n$|\n\r\nalive/, 'the client can see that it is not whole');
    }
  }
  t.notRegex(await ask('/reset/until-close'), /\r\n0\r\n\r\n$|\n\r\nalive/, 'a reset is no end');
  t.regex(await ask('/end/until-close'), /part\r\n0\r\n\r\n/);
  await srv.waitForLog(
    /upstream prematurely closed connection while reading response header from upstream, client: 127\.0\.0\.1, .*upstream: "http:\/\/127\.0\.0\.1:\d+\/end\/nothing"/,
  );
  await srv.waitForLog(/recv\(\) failed \(104: Connection reset by peer\) while reading response header from upstream/);
  await srv.waitForLog(/upstream prematurely closed connection while reading upstream/);
  t.is((await get(srv.port('web'), '/alive')).body, 'alive');
});

test('what a TLS member sent before its connection broke arrives, also while nothing is read', async (t) => {
  const identity = selfSigned('localhost');
  const backend = await httpsBackend(t, identity, ({ socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n${'x'.repeat(4000)}`);
    // Its first part is read before the rest comes.
    setTimeout(() => {
      socket.write('the last bytes');
      // A record that no key has made: nothing is lost in the system, as it would be with a reset.
      rawSocketOf(socket as TLSSocket).write(Buffer.concat([Buffer.of(23, 3, 3, 0, 32), Buffer.alloc(32)]));
    }, 300);
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; proxy_limit_rate 100; location / { proxy_pass https://127.0.0.1:${backend.port}; } } }`,
  );
  t.regex(await exchange(t, srv.port('web'), 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'), /xxxthe last bytes$/);
});

/** What is beneath TLS. */
function rawSocketOf(socket: TLSSocket): Socket {
  return (socket as unknown as { readonly _parent: Socket })._parent;
}

const PARTS: Readonly<Record<string, string>> = {
  status: 'HTTP/1.1 200',
  head: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A',
  length: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart',
  chunked: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n',
  chunk: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\npart',
  'until-close': 'HTTP/1.1 200 OK\r\n\r\npart',
};

test('a response that is malformed never reaches a client as a whole one', async (t) => {
  const answers = Object.entries(MALFORMED_RESPONSES);
  const chunked = Object.entries(MALFORMED_CHUNKS).map(([name, body]) => [
    name,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
  ]);
  const backend = await rawBackend(t, (socket) => {
    socket.once('data', (chunk) => {
      const [, number = ''] = /^GET \/(\d+)/.exec(chunk.toString('latin1')) ?? [];
      socket.end([...answers, ...chunked][Number(number)]?.[1] ?? '', 'latin1');
    });
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  for (const [at, [name]] of answers.entries()) t.is((await get(srv.port('web'), `/${at}`)).status, 502, name);
  for (const [at, [name]] of chunked.entries()) await t.throwsAsync(get(srv.port('web'), `/${answers.length + at}`), undefined, name);
});
