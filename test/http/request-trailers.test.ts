/** Fields after the body of a request, from clients of HTTP/1.1 and HTTP/2 to members of HTTP/1.1 and HTTP/2. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as httpRequest } from 'node:http';
import { connect, type ServerHttp2Stream } from 'node:http2';
import test from 'ava';
import { bodyOf, httpBackend, rawBackend } from '../harness/backends.js';
import { exchange } from '../harness/client.js';
import { http2Backend } from '../harness/http2-backend.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

/** Responds with what a module sees of the trailers of a request. */
const MODULE = plugin('test_trailers_module', {
  manifest: `directives: { show_trailers: directive({ in: ['location'], args: text(), inherit: 'none' }) }`,
  body: `
  compile(scope) {
    if (scope.conf.show_trailers === undefined) return undefined;
    return { content: async (request) => {
      const { length } = await request.readBody(1000000);
      return request.send(200, JSON.stringify({ body: String(length), trailers: Object.fromEntries(request.trailers()), framing: '' }));
    } };
  }`,
});

interface Seen {
  readonly body: string;
  readonly trailers: Readonly<Record<string, unknown>>;
  readonly framing: unknown;
}

async function describe(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { length } = await bodyOf(request);
  const framing = request.headers['transfer-encoding'] ?? request.headers['content-length'];
  response.end(JSON.stringify({ body: String(length), trailers: request.trailers, framing }));
}

function describeStream(stream: ServerHttp2Stream, framing: unknown): void {
  let length = 0;
  let trailers = {};
  stream.on('data', (chunk: Buffer) => (length += chunk.length));
  stream.on('trailers', (fields) => (trailers = { ...fields }));
  stream.once('end', () => {
    // Trailers are reported after the end of the data.
    setImmediate(() => {
      stream.respond({ ':status': 200 });
      stream.end(JSON.stringify({ body: String(length), trailers, framing }));
    });
  });
}

const site = shared(async (scope) => {
  const one = await httpBackend(scope, (request, response) => {
    // The server may give a request up.
    describe(request, response).catch(() => undefined);
  });
  const two = await http2Backend(scope, (stream, headers) => describeStream(stream, headers['content-length']));
  const deaf = await rawBackend(scope, (socket) => {
    socket.on('data', (bytes) => void (bytes.includes('X-Sum') && socket.destroy()));
  });
  const srv = await startSrv(
    scope,
    `load_module modules/test_trailers_module.js; events {} http {
      http2 on;
      client_body_buffer_size 8k;
      proxy_pass_trailers on;
      proxy_set_header X-Real-IP $remote_addr;
      upstream first_fails { server 127.0.0.1:${deaf.port}; server 127.0.0.1:${one.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /one { proxy_pass http://127.0.0.1:${one.port}; }
        location /one-flows { proxy_request_buffering off; proxy_pass http://127.0.0.1:${one.port}; }
        location /old { proxy_http_version 1.0; proxy_pass http://127.0.0.1:${one.port}; }
        location /two { proxy_http_version 2; proxy_pass http://127.0.0.1:${two.port}; }
        location /two-flows { proxy_http_version 2; proxy_request_buffering off; proxy_pass http://127.0.0.1:${two.port}; }
        location /grpc { grpc_pass 127.0.0.1:${two.port}; }
        location /again { proxy_pass http://first_fails; }
        location /off { proxy_pass_trailers off; proxy_pass http://127.0.0.1:${one.port}; }
        location /no-fields { proxy_pass_request_headers off; proxy_pass http://127.0.0.1:${one.port}; }
        location /module { show_trailers all; }
        location /own-body { proxy_set_body own; proxy_pass http://127.0.0.1:${one.port}; }
      }
    }`,
    { files: { 'modules/test_trailers_module.js': MODULE } },
  );
  return srv.port('web');
});

/** Fields that members must not get, and one that they may. */
const TRAILERS = {
  'X-Sum': '42',
  'X-Real-IP': '192.0.2.1',
  X_Real_IP: '192.0.2.1',
  Authorization: 'Basic YTpi',
  Cookie: 'session=1',
  'Content-Type': 'text/html',
};

type Ask = (port: number, path: string, body: string) => Promise<Seen>;

