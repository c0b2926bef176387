import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

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

const PARTS: Readonly<Record<string, string>> = {
  status: 'HTTP/1.1 200',
  head: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A',
  length: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart',
  chunked: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n',
  chunk: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\npart',
  'until-close': 'HTTP/1.1 200 OK\r\n\r\npart',
};

test('a response that is malformed never reaches a client as a whole one', async (t) => {
  const answers: Readonly<Record<string, string>> = {
    '/text': 'NONSENSE\r\n\r\n',
    '/0.9': '<html></html>',
    '/version': 'HTTP/2.0 200 OK\r\n\r\n',
    '/status': 'HTTP/1.1 2000 OK\r\n\r\n',
    '/fold': 'HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\n\r\n',
    '/nul': 'HTTP/1.1 200 OK\r\nX-A: b\0c\r\n\r\n',
    '/lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nevil',
    '/length': 'HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\nevil',
    '/coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nevil',
    '/both': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n4\r\nevil\r\n0\r\n\r\n',
    '/large': `HTTP/1.1 200 OK\r\nX-A: ${'x'.repeat(40_000)}\r\n\r\n`,
    '/interim': 'HTTP/1.1 100 Continue\r\n\r\nNONSENSE\r\n\r\n',
  };
  const backend = await rawBackend(t, (socket) => {
    socket.once('data', (chunk) => {
      const [, path = ''] = chunk.toString('latin1').split(' ');
      socket.end(answers[path] ?? 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nevil', 'latin1');
    });
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  for (const path of Object.keys(answers)) t.is((await get(srv.port('web'), path)).status, 502, path);
  await t.throwsAsync(get(srv.port('web'), '/chunks'));
});
