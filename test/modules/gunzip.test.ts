import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const TEXT = Array.from({ length: 20_000 }, (_, line) => `line ${line}\n`).join('');
/** 400 MB of zeros in 400 KB. */
const BOMB = Buffer.concat(Array<Buffer>(25).fill(gzipSync(Buffer.alloc(16_777_216))));

async function start(t: ExecutionContext): Promise<Srv> {
  const bodies: Readonly<Record<string, Buffer>> = {
    '/': gzipSync(TEXT),
    '/two': Buffer.concat([gzipSync('first '), gzipSync('second')]),
    '/small': gzipSync('small'),
    '/trailing': Buffer.concat([gzipSync('small'), Buffer.from([0, 0, 1])]),
    '/zeros': gzipSync(Buffer.alloc(200_000)),
    '/bomb': BOMB,
    '/empty': Buffer.alloc(0),
    '/broken': Buffer.from('this is no gzip'),
    '/small-cut': gzipSync('small').subarray(0, 20),
    '/cut': gzipSync(TEXT).subarray(0, 500),
  };
  const { port } = await httpBackend(t, (request, response) => {
    const body = bodies[request.url ?? ''];
    response.setHeader('content-type', 'text/html').setHeader('etag', '"x"').setHeader('accept-ranges', 'bytes');
    if (request.url === '/plain') return void response.end('plain');
    if (request.url === '/br') return void response.setHeader('content-encoding', 'br').end('brotli');
    if (request.url === '/part') return void response.writeHead(206, { 'content-encoding': 'gzip' }).end('part');
    response
      .setHeader('content-encoding', 'gzip')
      .setHeader('content-length', body?.length ?? 0)
      .end(body);
  });
  return startSrv(
    t,
    `error_log logs/error.log info; worker_processes 1; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; gunzip on; gunzip_buffers 32 4k; gzip_vary on;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /off/ { gunzip off; proxy_pass http://127.0.0.1:${port}/; }
        location /both/ { gzip on; proxy_pass http://127.0.0.1:${port}/; }
    } }`,
  );
}

test('a client without gzip gets it decompressed, another one as it is', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  const { body, headers } = await get(port, '/');
  t.is(body, TEXT);
  t.is(headers['content-encoding'], undefined);
  t.is(headers['content-length'], undefined);
  t.is(headers['accept-ranges'], undefined);
  t.is(headers.etag, 'W/"x"');
  t.is(headers.vary, 'Accept-Encoding');
  t.is((await get(port, '/two')).body, 'first second');
  for (let i = 0; i < 3; i++) t.is((await get(port, '/small')).body, 'small');
  t.is((await get(port, '/trailing')).body, 'small');
  t.is((await get(port, '/zeros')).body, '\0'.repeat(200_000));
  t.is((await get(port, '/both/')).body, TEXT);
  t.is((await get(port, '/both/')).headers.vary, 'Accept-Encoding', 'once');
  const asIs = await get(port, '/', { headers: { 'accept-encoding': 'gzip' } });
  t.is(asIs.headers['content-encoding'], 'gzip');
  t.is(asIs.headers.etag, '"x"');
  t.is(asIs.headers.vary, 'Accept-Encoding');
  const raw = await exchange(t, port, 'GET / HTTP/1.0\r\nHost: a\r\nAccept-Encoding: gzip;q=0\r\n\r\n');
  t.true(raw.endsWith(TEXT));
});

test('what is not decompressed', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  t.is((await get(port, '/plain')).headers.etag, '"x"');
  t.is((await get(port, '/plain')).headers.vary, undefined);
  t.is((await get(port, '/br')).headers['content-encoding'], 'br');
  t.is((await get(port, '/part')).headers['content-encoding'], 'gzip');
  t.is((await get(port, '/empty')).body, '');
  const off = await exchange(t, port, 'GET /off/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex(off, /Content-Encoding: gzip/i);
  t.is(gunzipSync(Buffer.from(off.slice(off.indexOf('\r\n\r\n') + 4), 'latin1')).toString(), TEXT);
  const head = await get(port, '/', { method: 'HEAD' });
  t.is(head.headers['content-encoding'], undefined, 'HEAD is as GET');
});

test('what is no gzip is an error, and what is cut off is not complete', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  t.is((await get(port, '/broken')).status, 500);
  await srv.waitForLog(/\[error\] \S+ \*\d+ inflate\(\) failed: incorrect header check.* upstream: /);
  const cut = await exchange(t, port, 'GET /cut HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.notRegex(cut, /\r\n0\r\n\r\n$/);
  await srv.waitForLog(/unexpected end of file/);
  t.notRegex(await exchange(t, port, 'GET /small-cut HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'), /\r\n0\r\n\r\n$/);
  t.is((await get(port, '/two')).body, 'first second');
});

test('no more is decompressed than a client reads', async (t) => {
  const srv = await start(t);
  const memory = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${srv.pid}/status`, 'utf8'))?.[1]) / 1024;
  await get(srv.port('web'), '/');
  const before = memory();
  const socket = connect(srv.port('web'), '127.0.0.1');
  t.teardown(() => socket.destroy());
  socket.write('GET /bomb HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let received = 0;
  socket.on('data', (piece: Buffer) => (received += piece.length));
  await waitFor('the first bytes', () => received > 0);
  socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 1500));
  t.true(memory() - before < 80, `${memory() - before} MB more`);
  t.true(received < 100_000_000);
  socket.resume();
  await waitFor('the whole body', () => received > 25 * 16_777_216, 60_000);
});
