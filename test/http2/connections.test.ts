import http2, { type ClientHttp2Session } from 'node:http2';
import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, get as getHttp1 } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { data, END_STREAM, frame, get, ping, post, PREFACE, request, settings, Type } from './frames.js';
import { Wire } from './wire.js';

function connect(t: ExecutionContext, url: string): ClientHttp2Session {
  const session = http2.connect(url, { rejectUnauthorized: false });
  t.teardown(() => session.destroy());
  return session;
}

interface Sent {
  readonly method?: string;
  readonly fields?: Readonly<Record<string, string>>;
  readonly pieces?: readonly Buffer[];
  readonly trailers?: Readonly<Record<string, string>>;
}

function ask(
  session: ClientHttp2Session,
  path: string,
  { method = 'GET', fields = {}, pieces = [], trailers }: Sent = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = session.request(
      { ':path': path, ':method': method, ...fields },
      { endStream: pieces.length === 0, waitForTrailers: trailers !== undefined },
    );
    const received: Buffer[] = [];
    stream.on('error', reject);
    stream.on('wantTrailers', () => stream.sendTrailers(trailers ?? {}));
    stream.on('data', (piece: Buffer) => received.push(piece));
    stream.on('end', () => resolve(Buffer.concat(received).toString('latin1')));
    for (const piece of pieces) stream.write(piece);
    if (pieces.length > 0) stream.end();
  });
}

const LARGE = Buffer.alloc(1_000_000, 'large ');
/** All that may be in a value, in an order that makes long and short Huffman codes meet. */
const CHARACTERS = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + ((at * 37) % 95)))
  .join('')
  .trim();

