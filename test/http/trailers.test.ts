/** Fields after the body of a response, from members to clients of HTTP/1.1 and HTTP/2, and those that the server adds. */
import { request as httpRequest } from 'node:http';
import { connect } from 'node:http2';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { exchange } from '../harness/client.js';
import { http2Backend } from '../harness/http2-backend.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const site = shared(async (scope) => {
  const old = await rawBackend(scope, (socket) => {
    socket.on('data', () =>
      socket.end(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 42\r\nX-Hidden: 1\r\n\r\n',
        'latin1',
      ),
    );
  });
  const forbidden = await rawBackend(scope, (socket) => {
    socket.on('data', () =>
      socket.end(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nContent-Length: 1\r\nno colon\r\nX-Nul: a\0b\r\nTransfer-Encoding: chunked\r\nX-Sum: 7\r\n\r\n',
        'latin1',
      ),
    );
  });
  const two = await http2Backend(scope, (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '43', 'x-hidden': '1' }));
    stream.end('body'.repeat(30_000));
  });
  const srv = await startSrv(
    scope,
    `events {} http {
      http2 on;
      log_format trailers '$uri $upstream_trailer_x_sum $sent_trailer_x_sum $sent_trailer_x_time';
      access_log logs/trailers.log trailers;
      proxy_hide_header X-Hidden;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_pass_trailers on;
        location /one { proxy_pass http://127.0.0.1:${old.port}; }
        location /two { proxy_http_version 2; proxy_pass http://127.0.0.1:${two.port}; }
        location /forbidden { proxy_pass http://127.0.0.1:${forbidden.port}; }
        location /off { proxy_pass_trailers off; proxy_pass http://127.0.0.1:${old.port}; }
        location /added { add_trailer X-Sum "$uri $status"; add_trailer X-None ""; return 200 body; }
        location /failed { add_trailer X-Sum never; add_trailer X-Time always always; return 404 body; }
      }
    }`,
  );
  return { srv, port: srv.port('web') };
});

interface Answer {
  readonly body: string;
  readonly trailers: Readonly<Record<string, unknown>>;
}

function overHttp1(port: number, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.once('end', () => resolve({ body, trailers: response.trailers }));
      response.once('error', reject);
    })
      .once('error', reject)
      .end();
  });
}

function overHttp2(port: number, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request({ ':path': path });
    let body = '';
    let trailers = {};
    stream.on('data', (chunk: Buffer) => (body += chunk.toString()));
    stream.on('trailers', (fields) => (trailers = Object.fromEntries(Object.entries(fields))));
    stream.once('error', reject);
    stream.once('end', () => {
      session.close();
      resolve({ body, trailers });
    });
    stream.end();
  });
}

for (const [name, ask] of Object.entries({ 'HTTP/1.1': overHttp1, 'HTTP/2': overHttp2 })) {
  test(`${name}: trailers of members, without those that are hidden`, async (t) => {
    const { port } = await site();
    t.deepEqual(await ask(port, '/one'), { body: 'body', trailers: { 'x-sum': '42' } });
    t.deepEqual(await ask(port, '/two'), { body: 'body'.repeat(30_000), trailers: { 'x-sum': '43' } });
    t.deepEqual(await ask(port, '/off'), { body: 'body', trailers: {} });
  });

  test(`${name}: add_trailer, by the statuses of add_header`, async (t) => {
    const { port } = await site();
    t.deepEqual(await ask(port, '/added'), { body: 'body', trailers: { 'x-sum': '/added 200' } });
    t.deepEqual(await ask(port, '/failed'), { body: 'body', trailers: { 'x-time': 'always' } });
  });
}

test('HTTP/1.0 has no trailers; lines of a member that cannot be passed on are dropped, as by nginx', async (t) => {
  const { port } = await site();
  const old = await exchange(t, port, 'GET /added HTTP/1.0\r\n\r\n');
  t.regex(old, /\r\nContent-Length: 4\r\n[^]*\r\n\r\nbody$/);
  const passed = await exchange(t, port, 'GET /forbidden HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex(passed, /\r\n4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n$/);
});

test('variables: what the member sent, and what the client got', async (t) => {
  const { port, srv } = await site();
  await overHttp1(port, '/one');
  t.truthy(await srv.waitForLog(/^\/one 42 42 -$/m, 'logs/trailers.log'));
  await overHttp1(port, '/off');
  t.truthy(await srv.waitForLog(/^\/off 42 - -$/m, 'logs/trailers.log'));
  await overHttp2(port, '/failed');
  t.truthy(await srv.waitForLog(/^\/failed - - always$/m, 'logs/trailers.log'));
});
