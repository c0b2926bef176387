import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { type HttpResponse, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

const LARGE = '0123456789'.repeat(100_000);
const TAG = '"v1"';

/** A member that knows nothing of ranges. */
async function start(t: Scope): Promise<Srv> {
  const backend = await httpBackend(t, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    const body = pathname.endsWith('/large') ? LARGE : '0123456789';
    const length = pathname.endsWith('/chunked') ? {} : { 'Content-Length': body.length };
    const status = pathname.endsWith('/missing') ? 404 : 200;
    response.writeHead(status, { 'Content-Type': 'text/html', ETag: TAG, 'Accept-Ranges': 'none', ...length });
    response.end(body);
  });
  return startSrv(
    t,
    `events {}
    http {
      proxy_force_ranges on;
      add_header X-Always yes always;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        http2 on;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /as-it-is/ { proxy_force_ranges off; proxy_pass http://127.0.0.1:${backend.port}; }
        location /gzip/ { gzip on; proxy_pass http://127.0.0.1:${backend.port}; }
        location /varies/ { gzip on; gzip_types *; gzip_min_length 1; gzip_vary on; proxy_pass http://127.0.0.1:${backend.port}; }
        location /page/ { error_page 416 = /sorry; proxy_pass http://127.0.0.1:${backend.port}; }
        location = /sorry { return 200 sorry; }
        location /none/ { max_ranges 0; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
}

const site = shared(start);

type Case = readonly [
  what: string,
  path: string,
  headers: Record<string, string>,
  status: number,
  body: string,
  fields?: Record<string, string>,
];

const range = (bytes: string): Record<string, string> => ({ Range: `bytes=${bytes}` });

const CASES: readonly Case[] = [
  ['no range', '/', {}, 200, '0123456789', { 'accept-ranges': 'bytes' }],
  ['a range', '/', range('2-4'), 206, '234', { 'content-range': 'bytes 2-4/10', 'content-length': '3' }],
  ['the end', '/', range('-3'), 206, '789', { 'content-range': 'bytes 7-9/10' }],
  ['the tag of the response', '/', { ...range('0-0'), 'If-Range': TAG }, 206, '0'],
  ['another tag', '/', { ...range('0-0'), 'If-Range': '"v2"' }, 200, '0123456789'],
  ['a range of a large body', '/large', range('500001-500005'), 206, '12345', { 'content-range': 'bytes 500001-500005/1000000' }],
  ['the end of a large body', '/large', range('-1'), 206, '9'],
  ['two ranges of a large body, the later one first', '/large', range('500000-500001,0-1'), 200, LARGE],
  ['a body of unknown length', '/chunked', range('0-0'), 200, '0123456789'],
  ['an error', '/missing', range('0-0'), 404, '0123456789'],
  ['no range of a body that others get compressed', '/varies/', range('10-'), 416, '', { vary: 'Accept-Encoding' }],
  ['no range of the body', '/', range('10-'), 416, '', { 'content-range': 'bytes */10', 'x-always': 'yes' }],
  ['no range of the body, with an error page', '/page/', range('10-'), 200, 'sorry'],
  ['without proxy_force_ranges', '/as-it-is/', range('0-0'), 200, '0123456789', { 'accept-ranges': 'none' }],
  ['max_ranges 0', '/none/', range('0-0'), 200, '0123456789'],
];

test('a client gets ranges of what a member sends', async (t) => {
  const srv = await site();
  for (const [what, path, headers, status, body, fields = {}] of CASES) {
    const response = await get(srv.port('web'), path, { headers });
    t.is(response.status, status, what);
    if (status !== 416) t.true(response.body === body, what);
    for (const [name, value] of Object.entries(fields)) t.is(response.headers[name], value, `${what}: ${name}`);
    t.is(response.rawHeaders.filter((name) => name === 'X-Always').length, 1, what);
    if (status === 416) t.deepEqual([response.headers.etag, response.headers['accept-ranges']], [undefined, undefined], what);
  }
});

test('several ranges of a member are parts of one body, as they come', async (t) => {
  const srv = await site();
  for (const path of ['/', '/large']) {
    const response = await get(srv.port('web'), path, { headers: range('0-1,5-6,-2') });
    const size = path === '/' ? 10 : LARGE.length;
    t.deepEqual(parts(t, response), [
      [`bytes 0-1/${size}`, '01'],
      ['bytes 5-6/' + size, '56'],
      [`bytes ${size - 2}-${size - 1}/${size}`, '89'],
    ]);
  }
});

test('what is compressed has no ranges', async (t) => {
  const srv = await site();
  const response = await get(srv.port('web'), '/gzip/large', { headers: { ...range('0-1'), 'Accept-Encoding': 'gzip' } });
  t.deepEqual([response.status, response.headers['content-encoding'], response.headers['accept-ranges']], [200, 'gzip', undefined]);
});

/** The parts of a multipart body: their Content-Range and their bytes. */
function parts(t: ExecutionContext, { status, headers, body }: HttpResponse): [string, string][] {
  t.is(status, 206);
  t.is(headers['content-length'], String(body.length));
  const [, boundary = ''] = /^multipart\/byteranges; boundary=(\w+)$/.exec(headers['content-type'] ?? '') ?? [];
  const [before, ...rest] = body.split(`\r\n--${boundary}`);
  t.is(before, '');
  t.is(rest.pop(), '--\r\n');
  return rest.map((part) => {
    const [, found = '', bytes = ''] = /^\r\nContent-Type: text\/html\r\nContent-Range: (.*)\r\n\r\n(.*)$/s.exec(part) ?? [];
    return [found, bytes];
  });
}
