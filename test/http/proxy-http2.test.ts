import { createHash } from 'node:crypto';
import type { ServerHttp2Stream } from 'node:http2';
import test from 'ava';
import { httpsBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { http2Backend } from '../harness/http2-backend.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const certificate = selfSigned('localhost');
const LARGE = Buffer.alloc(3_000_000, 'abcdefghij');
const digest = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');

function reply(stream: ServerHttp2Stream, body: Buffer | string, status = 200): void {
  stream.respond({ ':status': status, 'content-length': Buffer.byteLength(body), 'x-member': 'two' });
  stream.end(body);
}

/** A server with one member that echoes, and others that misbehave. */
const site = shared(async (scope) => {
  const held: ServerHttp2Stream[] = [];
  let refused = 0;
  const plain = await http2Backend(scope, (stream, headers) => {
    const path = String(headers[':path']);
    if (path === '/large') reply(stream, LARGE);
    else if (path === '/unknown-length') {
      stream.respond({ ':status': 200 });
      stream.write('part');
      setTimeout(() => stream.end('s'), 50);
    } else if (path === '/headers') reply(stream, JSON.stringify(headers));
    else if (path === '/none') stream.respond({ ':status': 204 }, { endStream: true });
    else if (path === '/early') {
      // Before the request has ended.
      reply(stream, 'no', 403);
    } else if (path === '/hints') {
      stream.additionalHeaders({ ':status': 103, link: '</a.css>' });
      reply(stream, 'hinted');
    } else if (path === '/half') {
      stream.respond({ ':status': 200 });
      stream.write('some');
      setTimeout(() => stream.destroy(new Error('broken')), 50);
    } else if (path === '/refused') {
      refused++;
      if (refused % 2 === 1) stream.close(7);
      else reply(stream, 'second time');
    } else if (path === '/rejected') stream.close(2);
    else if (path === '/held') held.push(stream);
    else if (path === '/leaves') {
      stream.session?.goaway(0, stream.id);
      setTimeout(() => reply(stream, 'the last one'), 100);
    } else {
      const hash = createHash('sha256');
      let length = 0;
      stream.on('data', (chunk: Buffer) => {
        hash.update(chunk);
        length += chunk.length;
      });
      stream.on('end', () => reply(stream, `${headers[':method']} ${path} ${length} ${hash.digest('hex')}`));
    }
  });
  const narrow = await http2Backend(scope, (stream) => void setTimeout(() => reply(stream, 'narrow'), 200), {
    settings: { maxConcurrentStreams: 2 },
  });
  const secure = await http2Backend(scope, (stream) => reply(stream, 'secure'), certificate);
  const old = await httpsBackend(scope, certificate, (_, response) => response.end('HTTP/1'));
  const srv = await startSrv(
    scope,
    `events {} http {
      proxy_http_version 2;
      upstream member { server 127.0.0.1:${plain.port}; keepalive 8; }
      upstream three { server 127.0.0.1:${plain.port}; keepalive 8; keepalive_requests 3; }
      upstream none { server 127.0.0.1:${plain.port}; keepalive 0; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        client_max_body_size 0;
        proxy_connect_timeout 20s;
        location / { proxy_pass http://member; }
        location /flows { proxy_request_buffering off; proxy_pass http://member; }
        location /three { proxy_pass http://three; }
        location /nokeep { proxy_pass http://none; }
        location /narrow { proxy_pass http://127.0.0.1:${narrow.port}; }
        location /secure { proxy_pass https://127.0.0.1:${secure.port}; }
        location /old { proxy_pass https://127.0.0.1:${old.port}; }
        location = /held { proxy_pass http://member; proxy_read_timeout 1s; }
        location /variables {
          proxy_pass http://member;
          add_header X-Upstream "$upstream_status $upstream_http_x_member $upstream_addr";
        }
      }
    }`,
  );
  return { srv, port: srv.port('web'), plain, narrow, secure, held };
});

test.serial('requests share a connection, with and without bodies', async (t) => {
  const { port, plain } = await site();
  await get(port, '/first');
  const before = plain.sessions.length;
  const responses = await Promise.all(Array.from({ length: 40 }, (_, at) => get(port, `/echo/${at}`)));
  responses.forEach(({ status, body }, at) => {
    t.is(status, 200);
    t.is(body, `GET /echo/${at} 0 ${digest('')}`);
  });
  for (const size of [1, 15_000, 70_000, 3_000_000]) {
    const body = LARGE.subarray(0, size);
    for (const path of ['/stored', '/flows']) {
      const response = await get(port, path, { method: 'POST', body });
      t.is(response.body, `POST ${path} ${size} ${digest(body)}`);
      const chunked = await get(port, path, { method: 'PUT', body, headers: { 'transfer-encoding': 'chunked' } });
      t.is(chunked.body, `PUT ${path} ${size} ${digest(body)}`);
    }
  }
  // `keepalive` is local: / and /flows have connections of their own.
  t.true(plain.sessions.length - before <= 2);
});

test.serial('heads: pseudo-header fields of the request, no fields of a connection, length and statuses of responses', async (t) => {
  const { port } = await site();
  const seen = JSON.parse((await get(port, '/headers', { headers: { 'X-One': '1', Cookie: 'a=1; b=2', TE: 'gzip' } })).body) as Record<
    string,
    string
  >;
  t.like(seen, { ':method': 'GET', ':scheme': 'http', ':path': '/headers', ':authority': 'member', 'x-one': '1', cookie: 'a=1; b=2' });
  t.deepEqual(
    Object.keys(seen).filter((name) => ['connection', 'host', 'te', 'transfer-encoding'].includes(name)),
    [],
  );
  t.is((await get(port, '/none')).status, 204);
  t.is((await get(port, '/unknown-length')).body, 'parts');
  t.like(await get(port, '/echo', { method: 'HEAD' }), { status: 200, body: '' });
  t.regex(String((await get(port, '/variables')).headers['x-upstream']), /^200 two 127\.0\.0\.1:\d+$/);
  t.is((await get(port, '/hints')).body, 'hinted');
});

test.serial('long responses, several at the same time, and a response before its request has ended', async (t) => {
  const { port } = await site();
  const responses = await Promise.all([1, 2, 3, 4].map(() => get(port, '/large')));
  for (const { body } of responses) t.is(digest(body), digest(LARGE));
  const early = await get(port, '/early', { method: 'POST', body: LARGE });
  t.is(early.status, 403);
  t.is((await get(port, '/after')).status, 200);
});

test.serial('more connections where a member allows few streams, and as few as it needs', async (t) => {
  const { port, narrow } = await site();
  const responses = await Promise.all(Array.from({ length: 12 }, () => get(port, '/narrow')));
  t.deepEqual([...new Set(responses.map(({ body }) => body))], ['narrow']);
  t.is(narrow.mostStreams, 2);
  t.true(narrow.sessions.length >= 6);
});

test.serial('keepalive and keepalive_requests keep their meaning', async (t) => {
  const { port, plain } = await site();
  const needs = async (path: string, requests: number): Promise<number> => {
    const before = plain.sessions.length;
    for (let at = 0; at < requests; at++) t.is((await get(port, path)).status, 200);
    return plain.sessions.length - before;
  };
  t.is(await needs('/three', 7), 3);
  t.is(await needs('/nokeep', 3), 3);
  t.true((await needs('/echo', 5)) <= 1);
});

test.serial('GOAWAY: what is under way ends, and the next request has another connection', async (t) => {
  const { port, plain } = await site();
  await get(port, '/first');
  const before = plain.sessions.length;
  t.is((await get(port, '/leaves')).body, 'the last one');
  t.is((await get(port, '/after')).status, 200);
  t.is(plain.sessions.length - before, 1);
});

test.serial('a stream that is rejected goes out once more, whatever its method; one that is rejected does not', async (t) => {
  const { port } = await site();
  t.is((await get(port, '/refused', { method: 'POST', body: 'x' })).body, 'second time');
  t.is((await get(port, '/rejected')).status, 502);
  await t.throwsAsync(get(port, '/half'));
  t.is((await get(port, '/after')).status, 200, 'the connection is as good as before');
});

test.serial('a stream that times out, and one whose client leaves, are reset', async (t) => {
  const { port, held } = await site();
  t.is((await get(port, '/held')).status, 504);
  await waitFor('RST_STREAM of the stream that timed out', () => held[0]?.rstCode === 8);
});

test.serial('TLS: agreed on by ALPN, and rejected by a member without HTTP/2', async (t) => {
  const { port, srv } = await site();
  t.is((await get(port, '/secure')).body, 'secure');
  t.is((await get(port, '/old')).status, 502);
  await srv.waitForLog(/ALPN|no application protocol/i);
});
