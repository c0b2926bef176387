import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { residentBytes } from '../../tools/bench/usage.js';
import { addedField, block, data, END_HEADERS, END_STREAM, frame, get, GET, post, PREFACE, request, settings, Type } from './frames.js';
import { Wire } from './wire.js';

const LARGE = 10_000_000;
const STREAMS = 100;

test('what a client does not take, or sends in crumbs, holds little memory', async (t) => {
  const large = Buffer.alloc(LARGE);
  const backend = await httpBackend(t, (incoming, response) => {
    if (incoming.url === '/large') response.end(large);
  });
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; worker_processes 1; events { worker_connections 4096; } http { keepalive_requests 1000000; client_max_body_size 0;
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; location / { return 200 ok; }
        location /head { add_header X-Long ${'l'.repeat(1000)}; return 204; }
        location /large { proxy_pass http://127.0.0.1:${backend.port}; }
        location /unread { auth_request /large; proxy_pass http://127.0.0.1:${backend.port}; }
        location /file { root html; }
        location /direct { proxy_pass http://127.0.0.1:${backend.port}/large; proxy_buffering off; }
        location /wait { proxy_pass http://127.0.0.1:${backend.port}; client_body_buffer_size 1m; } } }`,
    { files: { 'html/file': 'f'.repeat(1_000_000) } },
  );
  const port = srv.port('web');
  const streams = Array.from({ length: STREAMS }, (_, at) => 2 * at + 1);
  // Everything is compiled and buffers are there.
  await (await Wire.open(t, port, PREFACE + settings() + get(1, '/large'))).tells(/bytes/);
  const before = residentBytes(srv.pid);
  const grown = (): number => residentBytes(srv.pid) - before;

  const crumbs = await Wire.open(t, port);
  const bytes = streams.map((stream) => data(stream, 'x')).join('');
  crumbs.send(streams.map((stream) => post(stream, '/wait')).join(''));
  for (let sent = 0; sent < 5000; sent += 100) crumbs.send(bytes.repeat(100));
  t.is(await crumbs.settle(), '');
  t.true(grown() < 80_000_000, `bodies in pieces of one byte: ${grown()} bytes for ${STREAMS * 5000}`);
  crumbs.socket.destroy();

  // Streams whose windows are closed: nothing is read for them of a file, and little of what a member sends.
  for (const [path, connections, most] of [
    ['/file', 20, 60_000_000],
    ['/direct', 6, 100_000_000],
  ] as const) {
    const start = grown();
    const first = PREFACE + settings([4, 0]) + streams.map((stream) => get(stream, path)).join('');
    const wires = await Promise.all(Array.from({ length: connections }, () => Wire.open(t, port, first)));
    await waitFor('all heads', () => wires.every((wire) => wire.count(Type.headers) === STREAMS));
    t.true(grown() - start < most, `${connections * STREAMS} streams of ${path}: ${grown() - start} bytes`);
    for (const wire of wires) wire.socket.destroy();
  }

  const stalled = await Wire.open(t, port, PREFACE + settings([4, 0]) + streams.map((stream) => get(stream, '/large')).join(''));
  await waitFor('all heads', () => stalled.count(Type.headers) === STREAMS);
  // A fifth of it, with what of the memory is not collected yet on a busy machine.
  t.true(grown() < 200_000_000, `closed windows: ${grown()} bytes for ${STREAMS * LARGE}`);
  stalled.socket.destroy();

  const bomb = await Wire.open(t, port);
  for (const stream of streams.slice(0, 30)) {
    const first = stream === 1 ? block(GET) + addedField('x-a', 'y'.repeat(4000)) : request();
    bomb.send(frame(Type.headers, END_STREAM, stream, first) + frame(Type.continuation, 0, stream, '\xbe'.repeat(16_000)).repeat(5));
    bomb.send(frame(Type.continuation, END_HEADERS, stream));
  }
  t.regex(await bomb.settle(), /^1: 400; 1: \d+ bytes, end; 3: 400;/);
  t.true(grown() < 250_000_000, `fields that are references: ${grown()} bytes for ${30 * 4000 * 80_000}`);

  const deaf = await Wire.open(t, port);
  deaf.socket.pause();
  for (let stream = 1; stream < 60_000 && !deaf.socket.writableNeedDrain; stream += 2) deaf.send(get(stream, '/head'));
  await srv.waitForLog(/client violated HTTP\/2: client reads nothing/);
  t.true(grown() < 250_000_000, `responses without a reader: ${grown()} bytes`);
});
