import { readdirSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, rawBackend, type HttpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { smallDisk } from '../harness/full-disk.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternDigest, patternStream } from './byte-streams.js';
import { residentBytes } from './resident-bytes.js';

/** More than all sockets on the way hold. */
const LENGTH = 30_000_000;

interface Streaming extends HttpBackend {
  /** Paths whose response has left the member. */
  readonly sent: string[];
}

/** Responds to `/path?Field=value` with these fields and {@link LENGTH} bytes, or `length=` of them. */
async function streaming(t: ExecutionContext): Promise<Streaming> {
  const sent: string[] = [];
  const respond = (url: string, response: ServerResponse): void => {
    const { searchParams, pathname } = new URL(url, 'http://a');
    const length = Number(searchParams.get('length') ?? LENGTH);
    for (const [name, value] of searchParams) if (name !== 'length') response.setHeader(name, value);
    response.once('finish', () => sent.push(pathname));
    pipeline(patternStream(length), response).catch(() => undefined);
  };
  const backend = await httpBackend(t, ({ url = '' }, response) => respond(url, response));
  return Object.assign(backend, { sent });
}

function proxying(t: ExecutionContext, port: number, settings = '', allowCrashes = false): Promise<Srv> {
  return startSrv(
    t,
    `worker_processes 1;
    error_log logs/error.log info;
    events {}
    http {
      upstream member { server 127.0.0.1:${port}; keepalive 8; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        http2 on;
        ${settings}
        location / { proxy_pass http://member; }
        location /off { proxy_pass http://member; proxy_buffering off; }
        location /ignored { proxy_pass http://member; proxy_ignore_headers X-Accel-Buffering; }
        location /memory { proxy_pass http://member; proxy_max_temp_file_size 0; }
        location /short { proxy_pass http://member; proxy_max_temp_file_size 1m; }
        location /gzip { proxy_pass http://member; gzip on; gzip_types *; gzip_comp_level 1; }
        location /levels { proxy_pass http://member; proxy_temp_path responses 1 2; proxy_temp_file_write_size 8k; proxy_busy_buffers_size 8k; }
        location /head { proxy_pass http://member; proxy_buffer_size 1k; }
        location /slowly { proxy_pass http://member; proxy_limit_rate 400k; }
      }
    }`,
    { allowCrashes },
  );
}

/** Asks for a path and reads nothing of the response. */
async function ask(t: ExecutionContext, port: number, path: string, headers = {}): Promise<IncomingMessage> {
  const call = httpRequest({ host: '127.0.0.1', port, path, headers, agent: false });
  t.teardown(() => call.destroy());
  call.end();
  return new Promise((resolve, reject) => call.once('response', resolve).once('error', reject));
}

async function digestOf(response: NodeJS.ReadableStream): Promise<string> {
  const sink = new HashingSink();
  await pipeline(response, sink);
  return sink.digest();
}

/** Temporary files that the server has open. */
function openFiles(srv: Srv, folder = 'proxy_temp'): { readonly size: number }[] {
  const descriptors = `/proc/${srv.pid}/fd`;
  return readdirSync(descriptors).flatMap((fd) => {
    try {
      const target = readlinkSync(`${descriptors}/${fd}`);
      return target.startsWith(`${srv.path(folder)}/`) ? [{ size: statSync(`${descriptors}/${fd}`).size }] : [];
    } catch {
      return [];
    }
  });
}

const noneIsOpen = (srv: Srv): Promise<true> => waitFor('the end of the temporary files', () => openFiles(srv).length === 0);

test('a client that reads nothing does not hold its member', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const port = srv.port('web');
  const responses = [await ask(t, port, '/a'), await ask(t, port, '/b?length=25000000')];
  await waitFor('the members', () => backend.sent.length === 2);
  const before = residentBytes(srv.pid);
  for (let at = 0; at < 4; at++) responses.push(await ask(t, port, '/more'));
  await waitFor('the members', () => backend.sent.length === 6);
  t.is(openFiles(srv).length, 6);
  t.deepEqual(readdirSync(srv.path('proxy_temp')), [], 'they have no names');
  t.regex(
    srv.log(),
    /\[warn\] .* an upstream response is buffered to a temporary file \/.*\/proxy_temp\/000000000\d while reading upstream, client: /,
  );
  const grown = residentBytes(srv.pid) - before;
  t.true(grown < 20_000_000, `the server grew by ${grown} bytes for ${4 * LENGTH}`);
  await waitFor('a connection that is free for another request', async () => {
    const { connections } = backend;
    await get(port, '/c?length=10');
    return backend.connections === connections;
  });
  const digests = await Promise.all(responses.map(digestOf));
  t.deepEqual(new Set(digests), new Set([patternDigest(LENGTH), patternDigest(25_000_000)]));
  await noneIsOpen(srv);
});

test('proxy_buffering off, X-Accel-Buffering, proxy_max_temp_file_size: which members wait', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const free = ['/a', '/off/b?X-Accel-Buffering=yes', '/ignored/c?X-Accel-Buffering=no'];
  const waiting = ['/off/d', '/e?X-Accel-Buffering=NO', '/memory/f', '/short/g'];
  const responses = await Promise.all([...waiting, ...free].map((path) => ask(t, srv.port('web'), path)));
  for (const { headers } of responses) t.is(headers['x-accel-buffering'], undefined);
  await waitFor('the members that are free', () => backend.sent.length === free.length);
  t.deepEqual(backend.sent.toSorted(), free.map((path) => path.replace(/\?.*/, '')).toSorted());
  const [limited, ...others] = openFiles(srv).toSorted((a, b) => a.size - b.size);
  t.true(limited !== undefined && limited.size <= 1_048_576, 'the length of a file is limited');
  t.true(others.length === 3 && others.every(({ size }) => size > 1_048_576));
  t.deepEqual(new Set(await Promise.all(responses.map(digestOf))), new Set([patternDigest(LENGTH)]));
  await noneIsOpen(srv);
});

