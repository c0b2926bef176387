/** RFC 9112, 2.2: a recipient may take LF alone for the end of a line. What is sent on has CRLF. */
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { connectRaw, exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

/** The bodies of responses that are after each other. */
const bodies = (bytes: string): string =>
  bytes
    .split('\r\n\r\n')
    .slice(1)
    .join('|')
    .replaceAll(/HTTP[^]*?(?=\||$)/g, '');

test('a head with bare LF from a client reaches the member with CRLF', async (t) => {
  let received = '';
  const backend = await rawBackend(t, (socket) =>
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      if (received.endsWith('hello')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    }),
  );
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } location /length { return 200 $request_length; } } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  for (const byte of '\nPOST /a HTTP/1.1\nHost: a.example\r\nX-A: b\nContent-Length: 5\n\nhello') client.send(byte);
  await client.receive(/\r\n\r\nok$/);
  const length = await exchange(t, srv.port('web'), 'GET /length HTTP/1.1\nHost: s\nConnection: close\n\n');
  t.is(length.split('\r\n\r\n')[1], '48', 'counted as it came');
  t.regex(received, /^POST \/a HTTP\/1\.1\r\n[^]*\r\nX-A: b\r\n[^]*\r\n\r\nhello$/);
  t.notRegex(received, /[^\r]\n/);
});

test('requests with bare LF may follow each other on a connection, and their request line is logged', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { log_format line '[$request]'; server { listen 127.0.0.1:%%PORT_web%%;
      access_log access.log line;
      location / { return 200 "$request_method $uri $http_x_a;"; } } }`,
  );
  const received = await exchange(
    t,
    srv.port('web'),
    'GET /1 HTTP/1.1\nHost: a\nX-A: 1\n\nPOST /2 HTTP/1.1\r\nHost: a\r\nX-A: 2\nContent-Length: 4\r\n\r\n\r\n\r\n' +
      'GET /3 HTTP/1.1\nHost: a\nConnection: close\nX-A: 3\r\n\n',
  );
  t.is(bodies(received), 'GET /1 1;|POST /2 2;|GET /3 3;');
  await srv.waitForLog(/\/3/, 'access.log');
  t.is(srv.read('access.log'), ['[GET /1 HTTP/1.1]', '[POST /2 HTTP/1.1]', '[GET /3 HTTP/1.1]', ''].join('\n'));
});

test('a head with bare LF from a member reaches the client with CRLF', async (t) => {
  const backend = await rawBackend(t, (socket) =>
    socket.on('data', () =>
      socket.write('HTTP/1.1 103 Early Hints\nLink: </a>\n\nHTTP/1.1 200 OK\nX-A: b\r\nContent-Length: 6\n\n\r\n\r\nhi'),
    ),
  );
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  const received = await exchange(t, srv.port('web'), 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  t.regex(received, /^HTTP\/1\.1 200 OK\r\n[^]*\r\nX-A: b\r\n[^]*\r\n\r\n\r\nhi$/);
  t.notRegex(received, /[^\r]\n/);
});
