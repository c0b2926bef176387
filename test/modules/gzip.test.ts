import { connect } from 'node:net';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import test from 'ava';
import { httpBackend, type HttpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { shared as sharedScope, type Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

interface Bytes {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A request whose response is not decompressed. */
function bytesOf(
  port: number,
  path: string,
  headers: Record<string, string> = { 'accept-encoding': 'gzip' },
  method = 'GET',
): Promise<Bytes> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, headers, method, agent: false }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }));
    });
    request.on('error', reject);
    request.end();
  });
}

const isGzip = ({ headers }: Bytes): boolean => headers['content-encoding'] === 'gzip';
const MEDIUM = 'some text that repeats, '.repeat(4000);
const TEXT = MEDIUM.slice(0, 960);
const LARGE = Array.from({ length: 60_000 }, (_, line) => `line ${line} ${line * 7919}\n`).join('');

/** Fields and status are as the query says: `/?status=404&etag="x"`. */
function backend(t: Scope): Promise<HttpBackend> {
  return httpBackend(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://a');
    const status = Number(searchParams.get('status') ?? 200);
    searchParams.delete('status');
    response.setHeader('content-type', 'text/html; charset=utf-8');
    for (const [name, value] of searchParams) response.setHeader(name, value);
    const body = pathname.includes('/large')
      ? LARGE
      : pathname.endsWith('/short')
        ? 'short'
        : MEDIUM.slice(0, Number(searchParams.get('size') ?? 960));
    response.writeHead(status, pathname.endsWith('/unknown') || status === 304 ? {} : { 'content-length': body.length });
    if (!pathname.includes('/pieces')) response.end(request.method === 'HEAD' || status === 304 ? undefined : body);
    else response.write(body.slice(0, 100), () => setTimeout(() => response.end(body.slice(100)), 20));
  });
}

const shared = sharedScope(async (t) => {
  const { port } = await backend(t);
  return startSrv(
    t,
    `error_log logs/error.log info; events {}
    http { log_format ratio "$uri $gzip_ratio"; access_log logs/access.log ratio;
      server { listen 127.0.0.1:%%PORT_web%%; gzip on; gzip_buffers 16 8k;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /off { gzip off; proxy_pass http://127.0.0.1:${port}; }
        location /own { return 200 "${TEXT}"; default_type text/html; }
        location /types { gzip_types text/css application/json; gzip_vary on; gzip_comp_level 9; proxy_pass http://127.0.0.1:${port}; }
        location /all { gzip_types *; gzip_min_length 2; proxy_pass http://127.0.0.1:${port}; }
        location /old { gzip_http_version 1.0; gzip_disable "msie6" "Bad.*Agent"; proxy_pass http://127.0.0.1:${port}; }
        location /via { gzip_proxied no-cache private expired no_etag auth; proxy_pass http://127.0.0.1:${port}; }
        location /any { gzip_proxied any; gzip_window 4k; gzip_hash 8k; proxy_pass http://127.0.0.1:${port}; }
      }
    }`,
  );
});

test('responses of members and of the server are compressed, small and large, with and without a length', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  for (const [path, text] of [
    ['/', TEXT],
    ['/own', TEXT],
    ['/unknown', TEXT],
    ['/large', LARGE],
    ['/any/large', LARGE],
    ['/types/large', LARGE],
    ['/large/unknown', LARGE],
    ['/pieces', TEXT],
    ['/pieces/unknown', TEXT],
    ...[10_000, 16_384, 20_000, 65_536, 70_000].flatMap((size) =>
      ['/', '/types', '/unknown', '/pieces'].map((path) => [`${path}?size=${size}`, MEDIUM.slice(0, size)] as const),
    ),
  ] as const) {
    const response = await bytesOf(port, path);
    t.true(isGzip(response), path);
    t.is(response.headers['content-length'], undefined, path);
    t.is(gunzipSync(response.body).toString(), text, path);
  }
  t.is((await bytesOf(port, '/', {})).body.toString(), TEXT, 'a client that does not ask for it');
  t.is((await bytesOf(port, '/off')).body.toString(), TEXT);
  await srv.waitForLog(/\/off -/, 'logs/access.log');
  t.regex(srv.read('logs/access.log'), /^\/large 2\.\d\d$/m);
  t.regex(srv.read('logs/access.log'), /^\/ [1-9]\d\.\d\d$/m);
  t.regex(srv.read('logs/access.log'), /^\/large\/unknown 2\.\d\d$/m);
});

test('HEAD has the fields that GET has', async (t) => {
  const srv = await shared();
  const head = await bytesOf(srv.port('web'), '/?etag="x"', { 'accept-encoding': 'gzip' }, 'HEAD');
  t.true(isGzip(head));
  t.deepEqual([head.headers.etag, head.headers['content-length'], head.body.length], ['W/"x"', undefined, 0]);
});

test('what is not compressed', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  for (const path of [
    '/short',
    '/?content-type=text/css',
    '/?content-encoding=br',
    '/?status=206',
    '/?status=500',
    '/?status=304',
    '/types?content-type=text/plain',
  ])
    t.false(isGzip(await bytesOf(port, path)), path);
  for (const path of ['/?status=404', '/?status=403', '/types?content-type=Text/CSS;x', '/types', '/all?content-type=a/b', '/all/short'])
    t.true(isGzip(await bytesOf(port, path)), path);
});

