import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { startSrv } from '../harness/srv.js';
import {
  ACK,
  addedField,
  block,
  data,
  END_HEADERS,
  END_STREAM,
  field,
  frame,
  GET,
  get,
  integer,
  PADDED,
  ping,
  post,
  PREFACE,
  PRIORITY,
  request,
  reset,
  settings,
  Type,
  uint,
  windowUpdate,
} from './frames.js';
import { Wire } from './wire.js';

/** What a client sends after its SETTINGS, or from its preface on, and what comes of it. */
type Case = readonly [name: string, bytes: string, story: string | RegExp];

const whole = END_STREAM | END_HEADERS;
const OK = '1: 200; 1: 2 bytes, end';
const headers = (payload: string, flags = whole, stream = 1): string => frame(Type.headers, flags, stream, payload);
const malformed = 'RST 1 PROTOCOL_ERROR';
const broken = 'GOAWAY PROTOCOL_ERROR';
const badSize = 'GOAWAY FRAME_SIZE_ERROR';
const badHpack = 'GOAWAY COMPRESSION_ERROR';

/** `/` responds at once, `/wait` never, `/unread` never looks at the body. */
const SECTIONS: Readonly<Record<string, readonly Case[]>> = {
  'RFC 9113, 3.4 preface': [
    ['a wrong one', `${PREFACE.slice(0, 20)}XX\r\n${settings()}`, broken],
    ['a frame before SETTINGS', PREFACE + ping('12345678'), broken],
    ['an acknowledgement is no SETTINGS', PREFACE + frame(Type.settings, ACK, 0) + get(1), broken],
    ['SETTINGS, and a request with it', PREFACE + settings() + get(1), OK],
  ],
  'RFC 9113, 4.1 frame format': [
    ['an unknown type is ignored', frame(0x42, 0xff, 0, 'whatever') + get(1), OK],
    ['unknown flags are ignored', ping('12345678', 0xfe), 'PING 12345678 ack'],
    ['the reserved bit is ignored', uint(8, 3) + uint(Type.ping, 1) + '\0' + uint(0x8000_0000, 4) + '12345678', 'PING 12345678 ack'],
  ],
  'RFC 9113, 4.2 frame size': [
    ['DATA of 16,384 bytes', post(1, '/wait') + data(1, 'x'.repeat(16_384)), ''],
    ['DATA of 16,385 bytes', post(1, '/wait') + data(1, 'x'.repeat(16_385)), badSize],
    ['HEADERS of 16,385 bytes', headers('x'.repeat(16_385)), badSize],
    ['SETTINGS of 16,386 bytes', settings(...Array.from({ length: 2731 }, () => [9, 1] as const)), badSize],
  ],
  'RFC 9113, 4.3 header compression': [
    ['a block that cannot be decoded', headers('\xff\xff\xff\xff\xff\xff'), badHpack],
    ['another frame within a block', headers(request(), END_STREAM) + frame(Type.priority, 0, 1, '\0\0\0\0\0'), broken],
    ['HEADERS of another stream within a block', headers(request(), END_STREAM) + get(3), broken],
    ['an unknown frame within a block', headers(request(), END_STREAM) + frame(0x42, 0, 0), broken],
  ],
  'RFC 9113, 5.1 stream states': [
    ['idle: DATA', data(1, 'x'), broken],
    ['idle: RST_STREAM', reset(1), broken],
    ['idle: WINDOW_UPDATE', windowUpdate(1, 1), broken],
    ['idle: CONTINUATION', frame(Type.continuation, END_HEADERS, 1, request()), broken],
    ['half closed: DATA', get(1, '/wait') + data(1, 'x'), 'RST 1 STREAM_CLOSED'],
    ['half closed: HEADERS', get(1, '/wait') + get(1, '/wait'), 'RST 1 STREAM_CLOSED'],
    ['half closed: CONTINUATION', get(1, '/wait') + frame(Type.continuation, END_HEADERS, 1, request()), broken],
    ['half closed: WINDOW_UPDATE and PRIORITY', get(1, '/wait') + windowUpdate(1, 1) + frame(Type.priority, 0, 1, '\0\0\0\0\0'), ''],
    ['closed by the client: DATA', post(1, '/wait') + reset(1) + data(1, 'x'), 'RST 1 STREAM_CLOSED'],
    ['closed by the client: HEADERS', post(1, '/wait') + reset(1) + post(1), 'GOAWAY STREAM_CLOSED'],
    ['closed: DATA', get(1) + data(1, 'x'), `${OK}; RST 1 STREAM_CLOSED`],
    ['closed: HEADERS', get(1) + get(1), `${OK}; GOAWAY STREAM_CLOSED`],
    [
      'closed: WINDOW_UPDATE, RST_STREAM and PRIORITY',
      get(1) + windowUpdate(1, 1) + reset(1) + frame(Type.priority, 0, 1, '\0\0\0\0\0'),
      OK,
    ],
    [
      'responded to before its end: what was on its way is ignored',
      post(1) + data(1, 'x') + windowUpdate(1, 5) + headers(block([['x-a', 'b']])) + get(3),
      '1: 200; 1: 2 bytes, end; 3: 200; 3: 2 bytes, end',
    ],
  ],
  'RFC 9113, 5.1.1 stream identifiers': [
    ['an even number', get(2), broken],
    ['a number that was skipped', get(5) + get(3), '5: 200; 5: 2 bytes, end; GOAWAY PROTOCOL_ERROR'],
    ['numbers with gaps', get(5) + get(2_147_483_647), '5: 200; 5: 2 bytes, end; 2147483647: 200; 2147483647: 2 bytes, end'],
  ],
  'RFC 9113, 5.1.2 concurrency': [
    ['a stream beyond the limit', get(1, '/wait') + get(3, '/wait') + get(5, '/wait') + get(7), 'RST 7 REFUSED_STREAM'],
    ['room for another one', get(1, '/wait') + get(3, '/wait') + get(5, '/wait') + reset(3) + get(7), '7: 200; 7: 2 bytes, end'],
  ],
  'RFC 9113, 5.3 priorities': [
    ['HEADERS with a priority', headers(`\0\0\0\x03\x10${request()}`, whole | PRIORITY), OK],
    [
      'HEADERS that depend on themselves',
      headers(`\0\0\0\x01\x10${request()}`, whole | PRIORITY) + get(3),
      `${malformed}; 3: 200; 3: 2 bytes, end`,
    ],
    ['HEADERS too short for a priority', headers('\0\0', whole | PRIORITY), badSize],
    ['PRIORITY of an idle stream', frame(Type.priority, 0, 9, '\0\0\0\0\x10') + get(1), OK],
    ['PRIORITY that depends on itself', get(1, '/wait') + frame(Type.priority, 0, 1, '\0\0\0\x01\x10'), malformed],
    ['PRIORITY on stream 0', frame(Type.priority, 0, 0, '\0\0\0\0\0'), broken],
    ['PRIORITY of four bytes', frame(Type.priority, 0, 1, '\0\0\0\0'), badSize],
  ],
  'RFC 9113, 6.1 DATA': [
    ['on stream 0', data(0, 'x'), broken],
    ['padding', post(1, '/wait') + data(1, '\x03xy\0\0\0', PADDED | END_STREAM), ''],
    ['padding as long as the frame', post(1, '/wait') + data(1, '\x03xy', PADDED), broken],
    ['padding without a length', post(1, '/wait') + data(1, '', PADDED), badSize],
  ],
  'RFC 9113, 6.2 HEADERS': [
    ['on stream 0', headers(request(), whole, 0), broken],
    ['padding', headers(`\x02${request()}\0\0`, whole | PADDED), OK],
    ['padding as long as the frame', headers(`\xff${request()}`, whole | PADDED), broken],
    ['in two frames', headers(request().slice(0, 9), END_STREAM) + frame(Type.continuation, END_HEADERS, 1, request().slice(9)), OK],
    ['an empty block', headers(''), malformed],
  ],
  'RFC 9113, 6.4 RST_STREAM': [
    ['on stream 0', reset(0), broken],
    ['of three bytes', get(1, '/wait') + frame(Type.reset, 0, 1, '\0\0\0'), badSize],
    ['twice', get(1, '/wait') + reset(1) + reset(1) + get(3), '3: 200; 3: 2 bytes, end'],
  ],
  'RFC 9113, 6.5 SETTINGS': [
    ['on a stream', frame(Type.settings, 0, 1), broken],
    ['of five bytes', frame(Type.settings, 0, 0, '12345'), badSize],
    ['an acknowledgement with a payload', frame(Type.settings, ACK, 0, '123456'), badSize],
    ['an unknown setting', settings([0x42, 1]) + get(1), OK],
    ['ENABLE_PUSH 2', settings([2, 2]), broken],
    ['INITIAL_WINDOW_SIZE beyond the greatest', settings([4, 0x8000_0000]), 'GOAWAY FLOW_CONTROL_ERROR'],
    ['MAX_FRAME_SIZE too small', settings([5, 16_383]), broken],
    ['MAX_FRAME_SIZE too large', settings([5, 16_777_216]), broken],
    ['MAX_FRAME_SIZE as large as can be', settings([5, 16_777_215]) + get(1), OK],
    ['the last of two values counts', settings([4, 0], [4, 1]) + get(1), '1: 200; 1: 1 bytes'],
  ],
  'RFC 9113, 6.6 PUSH_PROMISE': [['from a client', get(1, '/wait') + frame(Type.push, END_HEADERS, 1, `\0\0\0\x02${request()}`), broken]],
  'RFC 9113, 6.7 PING': [
    ['is acknowledged', ping('whatever'), 'PING whatever ack'],
    ['an acknowledgement is not', ping('whatever', ACK), ''],
    ['on a stream', frame(Type.ping, 0, 1, '12345678'), broken],
    ['of seven bytes', ping('1234567'), badSize],
  ],
  'RFC 9113, 6.8 GOAWAY': [
    ['on a stream', frame(Type.goaway, 0, 1, '\0\0\0\0\0\0\0\0'), broken],
    ['of seven bytes', frame(Type.goaway, 0, 0, '\0\0\0\0\0\0\0'), badSize],
    ['with a text; requests go on', frame(Type.goaway, 0, 0, '\0\0\0\0\0\0\0\0bye') + get(1), OK],
  ],
  'RFC 9113, 6.9 WINDOW_UPDATE': [
    ['by 0, of the connection', windowUpdate(0, 0), broken],
    ['by 0, of a stream', get(1, '/wait') + windowUpdate(1, 0), malformed],
    ['of three bytes', frame(Type.window, 0, 0, '\0\0\0'), badSize],
    ['beyond the greatest, of the connection', windowUpdate(0, 0x7fff_ffff), 'GOAWAY FLOW_CONTROL_ERROR'],
    ['to the greatest, of the connection', windowUpdate(0, 0x7fff_ffff - 65_535) + get(1), OK],
    ['beyond the greatest, of a stream', get(1, '/wait') + windowUpdate(1, 0x7fff_ffff), 'RST 1 FLOW_CONTROL_ERROR'],
    [
      'beyond the greatest, by a setting',
      get(1, '/wait') + windowUpdate(1, 65_535) + settings([4, 0x7fff_ffff]),
      'GOAWAY FLOW_CONTROL_ERROR',
    ],
    ['a window of one byte is used', settings([4, 1]) + get(1), '1: 200; 1: 1 bytes'],
    [
      'a window that is opened is used',
      settings([4, 0]) + get(1) + windowUpdate(1, 1) + windowUpdate(1, 9),
      '1: 200; 1: 1 bytes; 1: 1 bytes, end',
    ],
    ['a window that a setting opens is used', settings([4, 0]) + get(1) + settings([4, 9]), '1: 200; 1: 2 bytes, end'],
    [
      'a negative window',
      settings([4, 1]) + get(1) + settings([4, 0]) + windowUpdate(1, 1) + windowUpdate(1, 1),
      '1: 200; 1: 1 bytes; 1: 1 bytes, end',
    ],
    ['more than the window for a body', post(1, '/unread') + data(1, 'x'.repeat(16_384)).repeat(5), 'GOAWAY FLOW_CONTROL_ERROR'],
  ],
  'RFC 9113, 6.10 CONTINUATION': [
    [
      'three times',
      headers('', END_STREAM) +
        [...GET.entries()].map(([at, pair]) => frame(Type.continuation, at === 3 ? END_HEADERS : 0, 1, block([pair]))).join(''),
      OK,
    ],
    ['on stream 0', headers(request(), END_STREAM) + frame(Type.continuation, END_HEADERS, 0), broken],
    ['of another stream', headers(request(), END_STREAM) + frame(Type.continuation, END_HEADERS, 3), broken],
    ['behind the end of a block', post(1, '/wait') + frame(Type.continuation, END_HEADERS, 1), broken],
    ['DATA instead of it', headers(request(), END_STREAM) + data(1, 'x'), broken],
  ],
  'RFC 9113, 8.1 messages': [
    ['trailers', post(1, '/wait') + data(1, 'x') + headers(block([['x-a', 'b']])), ''],
    ['trailers that do not end the stream', post(1, '/wait') + headers(block([['x-a', 'b']]), END_HEADERS), malformed],
    ['trailers with a pseudo-header field', post(1, '/wait') + headers(block([[':method', 'GET']])), malformed],
    ['trailers in upper case', post(1, '/wait') + headers(block([['X-A', 'b']])), malformed],
    ['a body that is shorter than it says', post(1, '/wait', [['content-length', '5']]) + data(1, 'four', END_STREAM), malformed],
    ['a body that is longer than it says', post(1, '/wait', [['content-length', '3']]) + data(1, 'four', END_STREAM), malformed],
    ['several pieces that are longer', post(1, '/wait', [['content-length', '3']]) + data(1, 'tw') + data(1, 'o!', END_STREAM), malformed],
    ['a length, and no body', headers(request({}, [['content-length', '3']])), malformed],
    ['a length of 0, and no body', headers(request({}, [['content-length', '0']])), OK],
    ['no body where trailers end it', post(1, '/wait', [['content-length', '3']]) + headers(block([['x-a', 'b']])), malformed],
  ],
  'RFC 9113, 8.2 fields': [
    ['upper case', headers(request({}, [['X-A', 'b']])), malformed],
    ['an empty name', headers(request({}, [['', 'b']])), malformed],
    ['a blank in a name', headers(request({}, [['x a', 'b']])), malformed],
    ['a colon in a name', headers(request({}, [['x:a', 'b']])), malformed],
    ['a line feed in a value', headers(request({}, [['x-a', 'b\nc']])), malformed],
    ['a carriage return in a value', headers(request({}, [['x-a', 'b\rc']])), malformed],
    ['NUL in a value', headers(request({}, [['x-a', 'b\0c']])), malformed],
    ['a blank before a value', headers(request({}, [['x-a', ' b']])), malformed],
    ['a tab behind a value', headers(request({}, [['x-a', 'b\t']])), malformed],
    ['bytes beyond ASCII in a value', headers(request({}, [['x-a', '\xe9']])), OK],
    ['connection', headers(request({}, [['connection', 'close']])), malformed],
    ['keep-alive', headers(request({}, [['keep-alive', 'timeout=5']])), malformed],
    ['proxy-connection', headers(request({}, [['proxy-connection', 'keep-alive']])), malformed],
    ['transfer-encoding', headers(request({}, [['transfer-encoding', 'chunked']])), malformed],
    ['upgrade', headers(request({}, [['upgrade', 'websocket']])), malformed],
    ['te with another value', headers(request({}, [['te', 'gzip']])), malformed],
    ['te: trailers', headers(request({}, [['te', 'trailers']])), OK],
    [
      'a length twice',
      headers(
        request({}, [
          ['content-length', '0'],
          ['content-length', '0'],
        ]),
      ),
      /^1: 400; /,
    ],
  ],
  'RFC 9113, 8.3 pseudo-header fields': [
    ['an unknown one', headers(request({}, [[':test', 'x']])), malformed],
    ['that of a response', headers(request({}, [[':status', '200']])), malformed],
    ['after other fields', headers(block([['x-a', 'b']]) + request()), malformed],
    ['in upper case', headers(block([[':METHOD', 'GET']]) + request({ ':method': undefined })), malformed],
    ['no :method', headers(request({ ':method': undefined })), malformed],
    ['no :scheme', headers(request({ ':scheme': undefined })), malformed],
    ['no :path', headers(request({ ':path': undefined })), malformed],
    ['an empty :path', headers(request({ ':path': '' })), malformed],
    ['a :path without a slash', headers(request({ ':path': 'index' })), malformed],
    ['a blank in :path', headers(request({ ':path': '/a b' })), malformed],
    ['a line break in :path', headers(request({ ':path': '/ HTTP/1.1\r\nx: y' })), malformed],
    ['* without OPTIONS', headers(request({ ':path': '*' })), malformed],
    ['another :scheme', headers(request({ ':scheme': 'ftp' })), malformed],
    ['a blank in :method', headers(request({ ':method': 'GET /a' })), malformed],
    ['a line break in :authority', headers(request({ ':authority': 'a\r\nx: y' })), malformed],
    [':method twice', headers(block([[':method', 'GET']]) + request()), malformed],
    [':scheme twice', headers(block([[':scheme', 'http']]) + request()), malformed],
    [':path twice', headers(block([[':path', '/']]) + request()), malformed],
    [':authority twice', headers(block([[':authority', 'b']]) + request()), malformed],
    ['a host that differs from :authority', headers(request({}, [['host', 'other.test']])), malformed],
    ['the same host as :authority', headers(request({}, [['host', 'A.test']])), OK],
    ['host instead of :authority', headers(request({ ':authority': undefined }, [['host', 'a.test']])), OK],
  ],
  'RFC 9113, 8.5 CONNECT': [
    [
      'a host and no more',
      headers(
        block([
          [':method', 'CONNECT'],
          [':authority', 'a.test:443'],
        ]),
      ),
      /^1: 405; /,
    ],
    ['without an authority', headers(block([[':method', 'CONNECT']])), malformed],
    ['with a path', headers(request({ ':method': 'CONNECT', ':scheme': undefined })), malformed],
    ['with a scheme', headers(request({ ':method': 'CONNECT', ':path': undefined })), malformed],
  ],
  'RFC 7541, 2.3 tables': [
    ['fields of the static table', headers('\x82\x84\x86\x01\x01a'), OK],
    [
      'a field of the dynamic table',
      headers(request() + addedField('x-a', 'b')) + headers('\x82\x84\x86\x01\x01a\xbe', whole, 3),
      `${OK}; 3: 200; 3: 2 bytes, end`,
    ],
    ['number 0', headers(`${request()}\x80`), badHpack],
    ['a number beyond both tables', headers(`${request()}\xbe`), badHpack],
    ['the name of number beyond both tables', headers(`${request()}\x7f\x00\x01a`), badHpack],
    [
      'a field that was evicted',
      headers(request() + addedField('x-a', 'b') + addedField('x-b', 'y'.repeat(4060))) + headers('\x82\x84\x86\xbf', whole, 3),
      /GOAWAY COMPRESSION_ERROR$/,
    ],
    [
      'a field longer than the table empties it',
      headers(request() + addedField('x-a', 'b') + addedField('x-b', 'y'.repeat(5000))) + headers('\x82\x84\x86\xbe', whole, 3),
      /GOAWAY COMPRESSION_ERROR$/,
    ],
  ],
  'RFC 7541, 4.2 table size': [
    ['updates at the beginning', headers(`\x20\x3f\xe1\x1f${request()}`), OK],
    ['an update within a block', headers(`${request()}\x20`), badHpack],
    ['an update beyond the setting', headers(`\x3f\xe2\x1f${request()}`), badHpack],
    ['a table of size 0 holds nothing', headers(`\x20${request()}${addedField('x-a', 'b')}\xbe`), badHpack],
  ],
  'RFC 7541, 5.1 integers': [
    ['that end too early', headers(`${request()}\xff`), badHpack],
    ['without an end', headers(`${request()}\xff${'\x80'.repeat(20)}\x01`), badHpack],
    ['too large', headers(`${request()}\xff\xff\xff\xff\xff\x7f`), badHpack],
    ['of more bytes than they need', headers(`${request()}\0\x03x-a\x7f\x82\x80\x80\0${'b'.repeat(129)}`), OK],
  ],
  'RFC 7541, 5.2 strings': [
    ['Huffman code', headers(`${request()}\0\x03x-a\x83\x1f\xc7\xff`.replace('\x83\x1f\xc7\xff', '\x81\x1f')), OK],
    ['longer than the block', headers(`${request()}\0\x03x-a\x05b`), badHpack],
    ['a name without a value', headers(`${request()}\0\x03x-a`), badHpack],
    ['padding of a whole byte', headers(`${request()}\0\x03x-a\x82\x1f\xff`), badHpack],
    ['padding with zeros', headers(`${request()}\0\x03x-a\x81\x18`), badHpack],
    ['the code for the end', headers(`${request()}\0\x03x-a\x84\xff\xff\xff\xff`), badHpack],
    ['a literal that is never to be indexed', headers(`${request()}\x10${field('x-a', 'b').slice(1)}`), OK],
    ['a length of many bytes', headers(request() + '\0' + integer(3, 7) + 'x-a' + integer(300, 7) + 'b'.repeat(300)), OK],
  ],
};

test('requests, frames and header blocks as the RFCs have them', async (t) => {
  const backend = await rawBackend(t, () => undefined);
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; events {} http {
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; http2_max_concurrent_streams 3; client_max_body_size 0;
        location / { return 200 ok; }
        location /wait { proxy_pass http://127.0.0.1:${backend.port}; }
        location /unread { auth_request /wait; proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  const wrong: string[] = [];
  const look = async (section: string, [name, bytes, expected]: Case): Promise<void> => {
    const wire = await Wire.open(t, srv.port('web'), bytes.startsWith(PREFACE.slice(0, 14)) ? bytes : PREFACE + settings() + bytes);
    const story = await wire.settle();
    wire.socket.destroy();
    const isRight = typeof expected === 'string' ? story === expected : expected.test(story);
    if (!isRight) wrong.push(`${section}: ${name}: ${story} instead of ${String(expected)}`);
  };
  await Promise.all(Object.entries(SECTIONS).flatMap(([section, cases]) => cases.map((one) => look(section, one))));
  t.deepEqual(wrong, []);
  t.notRegex(srv.log(), /\[(crit|alert|error)\]/);
});
