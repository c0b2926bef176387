import test from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { residentBytes } from './resident-bytes.js';

const CHUNKS = 60_000;
const CONNECTIONS = 40;

test('bodies in chunks of one byte cost about their bytes', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('ok'));
  const srv = await startSrv(
    t,
    `worker_processes 1;
    events {}
    http {
      client_body_buffer_size 1m;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /received { return 200 $request_length; }
      }
    }`,
  );
  const head = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
  const text = `${head}${'1\r\nx\r\n'.repeat(CHUNKS)}`;
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connectRaw(t, srv.port('web'))));
  await get(srv.port('web'), '/received');
  const before = residentBytes(srv.pid);
  for (const client of clients) client.send(text);
  await waitFor('all of it sent', () => clients.every(({ socket }) => socket.writableLength === 0));
  await get(srv.port('web'), '/received');
  const grown = (residentBytes(srv.pid) - before) / 1_048_576;
  t.true(grown < 100, `${grown} MiB for ${(CHUNKS * CONNECTIONS) / 1_048_576} MiB of bodies: with a Buffer a chunk it is above 200`);
  for (const client of clients) client.send('0\r\n\r\n');
  for (const client of clients) await client.receive(/200 OK[^]*ok/);
});

test('proxy_request_buffering off: chunks that come together go on together', async (t) => {
  let received = '';
  const backend = await rawBackend(t, (socket) =>
    socket.on('data', (bytes: Buffer) => {
      received += bytes.latin1Slice();
      if (received.endsWith('0\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    }),
  );
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; } } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  client.send('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await waitFor('the head', () => received.includes('\r\n\r\n'));
  received = '';
  client.send('1\r\na\r\n2\r\nbc\r\n3;x=y\r\ndef\r\n');
  await waitFor('the first chunks', () => received !== '');
  client.send('1\r\ng\r\n1\r\nh\r\n0\r\n\r\n');
  await client.receive(/200 OK/);
  t.is(received, '6\r\nabcdef\r\n2\r\ngh\r\n0\r\n\r\n');
});
