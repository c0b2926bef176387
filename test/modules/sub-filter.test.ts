/** `sub_filter` (ngx_http_sub_module): each body is the one of nginx, in whatever pieces it comes. */
import { gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';

const PAGE = 'abcd xABC ab abcab q é É aab aabc <b>';

/** Directives, and what becomes of the page. */
const CASES: readonly (readonly [string, string])[] = [
  ['sub_filter ab [1]; sub_filter abc [2]; sub_filter_once off;', '[1]cd x[1]C [1] [1]c[1] q é É a[1] a[1]c <b>'],
  ['sub_filter abc [2]; sub_filter ab [1]; sub_filter_once off;', '[2]d x[2] [1] [2][1] q é É a[1] a[2] <b>'],
  ['sub_filter abc [2]; sub_filter ab [1];', '[2]d x[1]C ab abcab q é É aab aabc <b>'],
  ['sub_filter bcd [2]; sub_filter ab [1]; sub_filter_once off;', '[1]cd x[1]C [1] [1]c[1] q é É a[1] a[1]c <b>'],
  ['sub_filter ab x; sub_filter AB y;', 'xcd xyC ab abcab q é É aab aabc <b>'],
  ['sub_filter É [E]; sub_filter <B> <i>;', 'abcd xABC ab abcab q é [E] aab aabc <i>'],
  ['sub_filter $arg_x "<$arg_x>"; sub_filter q [q]; sub_filter_once off;', '<ab>cd x<ab>C <ab> <ab>c<ab> [q] é É a<ab> a<ab>c <b>'],
  ['sub_filter $arg_none x; sub_filter d ""; sub_filter_once off;', 'abc xABC ab abcab q é É aab aabc <b>'],
  ['sub_filter a.c x; sub_filter ".*" y; sub_filter "<b>" "(?:";', 'abcd xABC ab abcab q é É aab aabc (?:'],
];

const files = (t: ExecutionContext): string => tempFolder(t, { 't.html': PAGE, 't.txt': 'abc', 'empty.html': '', 'inner/t.html': 'abc' });

function conf(root: string, port: number, backend: number): string {
  const locations = CASES.map(([directives], at) => `location /${at}/ { alias ${root}/; ${directives} }`);
  return `
  server {
    listen 127.0.0.1:${port};
    root ${root};
    default_type text/html;
    sub_filter abc [outer];
    location / { }
    ${locations.join('\n')}
    location /typed/ { alias ${root}/; types { text/html html; text/plain txt; } sub_filter_types text/plain; sub_filter_last_modified on; }
    location /html-only/ { alias ${root}/; types { text/html html; text/plain txt; } }
    location /pieces { proxy_pass http://127.0.0.1:${backend}; sub_filter aba [1]; sub_filter ABAB [2]; sub_filter bb [3]; sub_filter_once off; }
    location /once { proxy_pass http://127.0.0.1:${backend}; sub_filter aba [1]; sub_filter ABAB [2]; sub_filter bb [3]; }
  }`;
}

/** A body of few letters, so that patterns begin and end everywhere. */
function bodyOf(seed: number): string {
  let state = seed + 1;
  return Array.from({ length: 200 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return 'abAB.'.charAt((state >>> 16) % 5);
  }).join('');
}

/** What nginx makes of such a body, found in the whole of it. */
function replaced(body: string, isOnce: boolean): string {
  const patterns = new Map([
    ['aba', '[1]'],
    ['abab', '[2]'],
    ['bb', '[3]'],
  ]);
  let result = '';
  for (let at = 0; at < body.length;) {
    const found = [...patterns].find(([pattern]) => body.slice(at, at + pattern.length).toLowerCase() === pattern);
    result += found?.[1] ?? body.charAt(at);
    at += found?.[0].length ?? 1;
    if (found !== undefined && isOnce) patterns.delete(found[0]);
  }
  return result;
}

/** Sends the body that the path asks for in pieces of its length. */
async function pieces(t: ExecutionContext): Promise<number> {
  const backend = await httpBackend(t, (request, response) => {
    const [, seed = 0, size = 1] = (/(\d+)-(\d+)/.exec(request.url ?? '') ?? []).map(Number);
    response.writeHead(200, { 'content-type': 'text/html' });
    const body = bodyOf(seed);
    const send = (from: number): void => {
      if (from >= body.length) return void response.end();
      response.write(body.slice(from, from + size), () => setImmediate(send, from + size));
    };
    send(0);
  });
  return backend.port;
}

async function assertSite(t: ExecutionContext, port: number): Promise<void> {
  for (const [at, [directives, body]] of CASES.entries()) t.is((await get(port, `/${at}/t.html?x=ab`)).body, body, directives);
  for (const [seed, size] of [
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 7],
    [5, 64],
    [6, 200],
    [7, 1],
    [8, 5],
  ] as const) {
    t.is((await get(port, `/pieces/${seed}-${size}`)).body, replaced(bodyOf(seed), false), `pieces of ${size}`);
    t.is((await get(port, `/once/${seed}-${size}`)).body, replaced(bodyOf(seed), true), `once, pieces of ${size}`);
  }
  const page = await get(port, '/inner/t.html', { headers: { range: 'bytes=0-1' } });
  t.is(page.body, '[outer]');
  t.is(page.status, 200);
  for (const field of ['content-length', 'last-modified', 'etag', 'accept-ranges']) t.is(page.headers[field], undefined, field);
  const kept = await get(port, '/typed/t.html');
  t.truthy(kept.headers['last-modified']);
  t.regex(kept.headers.etag ?? '', /^W\/"/);
  t.is((await get(port, '/typed/t.txt')).body, '[outer]');
  t.is((await get(port, '/html-only/t.txt')).body, 'abc');
  const empty = await get(port, '/empty.html');
  t.is(empty.headers['content-length'], '0');
  t.truthy(empty.headers['last-modified']);
  const head = await get(port, '/t.html', { method: 'HEAD' });
  t.is(head.headers['content-length'], undefined);
}

sameAsNginx('texts are replaced, in whatever pieces they come', async (t, port) => conf(files(t), port, await pieces(t)), assertSite);

test('a compressed response stays as it is, unless gunzip comes first; gzip comes after it', async (t) => {
  const compressed = gzipSync('abc');
  const backend = await httpBackend(t, ({ url }, response) => {
    if (url === '/untyped') return void response.end('abc');
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': 'gzip' });
    response.end(compressed);
  });
  const srv = await startSrv(
    t,
    `events {} http { sub_filter abc ${'x'.repeat(100)}; server { listen 127.0.0.1:%%PORT_web%%;
      location / { proxy_pass http://127.0.0.1:${backend.port}; }
      location /untyped { sub_filter_types *; proxy_pass http://127.0.0.1:${backend.port}; }
      location /plain { gunzip on; proxy_pass http://127.0.0.1:${backend.port}; }
      location /again { gzip on; gzip_min_length 0; default_type text/html; root html; } } }`,
    { files: { 'html/again': 'abc' } },
  );
  const port = srv.port('web');
  t.is((await get(port, '/', { headers: { 'accept-encoding': 'gzip' } })).headers['content-encoding'], 'gzip');
  t.is((await get(port, '/plain')).body, 'x'.repeat(100));
  t.is((await get(port, '/untyped')).body, 'x'.repeat(100), '* is also a response without a type');
  const again = await get(port, '/again', { headers: { 'accept-encoding': 'gzip' } });
  t.is(again.headers['content-encoding'], 'gzip');
});

test('what cannot be the beginning of a text goes on at once', async (t) => {
  const backend = await httpBackend(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.write('one, two: ab');
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { sub_filter abc x; proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  client.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.receive(/one, two: \r\n$/);
  t.pass();
});

test('an empty text is rejected', async (t) => {
  const { stderr } = await check(t, 'events {} http { sub_filter a b; sub_filter "" x; server { } }');
  t.regex(stderr, /\[emerg\] empty search pattern in \S+:1/);
});
