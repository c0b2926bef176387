import test from 'ava';
import * as fc from 'fast-check';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get as getHttp1 } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { addedField, data, frame, get, post, PREFACE, reset, settings, Type, uint, windowUpdate } from './frames.js';
import { Wire } from './wire.js';

const RUNS = 160;

const path = fc.constantFrom('/', '/member', '/member/large', '/streamed', '/unread');
const anyBytes = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).latin1Slice());
const small = fc.integer({ min: 0, max: 20_000 });

/** Bytes of a frame, by the number of a stream: mostly one that is open, or could be. */
type Frames = (stream: number) => string;

const opening: fc.Arbitrary<Frames> = fc.tuple(path, fc.constantFrom('get', 'post', 'five')).map(([to, kind]) => (stream: number) => {
  if (kind === 'get') return get(stream, to);
  return post(stream, to, kind === 'five' ? [['content-length', '5']] : []);
});

/** Frames that mean something, now and then at the wrong moment. */
const going: fc.Arbitrary<Frames> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(small, fc.constantFrom(0, 1, 1, 8)).map(
      ([size, flags]) =>
        (stream: number) =>
          data(stream, '\x01'.repeat(Math.min(size, 16_384)), flags),
    ),
  },
  { weight: 3, arbitrary: small.map((by) => (stream: number) => data(stream, 'x'.repeat(by % 6), by % 2)) },
  { weight: 3, arbitrary: small.map((by) => (stream: number) => windowUpdate(stream, by + 1)) },
  { weight: 2, arbitrary: fc.constant((stream: number) => reset(stream)) },
  { weight: 2, arbitrary: small.map((size) => () => settings([4, size])) },
  { weight: 1, arbitrary: fc.constant((stream: number) => frame(Type.headers, 5, stream, addedField('x-trailer', 'yes'))) },
);
const broken: fc.Arbitrary<Frames> = fc.oneof(
  anyBytes.map((bytes) => (stream: number) => frame(Type.headers, 0, stream, bytes) + frame(Type.continuation, 4, stream, bytes)),
  fc.tuple(fc.nat(12), fc.nat(255), anyBytes).map(
    ([type, flags, bytes]) =>
      (stream: number) =>
        frame(type, flags, stream, bytes),
  ),
  fc.constantFrom(uint(3, 3), uint(16_384, 3) + uint(Type.data, 1)).map((bytes) => () => bytes),
);
const step = fc.oneof(
  fc.record({ kind: fc.constant('opens'), frames: opening, back: fc.nat(3) }),
  fc.record({ kind: fc.constant('goes on'), frames: going, back: fc.nat(3) }),
);

test('frames in any order break nothing and leave nothing behind', async (t) => {
  let open = 0;
  const backend = await httpBackend(t, (incoming, response) => {
    open++;
    response.on('close', () => open--);
    if (incoming.url === '/member/large') response.end(Buffer.alloc(300_000));
    else
      void bodyOf(incoming).then(
        () => response.end('ok'),
        () => undefined,
      );
  });
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; worker_processes 1; events {} http {
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; http2_chunk_size 1000;
        location / { return 200 ok; } location /member { proxy_pass http://127.0.0.1:${backend.port}; }
        location /streamed { proxy_pass http://127.0.0.1:${backend.port}; proxy_http_version 1.1; proxy_request_buffering off; }
        location /unread { auth_request /member; proxy_pass http://127.0.0.1:${backend.port}; } }
      server { listen 127.0.0.1:%%PORT_status%%; location / { stub_status; } } }`,
  );
  const property = fc.asyncProperty(
    opening,
    fc.array(step, { maxLength: 25 }),
    broken,
    fc.array(fc.nat(), { maxLength: 3 }),
    async (first, steps, last, cuts) => {
      let opened = 0;
      const frames = [{ kind: 'opens', frames: first, back: 0 }, ...steps].map(({ kind, frames: make, back }) =>
        make(kind === 'opens' ? 2 * opened++ + 1 : 2 * Math.max(opened - back, 1) - 1),
      );
      const bytes = PREFACE + settings() + frames.join('');
      const at = cuts.map((cut) => cut % bytes.length).sort((a, b) => a - b);
      const wire = await Wire.open(t, srv.port('web'), bytes.slice(0, at[0]));
      for (const [index, from] of at.entries()) {
        await new Promise((resolve) => setImmediate(resolve));
        wire.send(bytes.slice(from, at[index + 1]));
      }
      // Some go away in the middle of it.
      if (cuts.length !== 1) await wire.settle();
      wire.send(last(2 * opened + 1));
      wire.socket.destroy();
    },
  );
  const rounds = Array.from({ length: 4 }, () => fc.assert(property, { numRuns: RUNS / 4 }));
  await Promise.all(rounds);
  t.true(backend.requests.length > RUNS / 4, `${backend.requests.length} requests reached the member`);
  t.is((await getHttp1(srv.port('web'), '/')).body, 'ok');
  const status = async (): Promise<string> => (await getHttp1(srv.port('status'), '/')).body;
  await waitFor('every request to be over', async () => open === 0 && /Active connections: 1 .*Writing: 1 /s.test(await status()));
  t.notRegex(srv.log(), /\[(alert|crit|error)\].*(Error|exited|uncaught)/);
});
