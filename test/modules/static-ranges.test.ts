import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

const LARGE = '0123456789'.repeat(100_000);
const DATE = 'Sun, 09 Sep 2001 01:46:40 GMT';
const ETAG = '"3b9aca00-a"';

async function start(t: Scope): Promise<Srv> {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /none/ { alias html/; max_ranges 0; }
        location /one/ { alias html/; max_ranges 1; }
      }
    }`,
    { files: { 'html/ten.txt': '0123456789', 'html/large.txt': LARGE, 'html/empty.txt': '' } },
  );
  utimesSync(join(srv.prefix, 'html/ten.txt'), 1_000_000_000, 1_000_000_000);
  return srv;
}

const site = shared(start);

type Case = readonly [range: string, status: number, contentRange: string | undefined, body?: string, headers?: Record<string, string>];
const RANGES: readonly Case[] = [
  ['bytes=0-3', 206, 'bytes 0-3/10', '0123'],
  ['bytes=7-', 206, 'bytes 7-9/10', '789'],
  ['bytes=-2', 206, 'bytes 8-9/10', '89'],
  ['bytes=-20', 206, 'bytes 0-9/10', '0123456789'],
  ['bytes=8-100', 206, 'bytes 8-9/10', '89'],
  ['Bytes= 1 - 2 ', 206, 'bytes 1-2/10', '12'],
  ['bytes=20-30, 4-5', 206, 'bytes 4-5/10', '45'],
  ['bytes=10-', 416, 'bytes */10'],
  ['bytes=-0', 416, 'bytes */10'],
  ['bytes=5-x', 416, 'bytes */10'],
  ['bytes=-', 416, 'bytes */10'],
  ['lines=1-2', 200, undefined, '0123456789'],
  ['bytes=0-8,1-9', 200, undefined, '0123456789'],
  ['bytes=0-1', 206, 'bytes 0-1/10', '01', { 'If-Range': ETAG }],
  ['bytes=0-1', 200, undefined, '0123456789', { 'If-Range': '"other"' }],
  ['bytes=0-1', 206, 'bytes 0-1/10', '01', { 'If-Range': DATE }],
  ['bytes=0-1', 200, undefined, '0123456789', { 'If-Range': 'Sat, 08 Sep 2001 01:46:40 GMT' }],
  ['bytes=0-1', 304, undefined, '', { 'If-None-Match': ETAG }],
];
test('a range of a file', async (t) => {
  const srv = await site();
  for (const [range, status, contentRange, body, headers] of RANGES) {
    const response = await get(srv.port('web'), '/ten.txt', { headers: { ...headers, Range: range } });
    t.deepEqual([response.status, response.headers['content-range']], [status, contentRange], range);
    if (body !== undefined) t.is(response.body, body, range);
    t.is(response.headers['accept-ranges'], status === 200 ? 'bytes' : undefined, range);
    if (status === 416) t.is(response.headers.etag, undefined, range);
  }
});

test('a range of a large file, of an empty one, and with HEAD', async (t) => {
  const srv = await site();
  const large = await get(srv.port('web'), '/large.txt', { headers: { Range: 'bytes=100001-900000' } });
  t.is(large.status, 206);
  t.true(large.body === LARGE.slice(100_001, 900_001));
  const empty = await get(srv.port('web'), '/empty.txt', { headers: { Range: 'bytes=0-' } });
  t.is(empty.status, 200);
  const head = await get(srv.port('web'), '/large.txt', { method: 'HEAD', headers: { Range: 'bytes=1-5' } });
  t.deepEqual([head.status, head.headers['content-length']], [206, '5']);
});

test('several ranges are sent as parts', async (t) => {
  const srv = await site();
  const response = await get(srv.port('web'), '/ten.txt', { headers: { Range: 'bytes=0-1,-3' } });
  t.is(response.status, 206);
  const [, boundary = ''] = /^multipart\/byteranges; boundary=(\w+)$/.exec(response.headers['content-type'] ?? '') ?? [];
  const part = (range: string, body: string): string =>
    `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes ${range}/10\r\n\r\n${body}`;
  const expected = `${part('0-1', '01')}${part('7-9', '789')}\r\n--${boundary}--\r\n`;
  t.is(response.body, expected);
  t.is(response.headers['content-length'], String(expected.length));
});

test('many ranges, small and large, are all sent', async (t) => {
  const srv = await site();
  const ranges = [
    ...Array.from({ length: 300 }, (_, at) => [at * 2, at * 2] as const),
    [1000, 70_999],
    [80_000, 500_000],
    [999_999, 999_999],
  ] as const;
  const header = ranges.map(([first, last]) => `${first}-${last}`).join(',');
  const { status, headers, body } = await get(srv.port('web'), '/large.txt', { headers: { Range: `bytes=${header}` } });
  t.is(status, 206);
  t.is(headers['content-length'], String(body.length));
  const [, boundary = ''] = /boundary=(\w+)$/.exec(headers['content-type'] ?? '') ?? [];
  const expected = ranges.map(
    ([first, last]) =>
      `\r\n--${boundary}\r\nContent-Type: text/plain\r\nContent-Range: bytes ${first}-${last}/1000000\r\n\r\n${LARGE.slice(first, last + 1)}`,
  );
  t.true(body === `${expected.join('')}\r\n--${boundary}--\r\n`);
});

test('max_ranges limits them', async (t) => {
  const srv = await site();
  const none = await get(srv.port('web'), '/none/ten.txt', { headers: { Range: 'bytes=0-1' } });
  t.deepEqual([none.status, none.headers['accept-ranges']], [200, undefined]);
  t.is((await get(srv.port('web'), '/one/ten.txt', { headers: { Range: 'bytes=0-1,4-5' } })).status, 200);
  t.is((await get(srv.port('web'), '/one/ten.txt', { headers: { Range: 'bytes=4-5' } })).status, 206);
});
