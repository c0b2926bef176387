import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { startSrv } from '../harness/srv.js';
import { residentBytes } from '../../tools/bench/usage.js';
import { block, data, END_HEADERS, END_STREAM, frame, get, ping, post, request, reset, settings, Type, windowUpdate } from './frames.js';
import { Wire } from './wire.js';

const CALM = /GOAWAY ENHANCE_YOUR_CALM$/;
const ROUNDS = 3000;
const LARGE = 10_000_000;

/** `each` is given the number of a stream that has not been used. */
type Flood = readonly [name: string, first: string, each: (stream: number) => string, waitFor?: RegExp];

const unfinished = frame(Type.headers, END_STREAM, 1, request());

const FLOODS: readonly Flood[] = [
  ['rapid reset (CVE-2023-44487)', '', (stream) => get(stream, '/wait') + reset(stream)],
  ['resets by the server for a window of 0 (CVE-2025-8671)', '', (stream) => get(stream, '/wait') + windowUpdate(stream, 0)],
  ['resets by the server for too large a window', '', (stream) => get(stream, '/wait') + windowUpdate(stream, 0x7fff_ffff)],
  ['resets by the server for DATA behind the end', '', (stream) => get(stream, '/wait') + data(stream, 'x')],
  [
    'resets by the server for a priority',
    '',
    (stream) => get(stream, '/wait') + frame(Type.priority, 0, stream, String.fromCharCode(0, 0, stream >> 8, stream & 255, 0)),
  ],
  ['resets by the server for a body too long', '', (stream) => post(stream, '/wait', [['content-length', '1']]) + data(stream, 'two')],
  ['malformed requests', '', (stream) => frame(Type.headers, END_STREAM | END_HEADERS, stream, block([['x', 'y']]))],
  ['empty CONTINUATION', unfinished, () => frame(Type.continuation, 0, 1)],
  ['long CONTINUATION (CVE-2024-27316)', unfinished, () => frame(Type.continuation, 0, 1, block([['x', 'y'.repeat(10_000)]]))],
  ['SETTINGS', '', () => settings([4, 65_535])],
  ['PING', '', () => ping('12345678')],
  ['PRIORITY', '', (stream) => frame(Type.priority, 0, stream, '\0\0\0\0\x10')],
  ['empty DATA', post(1, '/wait'), () => data(1, '')],
  ['empty DATA with padding', post(1, '/wait'), () => data(1, '\x03\0\0\0', 8)],
  ['WINDOW_UPDATE by one of the connection', '', () => windowUpdate(0, 1)],
  ['WINDOW_UPDATE by one of a response', settings([4, 0]) + get(1, '/large'), () => windowUpdate(1, 1), /1: 200/],
  ['unknown frames', '', () => frame(0x42, 0, 0)],
  ['frames of a closed stream', get(1), () => windowUpdate(1, 5) + reset(1)],
  [
    'streams that are refused',
    Array.from({ length: 128 }, (_, at) => get(2 * at + 1, '/wait')).join(''),
    (stream) => get(stream + 256, '/wait'),
  ],
];

test('floods end the connection, and the others do not notice', async (t) => {
  const backend = await httpBackend(t, () => undefined);
  // Of its own: the queue of the other one may be full of connections.
  const large = await httpBackend(t, (_, response) => response.end(Buffer.alloc(LARGE)));
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; worker_processes 1; events { worker_connections 20000; } http { keepalive_requests 1000000;
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; location / { return 200 ok; } location /large { proxy_pass http://127.0.0.1:${large.port}; }
        location /wait { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  const port = srv.port('web');
  const flood = async ([name, first, each, begun]: Flood): Promise<void> => {
    const wire = await Wire.open(t, port);
    wire.send(first);
    if (begun !== undefined) await wire.tells(begun);
    for (let round = 0; round < ROUNDS && !wire.closed; round += 100) {
      wire.send(Array.from({ length: 100 }, (_, at) => each(2 * (round + at) + 1)).join(''));
      await new Promise((resolve) => setImmediate(resolve));
    }
    // A client that goes on sending may lose what it was sent last to a reset by TCP.
    const end = await wire.end();
    if (end !== '') t.regex(end, CALM, name);
  };
  const before = residentBytes(srv.pid);
  const bystander = await Wire.open(t, port);
  await Promise.all(FLOODS.map(flood));
  bystander.send(get(1));
  t.is(await bystander.settle(), '1: 200; 1: 2 bytes, end');
  t.is(
    srv.log().match(/client violated HTTP\/2: (http2 flood detected|too large header block), client: 127\.0\.0\.1/g)?.length,
    FLOODS.length,
  );
  t.true(residentBytes(srv.pid) - before < 100_000_000);
});