for (const scheme of ['http', 'https'])
  test(`requests and responses of all forms over ${scheme}`, async (t) => {
    const { key, cert } = selfSigned('a.test');
    const backend = await httpBackend(t, (incoming, response) => {
      if (incoming.method === 'POST')
        void bodyOf(incoming).then((body) =>
          response.end(`${incoming.headers['transfer-encoding'] ?? incoming.headers['content-length']} ${body}`),
        );
      else if (incoming.url === '/chunks') {
        response.write('one ');
        response.end('two ');
      } else if (incoming.url === '/large') response.end(LARGE);
      else response.writeHead(incoming.url === '/304' ? 304 : 204).end();
    });
    const srv = await startSrv(
      t,
      `events {} http { ssl_certificate a.pem; ssl_certificate_key a.key; client_max_body_size 0;
        server { listen 127.0.0.1:%%PORT_http%%; listen 127.0.0.1:%%PORT_https%% ssl; http2 on;
          location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_http_version 1.1; }
          location /echo { return 200 $http_x_echo; }
          location /streamed { proxy_pass http://127.0.0.1:${backend.port}; proxy_http_version 1.1; proxy_request_buffering off; } } }`,
      { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
    );
    const session = connect(t, `${scheme}://127.0.0.1:${srv.port(scheme)}`);
    t.is(await ask(session, '/chunks'), 'one two ');
    t.is(await ask(session, '/204'), '');
    t.is(await ask(session, '/304'), '');
    t.is(await ask(session, '/large', { method: 'HEAD' }), '');
    const larges = await Promise.all(Array.from({ length: 4 }, () => ask(session, '/large')));
    t.true(larges.every((body) => body === LARGE.latin1Slice()));
    t.is(await ask(session, '/echo', { method: 'POST', pieces: [LARGE, LARGE], fields: { 'x-echo': 'early' } }), 'early');
    t.is(await ask(session, '/', { method: 'POST', pieces: [LARGE, LARGE] }), `2000000 ${LARGE.latin1Slice().repeat(2)}`);
    t.is(await ask(session, '/streamed', { method: 'POST', pieces: [LARGE, LARGE] }), `chunked ${LARGE.latin1Slice().repeat(2)}`);
    t.is(await ask(session, '/', { method: 'POST', pieces: [Buffer.from('with ')], trailers: { 'x-checksum': '1' } }), '5 with ');
    for (let from = 0; from < CHARACTERS.length; from += 7) {
      const value = CHARACTERS.slice(from).trim();
      t.is(await ask(session, '/echo', { fields: { 'x-echo': value } }), value);
    }
  });

const length = (bytes: number): [string, string][] => [['content-length', String(bytes)]];

test('what a request may be: of a server with HTTP/2, and as long as its content-length', async (t) => {
  const bodies: string[] = [];
  const backend = await httpBackend(t, (incoming, response) => {
    // The others are cut off.
    bodyOf(incoming).then(
      (body) => response.end(String(bodies.push(body))),
      () => undefined,
    );
  });
  const srv = await startSrv(
    t,
    `error_log logs/error.log info; events {} http {
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; return 200 ok; }
      server { listen 127.0.0.1:%%PORT_web%%; server_name off.test; return 200 off; }
      server { listen 127.0.0.1:%%PORT_all%% http2; location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /streamed { proxy_request_buffering off; proxy_pass http://127.0.0.1:${backend.port}; } }
      server { listen 127.0.0.1:%%PORT_all%%; server_name off.test; return 200 off; } }`,
  );
  const asks = async (name: string, authority: string): Promise<string> =>
    (await Wire.open(t, srv.port(name), PREFACE + settings() + frame(Type.headers, 5, 1, request({ ':authority': authority })))).tells(
      /end/,
    );
  t.regex(await asks('web', 'off.test'), /^1: 421;/);
  t.is(await asks('all', 'off.test'), '1: 200; 1: 3 bytes, end', 'the address speaks it');
  await srv.waitForLog(/client attempted to request the server name for which the negotiated protocol is disabled/);

  for (const path of ['/', '/streamed']) {
    const bodied = await Wire.open(t, srv.port('all'));
    bodied.send(post(1, path, length(4)) + data(1, 'four'));
    t.is(await bodied.settle(), '', 'it has not ended yet');
    bodied.send(data(1, 'more', END_STREAM) + post(3, path, length(2)) + data(3, 'all', END_STREAM));
    bodied.send(post(5, path, length(4)) + data(5, 'fo') + data(5, 'ur'));
    await bodied.settle();
    bodied.send(data(5, '', END_STREAM));
    t.regex(await bodied.tells(/5: 1 bytes, end/), /^RST 1 PROTOCOL_ERROR; RST 3 PROTOCOL_ERROR; 5: 200;/);
  }
  t.deepEqual(bodies, ['four', 'four']);
});

test('keepalive_requests: the connection says that it ends, and serves what comes until the client knows', async (t) => {
  const srv = await startSrv(
    t,
    'events {} http { keepalive_requests 3; server { listen 127.0.0.1:%%PORT_web%%; http2 on; return 200 ok; } }',
  );
  const wire = await Wire.open(t, srv.port('web'), PREFACE + settings() + get(1) + get(3) + get(5) + get(7));
  const served = [1, 3, 5, 7].map((stream) => `${stream}: 200; ${stream}: 2 bytes, end`);
  t.is(await wire.settle(), [served[0], served[1], 'GOAWAY NO_ERROR; PING srv-quit', served[2], served[3]].join('; '));
  wire.send(ping('srv-quit', 1));
  t.regex(await wire.end(), /GOAWAY NO_ERROR$/);
});

test('connections that are silent or idle make room for others', async (t) => {
  const srv = await startSrv(
    t,
    'error_log logs/error.log info; worker_processes 1; events { worker_connections 4; } http { server { listen 127.0.0.1:%%PORT_web%%; http2 on; return 200 ok; } }',
  );
  const silent = await connectRaw(t, srv.port('web'));
  const idle = await Wire.open(t, srv.port('web'), PREFACE + settings() + get(1));
  await idle.tells(/end/);
  for (let more = 0; more < 6; more++) {
    const wire = await Wire.open(t, srv.port('web'), PREFACE + settings() + get(1));
    await wire.tells(/1: 2 bytes, end/);
  }
  t.is(await silent.receiveAll(), '');
  t.regex(await idle.end(), /GOAWAY NO_ERROR$/);
  await srv.waitForLog(/4 worker_connections are not enough, reusing connections/);
});

const conf = (http2: string): string => `events {} http { server { listen 127.0.0.1:%%PORT_web%%; ${http2} return 200 "$http2"; } }`;

test('http2 comes and goes with a reload; a connection that is open goes on', async (t) => {
  const srv = await startSrv(t, conf('http2 on;'));
  const wire = await Wire.open(t, srv.port('web'), PREFACE + settings() + get(1));
  await wire.tells(/1: 3 bytes, end/);
  await srv.configure(conf(''));
  srv.signal('SIGHUP');
  const greeting = async (): Promise<string> => {
    const raw = await connectRaw(t, srv.port('web'));
    raw.send(PREFACE + settings());
    await waitFor('a response', () => raw.received !== '');
    return raw.received;
  };
  await waitFor('HTTP/1 alone', async () => (await greeting()).startsWith('HTTP/1.1 505'));
  wire.send(get(3));
  await wire.tells(/3: 3 bytes, end/);
  await srv.configure(conf('http2 on;'));
  srv.signal('SIGHUP');
  await waitFor('SETTINGS', async () => (await greeting()).startsWith('\0\0'));
  t.is((await getHttp1(srv.port('web'), '/')).body, '');
});

test('the PROXY protocol is before the preface', async (t) => {
  const srv = await startSrv(
    t,
    'events {} http { server { listen 127.0.0.1:%%PORT_web%% proxy_protocol; http2 on; return 200 "$proxy_protocol_addr"; } }',
  );
  const header = 'PROXY TCP4 192.0.2.1 203.0.113.7 5000 80\r\n';
  const wire = await Wire.open(t, srv.port('web'), header + PREFACE + settings() + get(1));
  t.regex(await wire.tells(/end/), /^1: 200; 1: 9 bytes, end$/);
  const split = await Wire.open(t, srv.port('web'), header + PREFACE.slice(0, 7));
  await new Promise((resolve) => setTimeout(resolve, 20));
  split.send(PREFACE.slice(7) + settings() + get(1));
  t.regex(await split.tells(/end/), /^1: 200; 1: 9 bytes, end$/);
});
