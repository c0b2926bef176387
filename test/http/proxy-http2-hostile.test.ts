/** Members of HTTP/2 that break the protocol, or spend what is not theirs: the request gets 502, the connection ends, the server goes on. */
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import {
  addedField,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  field,
  frame,
  ping,
  reset,
  settings,
  Type,
  uint,
  windowUpdate,
} from '../http2/frames.js';

const ok = frame(Type.headers, END_HEADERS, 1, block([[':status', '200']]));
const headers = (fields: string, flags = END_HEADERS): string => frame(Type.headers, flags, 1, fields);

interface Hostile {
  readonly name: string;
  /** What the member sends when it has the request. */
  readonly sends: string;
  /** For the error log. */
  readonly log: RegExp;
  /** For its location. */
  readonly conf?: string;
  /** Its response begins, and is cut off. */
  readonly begins?: boolean;
}

const CASES: readonly Hostile[] = [
  { name: 'a push', sends: frame(Type.push, END_HEADERS, 1, uint(2, 4) + block([[':method', 'GET']])), log: /PUSH_PROMISE/ },
  { name: 'pings without end', sends: ping('12345678').repeat(3000), log: /flood/ },
  { name: 'settings without end', sends: settings().repeat(3000), log: /flood/ },
  { name: 'unknown frames without end', sends: frame(99, 0, 0).repeat(3000), log: /flood/ },
  { name: 'resets without end', sends: reset(1).repeat(3000), log: /rejected request with error 8|flood/ },
  { name: 'continuations without end', sends: headers('', 0) + frame(Type.continuation, 0, 1, '').repeat(3000), log: /flood/ },
  {
    name: 'a header block without end',
    sends: headers(field('a', 'b'.repeat(16_000)), 0) + frame(Type.continuation, 0, 1, field('a', 'b'.repeat(16_000))).repeat(20),
    log: /too large header block/,
  },
  {
    name: 'a head beyond proxy_buffer_size',
    sends: headers(
      block([
        [':status', '200'],
        ['a', 'b'.repeat(9000)],
      ]),
    ),
    log: /too big header/,
  },
  {
    name: 'a head that is long by references to the table',
    sends: headers(field(':status', '200') + addedField('a', 'b'.repeat(2000)) + '\xbe'.repeat(10_000)),
    log: /too big header/,
  },
  {
    name: 'a frame within a header block',
    sends: headers(block([[':status', '200']]), 0) + ping('12345678'),
    log: /within a header block/,
  },
  { name: 'a frame beyond the greatest size', sends: uint(20_000, 3) + '\0\0\0\0\0\x01', log: /frame of 20000 bytes/ },
  { name: 'a broken header block', sends: headers('\xff\xff\xff\xff\xff\xff'), log: /integer too large|index beyond/ },
  { name: 'no status', sends: headers(block([['a', 'b']])), log: /no :status/ },
  {
    name: 'two statuses',
    sends: headers(
      block([
        [':status', '200'],
        [':status', '201'],
      ]),
    ),
    log: /misplaced :status/,
  },
  {
    name: 'a line end in a value',
    sends: headers(
      block([
        [':status', '200'],
        ['a', 'b\r\nc: d'],
      ]),
    ),
    log: /invalid value of header "a"/,
  },
  {
    name: 'a field of a connection',
    sends: headers(
      block([
        [':status', '200'],
        ['connection', 'x'],
      ]),
    ),
    log: /connection-specific/,
  },
  {
    name: 'a name in capitals',
    sends: headers(
      block([
        [':status', '200'],
        ['Aa', 'x'],
      ]),
    ),
    log: /invalid header name/,
  },
  { name: 'a 101', sends: headers(block([[':status', '101']])), log: /invalid interim/ },
  {
    name: 'interim responses without end',
    sends: headers(block([[':status', '103']])).repeat(3000),
    log: /flood|too many interim responses/,
  },
  { name: 'data before a head', sends: data(1, 'x'), log: /DATA without a head/ },
  { name: 'a stream that nobody opened', sends: frame(Type.headers, END_HEADERS, 3, block([[':status', '200']])), log: /not open/ },
  {
    name: 'a window of the connection that overflows',
    sends: windowUpdate(0, 0x7fff_ffff).repeat(2),
    log: /window of the connection too large/,
  },
  { name: 'a window of the stream that overflows', sends: windowUpdate(1, 0x7fff_ffff).repeat(2), log: /window of a stream too large/ },
  { name: 'a window that opens by nothing', sends: windowUpdate(1, 0), log: /WINDOW_UPDATE of 0/ },
  { name: 'settings of a wrong length', sends: frame(Type.settings, 0, 0, 'x'), log: /odd length/ },
  {
    name: 'more data than the window',
    sends: ok + data(1, 'x'.repeat(16_384)).repeat(20),
    log: /more than the window/,
    begins: true,
    conf: 'proxy_limit_rate 1000;',
  },
  {
    name: 'more data than announced',
    sends:
      headers(
        block([
          [':status', '200'],
          ['content-length', '3'],
        ]),
      ) + data(1, 'four', END_STREAM),
    log: /more data than specified/,
    begins: true,
  },
  {
    name: 'less data than announced',
    sends:
      headers(
        block([
          [':status', '200'],
          ['content-length', '5'],
        ]),
      ) + data(1, 'four', END_STREAM),
    log: /less data than specified/,
    begins: true,
  },
  {
    name: 'trailers that do not end the stream',
    sends: ok + data(1, 'x') + headers(block([['a', 'b']])),
    log: /invalid trailer/,
    begins: true,
  },
  {
    name: 'a status in trailers',
    sends: ok + data(1, 'x') + headers(block([[':status', '200']]), END_HEADERS | END_STREAM),
    log: /invalid trailer/,
    begins: true,
  },
];

const site = shared(async (scope) => {
  const ports = await Promise.all(
    CASES.map(async ({ sends }) => {
      const backend = await rawBackend(scope, (socket) => {
        let input = '';
        let sent = false;
        socket.write(settings(), 'latin1');
        socket.on('data', (chunk: Buffer) => {
          input += chunk.toString('latin1');
          // The path of the request is in its head.
          if (sent || !input.includes('/case')) return;
          sent = true;
          socket.write(sends, 'latin1');
        });
      });
      return backend.port;
    }),
  );
  const locations = ports.map((port, at) => `location = /case/${at} { ${CASES[at]?.conf ?? ''} proxy_pass http://127.0.0.1:${port}; }`);
  const srv = await startSrv(
    scope,
    `events {} http { proxy_http_version 2; proxy_read_timeout 20s; proxy_buffer_size 8k;
      server { listen 127.0.0.1:%%PORT_web%%; ${locations.join('\n')} location = /after { return 200 well; } } }`,
  );
  return srv;
});

CASES.forEach(({ name, log, begins = false }, at) => {
  test(name, async (t) => {
    const srv = await site();
    const port = srv.port('web');
    const path = `/case/${at}`;
    if (begins) await t.throwsAsync(get(port, path));
    else t.is((await get(port, path)).status, 502);
    const [line = ''] = await srv.waitForLog(new RegExp(`.*GET ${path} HTTP.*`));
    t.regex(line, log);
    t.is((await get(port, '/after')).body, 'well');
  });
});
