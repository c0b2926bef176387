import { readdirSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternDigest } from './byte-streams.js';
import { residentBytes } from './resident-bytes.js';
import { ask, digestOf, LENGTH, noneIsOpen, openFiles, site, streaming } from './slow-clients.js';

const started = shared((scope) => site(scope));

test.serial('a client that reads nothing does not hold its member', async (t) => {
  const { backend, srv } = await started();
  const port = srv.port('web');
  const responses = [await ask(t, port, '/first'), await ask(t, port, '/first?length=25000000')];
  const isSent = (responses: number) => () => backend.sent.filter((path) => path === '/first').length === responses;
  await waitFor('the members', isSent(2));
  const before = residentBytes(srv.pid);
  for (let at = 0; at < 3; at++) responses.push(await ask(t, port, '/first'));
  await waitFor('the members', isSent(5));
  t.is(openFiles(srv).length, 5);
  t.deepEqual(readdirSync(srv.path('proxy_temp')), [], 'they have no names');
  t.regex(
    srv.log(),
    /\[warn\] .* an upstream response is buffered to a temporary file \/.*\/proxy_temp\/000000000\d while reading upstream, client: /,
  );
  const grown = residentBytes(srv.pid) - before;
  t.true(grown < 40_000_000, `the server grew by ${grown} bytes for ${3 * LENGTH}`);
  await waitFor('a connection that is free for another request', async () => {
    const { connections } = backend;
    await get(port, '/c?length=10');
    return backend.connections === connections;
  });
  const digests = await Promise.all(responses.map(digestOf));
  t.deepEqual(new Set(digests), new Set([patternDigest(LENGTH), patternDigest(25_000_000)]));
  await noneIsOpen(srv);
});

test.serial('proxy_buffering off, X-Accel-Buffering, proxy_max_temp_file_size: which members wait', async (t) => {
  const { backend, srv } = await started();
  const port = srv.port('web');
  const free = ['/a', '/off/b?X-Accel-Buffering=yes', '/ignored/c?X-Accel-Buffering=no'];
  // Longer than all that the system may hold for two connections.
  const waiting = ['/off/d?', '/e?X-Accel-Buffering=NO&', '/memory/f?', '/short/g?'].map((path) => `${path}length=150000000`);
  const stalled = await Promise.all(waiting.map((path) => ask(t, port, path)));
  const responses = await Promise.all([...free, '/memory/h', '/short/i'].map((path) => ask(t, port, path)));
  for (const { headers } of [...stalled, ...responses]) t.is(headers['x-accel-buffering'], undefined);
  const isSent = (path: string): boolean => backend.sent.includes(path.replace(/\?.*/, ''));
  await waitFor('the members that are free', () => free.every(isSent));
  t.deepEqual(waiting.filter(isSent), []);
  await waitFor('the files that must not be longer', () => openFiles(srv).filter(({ size }) => size <= 1_048_576).length === 2);
  for (const response of stalled) response.destroy();
  t.deepEqual(new Set(await Promise.all(responses.map(digestOf))), new Set([patternDigest(LENGTH)]));
  await noneIsOpen(srv);
});

test.serial('a fast client gets everything without a file', async (t) => {
  const { srv } = await started();
  for (const length of [1000, 100_000, 10_000_000]) {
    t.is(await digestOf(await ask(t, srv.port('web'), `/fast?length=${length}`)), patternDigest(length));
  }
  t.notRegex(srv.log(), /temporary file.*GET \/fast/);
});

test.serial('HTTP/2, compression, and clients of different speed', async (t) => {
  const { backend, srv } = await started();
  const port = srv.port('web');
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  t.teardown(() => session.destroy());
  const streams = ['/h2a?length=3000000', '/h2b?length=2000000'].map((path) => session.request({ ':path': path }));
  const compressed = await ask(t, port, '/gzip?Content-Type=text/css', { 'accept-encoding': 'gzip' });
  t.is(compressed.headers['content-encoding'], 'gzip');
  await waitFor('the members', () => ['/h2a', '/h2b', '/gzip'].every((path) => backend.sent.includes(path)));
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

test.serial('proxy_buffer_size is the longest head', async (t) => {
  const { srv } = await started();
  const long = `length=1&X-Long=${'x'.repeat(1000)}`;
  t.is((await get(srv.port('web'), `/head?${long}`)).status, 502);
  await srv.waitForLog(/\[error\] .*upstream sent too big header while reading response header from upstream, client/);
  t.is((await get(srv.port('web'), `/?${long}`)).status, 200);
  t.is((await get(srv.port('web'), `/?length=1&X-Long=${'x'.repeat(5000)}`)).status, 502);
});

test.serial('proxy_limit_rate', async (t) => {
  const { srv } = await started();
  // The last one is shorter than a read may be.
  const cases = [
    ['400k', 900_000, 1000],
    ['20k', 60_000, 1500],
  ] as const;
  await Promise.all(
    cases.map(async ([rate, length, least]) => {
      const start = Date.now();
      t.is(await digestOf(await ask(t, srv.port('web'), `/slowly?rate=${rate}&length=${length}`)), patternDigest(length));
      t.true(Date.now() - start > least, 'the first second’s worth comes at once, the rest as fast as the rate allows');
    }),
  );
});

/** Counts what its filter sees of a body. */
const COUNTER = plugin('test_count_module', {
  manifest: "directives: { count: directive({ in: ['location'], inherit: 'none' }) }",
  body: `
  #seen = 0;
  variables = { seen: () => String(this.#seen) };
  compile(scope) {
    if (!scope.own('count')) return undefined;
    return { header: () => ({ write: (piece, out) => { this.#seen += piece.length; out.write(piece); }, end: (out) => out.end() }) };
  }
`,
});

test.serial('body filters see a body at the pace of its member, not of the client', async (t) => {
  const backend = await streaming(t);
  const srv = await startSrv(
    t,
    `load_module modules/test_count_module.so; worker_processes 1; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { count; proxy_pass http://127.0.0.1:${backend.port}; }
      location /seen { return 200 $seen; }
    } }`,
    { files: { 'modules/test_count_module.js': COUNTER } },
  );
  const response = await ask(t, srv.port('web'), '/');
  await waitFor('the filter', async () => (await get(srv.port('web'), '/seen')).body === String(LENGTH));
  t.is(await digestOf(response), patternDigest(LENGTH));
});