const overHttp1: Ask = (port, path, body) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, path, method: 'PUT', agent: false, headers: { Trailer: 'X-Sum' } },
      (response) => {
        bodyOf(response).then((text) => resolve(JSON.parse(text) as Seen), reject);
      },
    );
    request.once('error', reject);
    if (body !== '') request.write(body);
    request.addTrailers(TRAILERS);
    request.end();
  });

const overHttp2: Ask = (port, path, body) =>
  new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    session.once('error', reject);
    const fields = { ':path': path, ':method': 'PUT', 'content-length': body.length, trailer: 'x-sum' };
    const stream = session.request(fields, { endStream: false, waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers(TRAILERS));
    let text = '';
    stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
    stream.once('error', reject);
    stream.once('end', () => {
      session.close();
      resolve(JSON.parse(text) as Seen);
    });
    stream.end(body);
  });

const LARGE = 'x'.repeat(300_000);

for (const [name, ask] of Object.entries({ 'HTTP/1.1': overHttp1, 'HTTP/2': overHttp2 })) {
  test(`${name}: members get trailers, without fields that belong into a head`, async (t) => {
    const port = await site();
    for (const body of ['', 'body', LARGE]) {
      const seen = { body: String(body.length), trailers: { 'x-sum': '42' } };
      t.like(await ask(port, '/one', body), { ...seen, framing: 'chunked' });
      t.like(await ask(port, '/one-flows', body), { ...seen, framing: 'chunked' });
      t.like(await ask(port, '/two', body), { ...seen, framing: String(body.length) });
      t.like(await ask(port, '/two-flows', body), seen);
      t.like(await ask(port, '/grpc', body), seen);
    }
  });

  test(`${name}: the second member gets them too`, async (t) => {
    const port = await site();
    t.like(await ask(port, '/again', 'body'), { body: '4', trailers: { 'x-sum': '42' } });
    t.like(await ask(port, '/again', LARGE), { body: String(LARGE.length), trailers: { 'x-sum': '42' } });
  });

  test(`${name}: a module sees those of a body that it has read`, async (t) => {
    const { body, trailers } = await ask(await site(), '/module', 'body');
    t.is(body, '4');
    const seen = new Map(Object.entries(trailers).map(([field, value]) => [field.toLowerCase(), value]));
    t.is(seen.get('x-sum'), '42');
    t.is(seen.get('x_real_ip'), '192.0.2.1');
  });

  test(`${name}: none where they are not passed, with other bodies, over HTTP/1.0`, async (t) => {
    const port = await site();
    for (const path of ['/off', '/no-fields', '/old'])
      t.deepEqual(await ask(port, path, 'body'), { body: '4', trailers: {}, framing: '4' });
    t.deepEqual(await ask(port, '/own-body', 'body'), { body: '3', trailers: {}, framing: '3' });
  });
}

test('a trailer section has the limits of a head, and malformed ones are rejected', async (t) => {
  const port = await site();
  const put = (trailers: string): Promise<string> =>
    exchange(
      t,
      port,
      `PUT /one HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers}\r\n`,
    );
  t.regex(await put(`X-Sum: ${'a'.repeat(7000)}\r\n`.repeat(2)), /^HTTP\/1\.1 200 /);
  t.regex(await put(`X-Sum: ${'a'.repeat(9000)}\r\n`), /^HTTP\/1\.1 400 /);
  t.regex(await put(`X-Sum: ${'a'.repeat(8000)}\r\n`.repeat(5)), /^HTTP\/1\.1 400 /);
  t.regex(await put('X-Sum: 1\r\n'.repeat(1001)), /^HTTP\/1\.1 400 /);
  for (const line of ['Content-Length: 1', 'Transfer-Encoding: chunked', 'Host: b', ' folded', 'no colon', 'X-Sum: a\0b', 'X-Sum : 1'])
    t.regex(await put(`${line}\r\n`), /^HTTP\/1\.1 400 /, line);
});

test('HTTP/2: too many bytes of trailers end the stream', async (t) => {
  const port = await site();
  const session = connect(`http://127.0.0.1:${port}`, { maxSendHeaderBlockLength: 200_000 });
  t.teardown(() => session.destroy());
  const stream = session.request({ ':path': '/two', ':method': 'PUT' }, { endStream: false, waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': 'a'.repeat(40_000) }));
  stream.end('body');
  const error = await new Promise<Error>((resolve) => stream.once('error', resolve));
  t.regex(error.message, /NGHTTP2_PROTOCOL_ERROR/);
});
