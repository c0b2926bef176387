import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

const field = (length: number): string => `X: ${'a'.repeat(length - 5)}\r\n`;
const target = (length: number): string => `/${'a'.repeat(length - 'GET / HTTP/1.1\r\n'.length)}`;

test('large_client_header_buffers and max_headers', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      large_client_header_buffers 4 1k;
      max_headers 20;
      server { listen 127.0.0.1:%%PORT_web%%; error_page 494 /large; location / { return 200 ok; } location = /large { return 200 "cut your cookies"; } }
      server { listen 127.0.0.1:%%PORT_wide%%; large_client_header_buffers 2 64k; location / { return 200 ok; } }
    }`,
  );
  const ask = async (port: number, path: string, lines = ''): Promise<string> => {
    const received = await exchange(t, port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n`);
    return `${received.slice(9, 12)} ${received.split('\r\n\r\n')[1]?.includes('html') === true ? 'built-in' : received.split('\r\n\r\n')[1]}`;
  };
  const port = srv.port('web');
  t.is(await ask(port, target(1024)), '200 ok');
  t.is(await ask(port, target(1025)), '414 built-in');
  t.regex(await exchange(t, port, `HEAD ${target(2000)} HTTP/1.1\r\nHost: a\r\n\r\n`), /^HTTP\/1\.1 414 [^]*\r\n\r\n$/, 'no body for HEAD');
  t.is(await ask(port, '/', field(1024)), '200 ok');
  t.is(await ask(port, '/', field(1025)), '400 cut your cookies');
  t.is(await ask(port, '/', field(1000).repeat(3)), '200 ok');
  t.is(await ask(port, '/', field(1000).repeat(5)), '400 cut your cookies', 'the whole head');
  t.is(await ask(port, '/', 'X: a\r\n'.repeat(18)), '200 ok');
  t.is(await ask(port, '/', 'X: a\r\n'.repeat(19)), '400 cut your cookies');
  t.is(await ask(srv.port('wide'), target(60_000)), '200 ok');
  t.is(await ask(srv.port('wide'), '/', field(60_000)), '200 ok');
  await srv.waitForLog(/client sent too long URI while reading client request line/);
  await srv.waitForLog(/client sent too long header line/);
  t.is((await get(port, '/')).body, 'ok');
});
