import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { startSrv } from '../harness/srv.js';
import { data, END_STREAM, frame, get, post, PREFACE, request, settings, Type, windowUpdate } from './frames.js';
import { Wire } from './wire.js';

const HELLO = PREFACE + settings();
const unfinished = (stream: number): string => frame(Type.headers, END_STREAM, stream, request().slice(0, 9));

/** A client that says this, and no more. */
const SILENT: readonly (readonly [name: string, bytes: string, story: string])[] = [
  ['nothing', '', ''],
  ['a part of the preface', PREFACE.slice(0, 5), ''],
  ['most of the preface', PREFACE.slice(0, 20), 'GOAWAY PROTOCOL_ERROR'],
  ['SETTINGS', HELLO, 'GOAWAY NO_ERROR'],
  ['a part of a frame', HELLO + get(1).slice(0, 12), 'GOAWAY NO_ERROR'],
  ['one request', HELLO + get(1), '1: 200; 1: 2 bytes, end; GOAWAY NO_ERROR'],
  ['a malformed request', HELLO + frame(Type.headers, END_STREAM | 4, 1, ''), 'RST 1 PROTOCOL_ERROR; GOAWAY NO_ERROR'],
  ['a part of a head', HELLO + unfinished(1), 'GOAWAY PROTOCOL_ERROR'],
  ['a part of a head while another request is served', HELLO + get(1, '/wait') + unfinished(3), 'GOAWAY PROTOCOL_ERROR'],
];

test('a client that is silent has its time', async (t) => {
  const backend = await rawBackend(t, (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n' + 'x'.repeat(100_000)));
  const quiet = await rawBackend(t, () => undefined);
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; events {} http { access_log logs/access.log combined;
      client_header_timeout 1s; client_body_timeout 1s; send_timeout 1s; lingering_timeout 1s; keepalive_timeout 1s;
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; location / { return 200 ok; }
        location /wait { proxy_pass http://127.0.0.1:${quiet.port}; }
        location /part { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  const port = srv.port('web');
  const silent = SILENT.map(async ([name, bytes, story]) => t.is(await (await Wire.open(t, port, bytes)).end(), story, name));
  const dripping = async (): Promise<void> => {
    const wire = await Wire.open(t, port, HELLO + unfinished(1));
    const drip = setInterval(() => wire.send(frame(Type.continuation, 0, 1, '\0')), 100);
    t.is(await wire.end(), 'GOAWAY PROTOCOL_ERROR', 'a head that comes bit by bit');
    clearInterval(drip);
  };
  const body = async (): Promise<void> => {
    const wire = await Wire.open(t, port, HELLO + get(1, '/wait') + post(3, '/wait') + data(3, 'some'));
    t.regex(await wire.tells(/RST 3/), /^3: 408; 3: \d+ bytes, end; RST 3 NO_ERROR$/, 'a body that stops: only its stream ends');
    wire.send(get(5));
    await wire.tells(/5: 200/);
  };
  const window = async (): Promise<void> => {
    const wire = await Wire.open(t, port, PREFACE + settings([4, 0]) + get(1, '/part') + get(3, '/wait'));
    const open = setInterval(() => wire.send(windowUpdate(1, 1)), 200);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    t.notRegex(wire.story, /RST/, 'a client that takes a little is waited for');
    clearInterval(open);
    t.regex(await wire.tells(/RST/), /^1: 200; (1: 1 bytes; )+RST 1 CANCEL$/, 'a window that stays closed: only its stream ends');
  };
  await Promise.all([...silent, dripping(), body(), window()]);
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while waiting for the preface of HTTP\/2/);
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while reading client request headers/);
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while reading client request body/);
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while sending to client/);
});
