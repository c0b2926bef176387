import type { OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:http2';
import test from 'ava';
import { connectRaw, exchange, get } from '../harness/client.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';
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

const named = (port: number, name: string, lines: string): string => `server {
  listen 127.0.0.1:${port}; server_name ${name}; ${lines}
  error_page 400 494 /bad;
  location / { return 200 "${name} [$http_x_foo] [$http_y]"; }
  location = /bad { return 200 "bad ${name}"; }
}`;

sameAsNginx(
  'the settings of the server that Host names hold for the head',
  (_, port) =>
    named(port, 'default', '') +
    named(port, 'wide', 'large_client_header_buffers 4 32k;') +
    named(port, 'narrow', 'large_client_header_buffers 4 1k;') +
    named(port, 'underscores', 'underscores_in_headers on;') +
    named(port, 'any', 'ignore_invalid_headers off;'),
  async (t, port) => {
    const ask = async (host: string, lines: string): Promise<string> => {
      const received = await exchange(t, port, `GET / HTTP/1.1\r\nHost: ${host}\r\n${lines}Connection: close\r\n\r\n`);
      return `${received.slice(9, 12)} ${received.slice(received.indexOf('\r\n\r\n') + 4)}`;
    };
    t.is(await ask('default', field(8000)), '200 default [] []');
    t.is(await ask('default', field(9000)), '400 bad default');
    t.is(await ask('wide', field(30_000)), '200 wide [] []', 'more than the default server allows');
    t.is(await ask('wide', field(30_000).repeat(2)), '200 wide [] []');
    t.is(await ask('wide', field(40_000)), '400 bad wide');
    t.is(await ask('narrow', field(4000)), '400 bad narrow', 'less than the default server allows');
    t.is(await ask('default', 'x_foo: 1\r\n'), '200 default [] []');
    t.is(await ask('underscores', 'x_foo: 1\r\n'), '200 underscores [1] []', '$http_ with underscores');
    t.is(await ask('any', 'x.foo: 1\r\ny: 2\r\n'), '200 any [] [2]');
    t.is(await ask('wide', 'Content-Length: x\r\n'), '400 bad wide', 'error pages of a bad head');
  },
);

test('max_headers counts no pseudo-header fields', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { max_headers 3; server { listen 127.0.0.1:%%PORT_web%%; http2 on; return 200 "$http_x_2 $http_host"; } }`,
  );
  const session = connect(`http://127.0.0.1:${srv.port('web')}`);
  t.teardown(() => session.destroy());
  const ask = async (fields: OutgoingHttpHeaders): Promise<string> => {
    const request = session.request(fields).setEncoding('utf8');
    const chunks: string[] = [];
    for await (const chunk of request) chunks.push(chunk as string);
    return chunks.join('').replace(/^<html>[^]*<title>(.*)<\/title>[^]*$/, '$1');
  };
  const three = { 'x-1': '1', 'x-2': '2', 'x-3': '3' };
  t.is(await ask({ ':authority': 'a', ...three }), '2 a');
  t.is(await ask({ ':authority': 'a', ...three, 'x-4': '4' }), '400 Request Header Or Cookie Too Large');
  t.is(await ask({ host: 'a', 'x-1': '1', 'x-2': '2' }), '2 a');
  t.is(await ask({ host: 'a', ...three }), '400 Request Header Or Cookie Too Large');
});

test('a head in pieces, and one of HTTP/2, have the limits of their server', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { ${['default', 'wide'].map((name) => named(0, name, name === 'wide' ? 'large_client_header_buffers 4 32k;' : '')).join('')} }`.replaceAll(
      '127.0.0.1:0;',
      '127.0.0.1:%%PORT_web%%; http2 on;',
    ),
  );
  const inPieces = async (host: string): Promise<string> => {
    const client = await connectRaw(t, srv.port('web'));
    client.send(`GET / HTTP/1.1\r\nHost: ${host}\r\nX: `);
    for (let i = 0; i < 30; i++) {
      client.send('a'.repeat(1000));
      await new Promise((done) => setImmediate(done));
    }
    client.send('\r\nConnection: close\r\n\r\n');
    return (await client.receiveAll()).slice(9, 12);
  };
  t.is(await inPieces('wide'), '200');
  t.is(await inPieces('default'), '400');
  const overHttp2 = async (host: string): Promise<string> => {
    const session = connect(`http://127.0.0.1:${srv.port('web')}`);
    try {
      const request = session
        .request({ ':authority': host, 'x-long': 'a'.repeat(30_000), 'x-more': 'a'.repeat(30_000) })
        .setEncoding('utf8');
      const chunks: string[] = [];
      for await (const chunk of request) chunks.push(chunk as string);
      return chunks.join('');
    } finally {
      session.destroy();
    }
  };
  t.is(await overHttp2('wide'), 'wide [] []');
  t.is(await overHttp2('default'), 'bad default');
});
