/** 103 (Early Hints) and other interim responses of members, to clients of HTTP/1.0, HTTP/1.1 and HTTP/2. */
import { connect } from 'node:http2';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { exchange } from '../harness/client.js';
import { http2Backend } from '../harness/http2-backend.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const HINTS =
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nServer: member\r\n' +
  'X-Hidden: 1\r\nSet-Cookie: a=b; domain=member\r\nConnection: x-hop\r\nX-Hop: 1\r\n\r\n';
const FINAL = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody';
/** As clients of HTTP/1.1 get them. */
const PASSED = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nSet-Cookie: a=b; domain=site\r\n\r\n';

const site = shared(async (scope) => {
  const one = await rawBackend(scope, (socket) => {
    socket.on('data', (bytes: Buffer) => {
      const path = /^\w+ (\S+)/.exec(bytes.latin1Slice())?.[1];
      if (path === '/many') socket.end(HINTS.repeat(1000) + FINAL, 'latin1');
      else if (path === '/pings') socket.end('HTTP/1.1 102 Processing\r\n\r\n'.repeat(2000) + FINAL, 'latin1');
      else if (path === '/dies') socket.end(HINTS, 'latin1');
      else if (path === '/upgrade')
        socket.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nhello`, 'latin1');
      else socket.write(HINTS + FINAL, 'latin1');
    });
  });
  const two = await http2Backend(scope, (stream, headers) => {
    const hints = { ':status': 103, link: '</a.css>; rel=preload', 'x-hidden': '1' };
    for (let i = headers[':path'] === '/two-many' ? 300 : 1; i > 0; i--) stream.additionalHeaders(hints);
    stream.respond({ ':status': 200 });
    stream.end('body');
  });
  const srv = await startSrv(
    scope,
    `events {} http {
      http2 on;
      log_format sizes '$uri $server_protocol $status $bytes_sent $body_bytes_sent';
      access_log logs/sizes.log sizes;
      map $http_x_wants $wants { default ""; yes 1; no 0; }
      proxy_hide_header X-Hidden;
      grpc_hide_header X-Hidden;
      proxy_cookie_domain member site;
      upstream retried { server 127.0.0.1:${one.port}; server 127.0.0.1:${one.port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        early_hints "" 0 $wants;
        location / { proxy_pass http://127.0.0.1:${one.port}; }
        location /on { early_hints 1; proxy_pass http://127.0.0.1:${one.port}; }
        location /filtered { early_hints 1; limit_rate 1m; proxy_pass http://127.0.0.1:${one.port}; }
        location /dies { early_hints 1; proxy_pass http://retried; }
        location /many { early_hints 1; proxy_pass http://127.0.0.1:${one.port}; }
        location /upgrade {
          early_hints 1;
          proxy_set_header Connection upgrade;
          proxy_set_header Upgrade x;
          proxy_pass http://127.0.0.1:${one.port};
        }
        location /two { early_hints 1; proxy_http_version 2; proxy_pass http://127.0.0.1:${two.port}; }
        location /grpc { early_hints 1; grpc_pass 127.0.0.1:${two.port}; }
      }
    }`,
  );
  return { srv, port: srv.port('web') };
});

const head = (path: string, more = '', version = '1.1'): string =>
  `GET ${path} HTTP/${version}\r\nHost: a\r\nConnection: close\r\n${more}\r\n`;

interface Seen {
  readonly hints: readonly Record<string, unknown>[];
  readonly status: unknown;
  readonly body: string;
}

function overHttp2(port: number, path: string): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request({ ':path': path });
    const hints: Record<string, unknown>[] = [];
    let status: unknown;
    let body = '';
    stream.on('headers', (fields) => void hints.push({ ...fields }));
    stream.on('response', (fields) => (status = fields[':status']));
    stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
    stream.once('error', reject);
    stream.once('end', () => {
      session.close();
      resolve({ hints, status, body });
    });
    stream.end();
  });
}

test('HTTP/1.1: a 103 is passed on where a condition holds, other interim responses are not', async (t) => {
  const { port } = await site();
  for (const [path, more] of [['/on'], ['/filtered'], ['/', 'X-Wants: yes\r\n']] as const) {
    const response = await exchange(t, port, head(path, more));
    t.true(response.startsWith(`${PASSED}HTTP/1.1 200 OK\r\n`), response);
    t.true(response.endsWith('\r\n\r\nbody'));
  }
  for (const [path, more] of [['/'], ['/', 'X-Wants: no\r\n']] as const)
    t.regex(await exchange(t, port, head(path, more)), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nbody$/);
});

test('HTTP/1.0 has no interim responses, and a 101 stays what it is', async (t) => {
  const { port } = await site();
  t.regex(await exchange(t, port, head('/on', '', '1.0')), /^HTTP\/1\.1 200 OK\r\n/);
  const upgrade = 'GET /upgrade HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n';
  t.regex(await exchange(t, port, upgrade), /^HTTP\/1\.1 101 Switching Protocols\r\n[^]*\r\n\r\nhello$/);
});

test('members of HTTP/2 and gRPC, and clients of HTTP/2', async (t) => {
  const { port } = await site();
  const link = '</a.css>; rel=preload';
  for (const path of ['/two', '/grpc']) {
    const response = await exchange(t, port, head(path));
    t.true(response.startsWith(`HTTP/1.1 103 Early Hints\r\nlink: ${link}\r\n\r\nHTTP/1.1 200 `), response);
    t.like(await overHttp2(port, path), { hints: [{ ':status': 103, link }], status: 200, body: 'body' });
  }
  const seen = await overHttp2(port, '/on');
  t.like(seen, { hints: [{ ':status': 103, link, 'set-cookie': ['a=b; domain=site'] }], status: 200, body: 'body' });
  t.deepEqual(Object.keys(seen.hints[0] ?? {}), [':status', 'link', 'set-cookie']);
});

test('hints of a member that fails, then those of the next one', async (t) => {
  const { port } = await site();
  const response = await exchange(t, port, head('/dies'));
  t.true(response.startsWith(`${PASSED}${PASSED}HTTP/1.1 502 `), response);
});

test('a member that sends more than fits into proxy_buffer_size, or interim responses without end, has failed', async (t) => {
  const { port, srv } = await site();
  const many = await exchange(t, port, head('/many'));
  t.regex(many, /HTTP\/1\.1 502 /);
  t.true(many.length < 10_000);
  t.truthy(await srv.waitForLog(/upstream sent too big early hints while reading response header from upstream/));
  t.regex(await exchange(t, port, head('/pings')), /^HTTP\/1\.1 502 /);
  t.truthy(await srv.waitForLog(/upstream sent too many interim responses while reading response header from upstream/));
  t.regex(await exchange(t, port, head('/two-many')), /HTTP\/1\.1 502 /);
});

test('the access log counts them as sent, and not as a part of the body', async (t) => {
  const { port, srv } = await site();
  const { length } = await exchange(t, port, head('/on'));
  t.truthy(await srv.waitForLog(new RegExp(`^/on HTTP/1\\.1 200 ${length} 4$`, 'm'), 'logs/sizes.log'));
  await overHttp2(port, '/on');
  t.truthy(await srv.waitForLog(/^\/on HTTP\/2\.0 200 \d{3} 4$/m, 'logs/sizes.log'));
});
