import type { ServerResponse } from 'node:http';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { END_STREAM, get, PREFACE, settings, Type, windowUpdate } from './frames.js';
import { Wire } from './wire.js';

const LARGE = 8_000_000;
const OPEN = PREFACE + settings([4, 0x7fff_ffff]) + windowUpdate(0, 0x7fff_ffff - 65_535);

/** What is sent at least when the first of three ends, in sizes of one. A member's data may come late. */
const TURNS = { file: 1.25, member: 1.1 } as const;

for (const source of ['file', 'member'] as const)
  test(`large responses of one connection take turns, and let a small one through: ${source}`, async (t) => {
    const asked: ServerResponse[] = [];
    const backend = await httpBackend(t, (_, response) => {
      asked.push(response);
      // Otherwise one may have sent everything before the others begin.
      if (asked.length === 3) for (const each of asked) each.end(Buffer.alloc(LARGE));
    });
    const srv = await startSrv(
      t,
      `events {} http { server { listen 127.0.0.1:%%PORT_web%%; http2 on; location /small { return 200 ok; }
        location /file { root files; } location /member { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
      { files: { 'files/file': 'x'.repeat(LARGE) } },
    );
    const wire = await Wire.open(t, srv.port('web'), OPEN + [1, 3, 5].map((stream) => get(stream, `/${source}`)).join(''));
    await waitFor('a part', () => wire.bytes(1) > 500_000);
    // Everything stands still while the client does not read.
    wire.socket.pause();
    wire.send(get(7, '/small'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    wire.socket.resume();
    await waitFor('the ends', () => [1, 3, 5].every((stream) => wire.bytes(stream) === LARGE));
    const small = wire.frames.findIndex(({ type, flags, stream }) => type === Type.data && stream === 7 && (flags & END_STREAM) !== 0);
    t.true(bytesBefore(small) < 2 * LARGE, `the small response came after ${bytesBefore(small)} bytes`);
    const firstEnd = wire.frames.findIndex(({ type, flags, stream }) => type === Type.data && stream !== 7 && (flags & END_STREAM) !== 0);
    t.true(
      bytesBefore(firstEnd) > TURNS[source] * LARGE,
      `the first large response ended after ${bytesBefore(firstEnd)} of ${3 * LARGE} bytes`,
    );

    function bytesBefore(index: number): number {
      return wire.frames.slice(0, index).reduce((sum, { type, payload }) => sum + (type === Type.data ? payload.length : 0), 0);
    }
  });
