import { request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend, type HttpBackend } from '../harness/backends.js';
import { connectRaw, exchange } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { residentBytes } from './resident-bytes.js';
import { HashingSink, patternDigest, patternStream } from './byte-streams.js';

/** Says how the body was framed, and what it was. */
async function echoing(t: ExecutionContext): Promise<HttpBackend> {
  return httpBackend(t, (request, response) => {
    const framing = request.headers['content-length'] ?? request.headers['transfer-encoding'] ?? 'none';
    void bodyOf(request).then((body) => response.end(`${request.method} ${framing} ${body}`));
  });
}

function proxying(t: ExecutionContext, port: number): Promise<Srv> {
  return startSrv(
    t,
    `events {}
    http {
      client_max_body_size 0;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /stream { proxy_pass http://127.0.0.1:${port}; proxy_request_buffering off; }
        location /old { proxy_pass http://127.0.0.1:${port}; proxy_http_version 1.0; }
        location /none { proxy_pass http://127.0.0.1:${port}; proxy_pass_request_body off; }
        location /here { return 200 here; }
      }
    }`,
  );
}

/** Uploads a pattern and resolves with the response's body. */
async function upload(port: number, path: string, length: number, chunked: boolean): Promise<string> {
  const call = request({ host: '127.0.0.1', port, path, method: 'POST', headers: chunked ? {} : { 'content-length': length } });
  const answer = new Promise<string>((resolve, reject) => {
    call.once('error', reject);
    call.once('response', (response) => void bodyOf(response).then(resolve));
  });
  await pipeline(patternStream(length), call);
  return answer;
}

test('a body reaches the member, however it is framed', async (t) => {
  const backend = await echoing(t);
  const srv = await proxying(t, backend.port);
  const port = srv.port('web');
  const post = (path: string, lines: string, body: string): Promise<string> =>
    exchange(t, port, `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${lines}\r\n${body}`);
  const chunks = '5\r\nhello\r\n1;name="v"\r\n \r\n005\r\nworld\r\n0\r\nX-Trailer: dropped\r\n\r\n';
  t.regex(await post('/', 'Content-Length: 11\r\n', 'hello world'), /POST 11 hello world(\r\n|$)/);
  t.regex(await post('/', 'Transfer-Encoding: chunked\r\n', chunks), /POST 11 hello world(\r\n|$)/, 'collected, so its length is known');
  t.regex(await post('/stream', 'Content-Length: 11\r\n', 'hello world'), /POST 11 hello world(\r\n|$)/);
  t.regex(await post('/old', 'Transfer-Encoding: chunked\r\n', chunks), /POST 11 hello world(\r\n|$)/);
  t.regex(await post('/', 'Content-Length: 0\r\n', ''), /POST 0 (\r\n|$)/);
  t.regex(await post('/', 'Transfer-Encoding: chunked\r\n', '0\r\n\r\n'), /POST 0 (\r\n|$)/);
  t.regex(await post('/', '', ''), /POST none (\r\n|$)/);
  t.regex(await post('/none', 'Content-Length: 11\r\n', 'hello world'), /POST none (\r\n|$)/);
  t.regex(await post('/here', 'Content-Length: 11\r\n', 'hello world'), /\r\n\r\nhere$/, 'nobody reads it');
});

test('a body that comes in the smallest pieces is whole', async (t) => {
  const backend = await echoing(t);
  const srv = await proxying(t, backend.port);
  for (const path of ['/', '/stream']) {
    const connection = await connectRaw(t, srv.port('web'));
    const bytes = `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`;
    for (const byte of bytes) {
      connection.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.regex(await connection.receiveAll(), /POST (5|chunked) abcde$|\r\nabcde\r\n/, path);
  }
});

test('a body longer than the buffer goes through whole, in one burst and in any framing', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    const sink = new HashingSink();
    void pipeline(request, sink).then(() => response.end(sink.digest()));
  });
  const srv = await proxying(t, backend.port);
  const port = srv.port('web');
  for (const path of ['/', '/stream', '/old']) {
    for (const length of [16_384, 16_385, 65_536, 300_000]) {
      const expected = patternDigest(length);
      t.is(await upload(port, path, length, false), expected, `${path} ${length}`);
      t.is(await upload(port, path, length, true), expected, `${path} ${length} chunked`);
    }
  }
  // Chunks that all arrive in one read, before there is a connection to the member.
  const chunk = `1000\r\n${'x'.repeat(4096)}\r\n`;
  const burst = await exchange(
    t,
    port,
    `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(12)}0\r\n\r\n`,
  );
  t.regex(burst, /49152 [0-9a-f]{64}/);
});

test('tens of megabytes go up with little memory, to a slow member as well', async (t) => {
  const length = 60_000_000;
  const backend = await httpBackend(t, (request, response) => {
    const sink = new HashingSink(request.url?.endsWith('slow') === true ? 1 : 0);
    void pipeline(request, sink).then(() => response.end(sink.digest()));
  });
  const srv = await proxying(t, backend.port);
  const port = srv.port('web');
  await upload(port, '/', length / 4, true);
  const before = residentBytes(srv.pid);
  const answers = await Promise.all([
    upload(port, '/', length, false),
    upload(port, '/', length, true),
    upload(port, '/stream', length, false),
    upload(port, '/stream', length, true),
    upload(port, '/slow', length / 4, true),
    upload(port, '/stream-slow', length / 4, false),
    upload(port, '/stream-slow', length / 4, true),
    upload(port, '/old', length / 4, true),
  ]);
  const grown = residentBytes(srv.pid) - before;
  const [whole, quarter] = [patternDigest(length), patternDigest(length / 4)];
  t.deepEqual(answers, [whole, whole, whole, whole, quarter, quarter, quarter, quarter]);
  t.true(grown < 64_000_000, `the server grew by ${grown} bytes`);
});
