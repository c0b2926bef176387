import type { Socket } from 'node:net';
import test from 'ava';
import { bodyOf, httpBackend, rawBackend } from '../harness/backends.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

test('connections to members are used again', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    if (request.url === '/close') response.setHeader('connection', 'close');
    void bodyOf(request).then((body) => response.end(`ok ${body}`));
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${backend.port}; keepalive 8; }
      upstream three { server 127.0.0.1:${backend.port}; keepalive 8; keepalive_requests 3; }
      upstream none { server 127.0.0.1:${backend.port}; keepalive 0; }
      upstream brief { server 127.0.0.1:${backend.port}; keepalive 8; keepalive_timeout 2s; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://group; }
        location /three { proxy_pass http://three; }
        location /none { proxy_pass http://none; }
        location /brief { proxy_pass http://brief; }
        location /short { proxy_pass http://group; proxy_read_timeout 2s; }
        location /old { proxy_pass http://group; proxy_http_version 1.0; }
        location /direct { proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  /** How many connections `requests` requests need. */
  const needs = async (path: string, requests: number, options = {}): Promise<number> => {
    const before = backend.connections;
    for (let at = 0; at < requests; at++) t.regex((await get(srv.port('web'), path, options)).body, /^ok/);
    return backend.connections - before;
  };
  t.is(await needs('/', 10), 1);
  t.is(await needs('/', 5, { method: 'POST', body: 'data' }), 0, 'the one that is there');
  t.is(await needs('/', 5, { method: 'PUT', body: 'data', headers: { 'transfer-encoding': 'chunked' } }), 0);
  t.is(await needs('/direct', 5), 1, 'a group of its own');
  t.is(await needs('/short', 1), 0);
  t.is(await needs('/brief', 2), 1);
  await new Promise((resolve) => setTimeout(resolve, 2500));
  t.is(await needs('/short', 1), 0, 'proxy_read_timeout is for answers, not for idle connections');
  t.is(await needs('/brief', 1), 1, 'keepalive_timeout');
  t.is(await needs('/three', 7), 3);
  t.is(await needs('/none', 3), 3);
  t.is(await needs('/old', 3), 2, 'HTTP/1.0 uses up the idle one, then needs new ones');
  t.is(await needs('/close', 3), 3, 'the member closes');
});

test('a member that has closed an idle connection costs nobody a request', async (t) => {
  const sockets: Socket[] = [];
  const seen: string[] = [];
  let deaf = false;
  const backend = await rawBackend(t, (socket) => {
    sockets.push(socket);
    let served = 0;
    socket.on('data', (chunk) => {
      const [line = ''] = chunk.toString('latin1').split('\r\n');
      seen.push(line);
      // As a server does that closes an idle connection in the very moment a request comes over it.
      if (deaf && served > 0) socket.resetAndDestroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      served++;
    });
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${backend.port}; keepalive 8; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://group; } location /other { proxy_pass http://group; } }
    }`,
  );
  const port = srv.port('web');
  t.is((await get(port, '/')).body, 'ok');
  sockets[0]?.end();
  await waitFor('the end of the idle connection', () => sockets[0]?.destroyed === true || sockets[0]?.readableEnded === true);
  t.is((await get(port, '/')).body, 'ok');
  t.is(backend.connections, 2);

  deaf = true;
  seen.length = 0;
  t.is((await get(port, '/a')).body, 'ok', 'asked again on a new connection');
  t.deepEqual(seen, ['GET /a HTTP/1.1', 'GET /a HTTP/1.1']);
  seen.length = 0;
  const post = await get(port, '/b', { method: 'POST', body: 'data' });
  t.is(post.status, 502, 'whether it was made is not known, so it is not made twice');
  t.deepEqual(seen, ['POST /b HTTP/1.1']);
  seen.length = 0;
  t.is((await get(port, '/c')).body, 'ok');
  t.is((await get(port, '/d', { method: 'PUT', body: 'data' })).body, 'ok');
  t.deepEqual(seen, ['GET /c HTTP/1.1', 'PUT /d HTTP/1.1', 'PUT /d HTTP/1.1']);
});

test('a connection with something left on it is not used again', async (t) => {
  const answers: Readonly<Record<string, string>> = {
    '/more': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong',
    '/more-chunked':
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong',
    '/head': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno',
    '/204': 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nno',
    '/304': 'HTTP/1.1 304 Not Modified\r\n\r\nno',
  };
  const backend = await rawBackend(t, (socket) => {
    socket.on('data', (chunk) => {
      const [, path = ''] = chunk.toString('latin1').split(' ');
      socket.write(answers[path] ?? 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood');
    });
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  for (const path of Object.keys(answers)) {
    const method = path === '/head' ? 'HEAD' : 'GET';
    const received = await exchange(
      t,
      srv.port('web'),
      `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    t.regex(received, /\r\n\r\ngood$/, path);
    t.notRegex(received, /wrong|\r\n\r\nno/, path);
  }
});

test('a response that comes before the whole request leaves no half request behind', async (t) => {
  const backend = await rawBackend(t, (socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno'));
  });
  const srv = await startSrv(
    t,
    `events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; } } }`,
  );
  for (let at = 1; at <= 3; at++) {
    const connection = await connectRaw(t, srv.port('web'));
    connection.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
    await connection.receive(/^HTTP\/1\.1 401 [^]*\r\n\r\nno$/);
    t.is(backend.connections, at);
  }
});
