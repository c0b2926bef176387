import test from 'ava';
import { connectRaw, exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { rawBackend } from '../harness/backends.js';

const SINGLE = ['Content-Type', 'Last-Modified', 'Location', 'ETag', 'Expires', 'Accept-Ranges', 'Content-Encoding', 'Server', 'Date'];
const MANY = ['Set-Cookie', 'Cache-Control', 'Vary', 'Link', 'WWW-Authenticate', 'X-Any'];

test('of a field that has one value the first one is passed on, others all', async (t) => {
  const fields = [...SINGLE, ...MANY].map((name) => `${name}: first\r\n${name.toLowerCase()}: second\r\n`).join('');
  const backend = await rawBackend(t, (socket) =>
    socket.on('data', () => socket.end(`HTTP/1.1 200 OK\r\n${fields}Content-Length: 2\r\nConnection: close\r\n\r\nhi`)),
  );
  const srv = await startSrv(
    t,
    `error_log logs/error.log warn;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_pass_header Server;
        proxy_pass_header Date;
        location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_redirect off; }
      }
    }`,
  );
  const text = await exchange(t, srv.port('web'), 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  for (const name of SINGLE) {
    t.deepEqual(text.match(new RegExp(`^${name}: .*`, 'gim')), [`${name}: first\r`.trimEnd()], name);
    await srv.waitForLog(
      new RegExp(
        `\\[warn\\] .*upstream sent duplicate header line: "${name.toLowerCase()}: second", previous value: "${name}: first", ignored while`,
      ),
    );
  }
  for (const name of MANY) t.is(text.match(new RegExp(`^${name}: .*`, 'gim'))?.length, 2, name);
});

test('Upgrade of a response is passed on, whatever its status', async (t) => {
  const backend = await rawBackend(t, (socket) =>
    socket.on('data', (bytes) => {
      const status = bytes.includes('/426') ? '426 Upgrade Required' : '200 OK';
      socket.write(`HTTP/1.1 ${status}\r\nUpgrade: foo/2\r\nConnection: upgrade\r\nContent-Length: 0\r\n\r\n`);
    }),
  );
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  client.send('GET /426 HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex((await client.receive(/^HTTP\/1\.1 426 [^]*\r\n\r\n$/))[0], /^Upgrade: foo\/2\r$/m);
  client.take();
  client.send('GET /200 HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex((await client.receive(/^HTTP\/1\.1 200 [^]*\r\n\r\n$/))[0], /^Upgrade: foo\/2\r$/m);
});