test('fields: Vary, a weak ETag, no Accept-Ranges', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  const { headers } = await bytesOf(port, '/types?etag="x"&accept-ranges=bytes');
  t.is(headers.etag, 'W/"x"');
  t.is(headers['accept-ranges'], undefined);
  t.is(headers.vary, 'Accept-Encoding');
  t.is((await bytesOf(port, '/types?etag=W/"x"')).headers.etag, 'W/"x"');
  t.is((await bytesOf(port, '/types?etag=x')).headers.etag, undefined);
  t.is((await bytesOf(port, '/types?vary=Origin')).headers.vary, 'Origin, Accept-Encoding');
  t.is((await bytesOf(port, '/types?vary=accept-encoding')).headers.vary, 'accept-encoding');
  const plain = await bytesOf(port, '/types?etag="x"&accept-ranges=bytes', {});
  t.is(plain.headers.vary, 'Accept-Encoding', 'other clients get it compressed');
  t.is(plain.headers.etag, '"x"');
  t.is(plain.headers['accept-ranges'], 'bytes');
  t.is((await bytesOf(port, '/')).headers.vary, undefined);
});

test('Accept-Encoding with weights', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  for (const field of ['gzip', 'GZIP', 'deflate, gzip', 'gzip, br', 'br,gzip;q=0.5', 'gzip ; q=1.0', 'gzip;q=0.001', 'deflate;q=0, gzip'])
    t.true(isGzip(await bytesOf(port, '/', { 'accept-encoding': field })), field);
  for (const field of ['br', 'identity', 'gzip;q=0', 'gzip;q=0.000', 'gzip;q=2', 'gzip;x=1', 'xgzip', 'gzipped', '*'])
    t.false(isGzip(await bytesOf(port, '/', { 'accept-encoding': field })), field);
});

test('clients of old versions, excepted ones and proxies', async (t) => {
  const srv = await shared();
  const port = srv.port('web');
  const ask = async (path: string, fields: Record<string, string>): Promise<boolean> =>
    isGzip(await bytesOf(port, path, { 'accept-encoding': 'gzip', ...fields }));
  t.false(await ask('/old', { 'user-agent': 'a bad old agent' }));
  t.false(await ask('/old', { 'user-agent': 'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)' }));
  t.true(await ask('/old', { 'user-agent': 'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; SV1)' }));
  t.true(await ask('/old', { 'user-agent': 'good' }));
  t.regex(await http10(port, '/old'), /Content-Encoding: gzip/);
  t.notRegex(await http10(port, '/'), /Content-Encoding/);
  const via = { via: '1.1 proxy' };
  t.false(await ask('/', via));
  t.true(await ask('/any', via));
  t.true(await ask('/via', via));
  t.true(await ask('/via?etag="x"', { ...via, authorization: 'Basic x' }));
  for (const query of ['cache-control=no-cache', 'cache-control=private', 'expires=Thu, 01 Jan 1970 00:00:01 GMT'])
    t.true(await ask(`/via?${encodeURI(query)}`, via), query);
  for (const query of ['cache-control=no-store', 'cache-control=max-age=9', 'etag="x"', 'expires=Thu, 31 Dec 2037 23:55:55 GMT'])
    t.false(await ask(`/via?${encodeURI(query)}`, via), query);
});

function http10(port: number, path: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1');
    let text = '';
    socket.on('data', (piece: string) => (text += piece)).on('close', () => resolve(text));
    socket.write(`GET ${path} HTTP/1.0\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n`);
  });
}

test('a piece of a body without a length does not wait for the next one', async (t) => {
  const waiting: (() => void)[] = [];
  const { port } = await httpBackend(t, (_, response) => {
    response.setHeader('content-type', 'text/html').write('first');
    waiting.push(() => response.end('second'));
  });
  const srv = await startSrv(
    t,
    `events {} http { gzip on; server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_buffering off; proxy_pass http://127.0.0.1:${port}; } } }`,
  );
  const response = await new Promise<IncomingMessage>((resolve) =>
    httpRequest({ port: srv.port('web'), headers: { 'accept-encoding': 'gzip' } }, resolve).end(),
  );
  const pieces: Buffer[] = [];
  response.on('data', (piece: Buffer) => pieces.push(piece));
  await waitFor('the first piece', () => Buffer.concat(pieces).length > 10);
  waiting[0]?.();
  await waitFor('the end', () => response.complete);
  t.is(gunzipSync(Buffer.concat(pieces)).toString(), 'firstsecond');
});

test('a client that does not read stops the member', async (t) => {
  let sent = 0;
  const piece = Buffer.from(LARGE.slice(0, 60_000));
  const { port } = await httpBackend(t, (_, response) => {
    response.setHeader('content-type', 'text/html');
    const more = (): void => {
      while (sent < 400_000_000) {
        sent += piece.length;
        if (!response.write(piece)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  });
  const srv = await startSrv(
    t,
    `events {} http { gzip on; server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_buffering off; proxy_pass http://127.0.0.1:${port}; } } }`,
  );
  const socket = connect(srv.port('web'), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.pause();
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n');
  // Without a stop it would send all of it, however long that takes on a busy machine.
  let before = -1;
  let rounds = 0;
  await waitFor(
    'the member to stop',
    async () => {
      rounds = sent > 0 && sent === before ? rounds + 1 : 0;
      before = sent;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return rounds === 5;
    },
    60_000,
  );
  t.true(sent < 400_000_000, `${sent} bytes were taken`);
});

test('wrong values are rejected', async (t) => {
  for (const [line, message] of [
    ['gzip maybe;', /invalid value "maybe"/],
    ['gzip_comp_level 10;', /gzip_comp_level/],
    ['gzip_http_version 2;', /invalid value "2"/],
    ['gzip_window 3k;', /gzip_window.*must be 1k/s],
    ['gzip_proxied sometimes;', /invalid value "sometimes"/],
    ['gzip_disable "(";', /invalid regular expression|regular expression/],
  ] as const) {
    const run = await check(t, `events {} http { ${line} }`);
    t.not(run.code, 0, line);
    t.regex(run.stderr, message, line);
  }
});