test('a fast client gets everything without a file', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  for (const length of [1000, 100_000, 10_000_000]) {
    t.is(await digestOf(await ask(t, srv.port('web'), `/?length=${length}`)), patternDigest(length));
  }
  t.notRegex(srv.log(), /temporary file/);
});

test('HTTP/2, compression, and clients of different speed', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const port = srv.port('web');
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  t.teardown(() => session.destroy());
  const streams = ['/a?length=3000000', '/b?length=2000000'].map((path) => session.request({ ':path': path }));
  const compressed = await ask(t, port, '/gzip?Content-Type=text/css', { 'accept-encoding': 'gzip' });
  t.is(compressed.headers['content-encoding'], 'gzip');
  await waitFor('the members', () => backend.sent.length === 3);
  t.deepEqual(await Promise.all(streams.map(digestOf)), [patternDigest(3_000_000), patternDigest(2_000_000)]);
  t.is(await digestOf(compressed.pipe(createGunzip())), patternDigest(LENGTH));
  const paces = await Promise.all(
    [1, 2, 5].map(async (pause, at) => {
      const response = await ask(t, port, `/pace?length=${4_000_000 + at}`);
      const sink = new HashingSink(pause);
      await pipeline(response, sink);
      return sink.digest();
    }),
  );
  t.deepEqual(
    paces,
    [0, 1, 2].map((at) => patternDigest(4_000_000 + at)),
  );
  await noneIsOpen(srv);
});

test('a client that leaves, and a member that breaks off', async (t) => {
  const backend = await streaming(t);
  const breaking = await rawBackend(t, (socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
      patternStream(LENGTH).pipe(socket);
    }),
  );
  const srv = await proxying(t, backend.port, `location /broken { proxy_pass http://127.0.0.1:${breaking.port}; }`);
  const leaving = await ask(t, srv.port('web'), '/leaving');
  await waitFor('the file', () => openFiles(srv).length === 1);
  leaving.destroy();
  await noneIsOpen(srv);
  const gone = await ask(t, srv.port('web'), '/gone');
  await waitFor('the member', () => backend.sent.includes('/gone'));
  gone.destroy();
  await noneIsOpen(srv);
  const broken = await ask(t, srv.port('web'), '/broken');
  await srv.waitForLog(/upstream prematurely closed connection while reading upstream/);
  let length = 0;
  await t.throwsAsync(async () => {
    for await (const piece of broken) length += (piece as Buffer).length;
  });
  t.true(length > LENGTH - 1_000_000, 'what was buffered arrives, and that it is not everything is seen');
  await noneIsOpen(srv);
});

test('proxy_temp_path: folders and levels; sizes of reads and writes', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const response = await ask(t, srv.port('web'), '/levels');
  await waitFor('the member', () => backend.sent.includes('/levels'));
  await srv.waitForLog(/temporary file \/.*\/responses\/1\/00\/0000000001 while/);
  t.is(await digestOf(response), patternDigest(LENGTH));
  rmSync(srv.path('responses'), { recursive: true });
  const failing = await ask(t, srv.port('web'), '/levels');
  await srv.waitForLog(/\[crit\] .* mkdir\(\) "\/.*\/responses\/2" failed \(2: No such file or directory\) while reading upstream, client/);
  await t.throwsAsync(digestOf(failing));
});

test('a disk that is full', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return void t.pass('no file system of its own');
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port, `proxy_temp_path ${disk.folder};`);
  const response = await ask(t, srv.port('web'), '/');
  await srv.waitForLog(/\[crit\] .* pwrite\(\) ".*" failed \(28: No space left on device\) while reading upstream/);
  await t.throwsAsync(digestOf(response));
  t.is((await get(srv.port('web'), '/?length=5')).status, 200);
});

test('nothing is left when the server is killed', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port, '', true);
  await ask(t, srv.port('web'), '/a');
  await waitFor('the file', () => openFiles(srv).length === 1);
  await srv.stop('SIGKILL');
  t.deepEqual(readdirSync(srv.path('proxy_temp')), []);
});

test('proxy_buffer_size is the longest head', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const long = `length=1&X-Long=${'x'.repeat(1000)}`;
  t.is((await get(srv.port('web'), `/head?${long}`)).status, 502);
  await srv.waitForLog(/\[error\] .*upstream sent too big header while reading response header from upstream, client/);
  t.is((await get(srv.port('web'), `/?${long}`)).status, 200);
  t.is((await get(srv.port('web'), `/?length=1&X-Long=${'x'.repeat(5000)}`)).status, 502);
});

test('proxy_limit_rate', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port);
  const start = Date.now();
  t.is(await digestOf(await ask(t, srv.port('web'), '/slowly?length=900000')), patternDigest(900_000));
  t.true(Date.now() - start > 1000, 'the first second’s worth comes at once, the rest as fast as the rate allows');
});
