import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { patternStream } from './byte-streams.js';

test('client_header_timeout is for the whole head, however it trickles in', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {} http { client_header_timeout 2s; keepalive_timeout 30s; server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } } }`,
  );
  const silent = await connectRaw(t, srv.port('web'));
  const slow = await connectRaw(t, srv.port('web'));
  const second = await connectRaw(t, srv.port('web'));
  second.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await second.receive(/ok$/);
  second.take();
  const trickle = 'Host: a\r\nX-A: b\r\nX-B: c\r\n';
  for (const connection of [slow, second]) connection.send('GET / HTTP/1.1\r\n');
  // Half a minute at least: as long as bytes come, a limit that they move is never over.
  for (let at = 0; !slow.closed && at < 1500; at++) {
    const byte = trickle[at] ?? 'x';
    slow.send(byte);
    second.send(byte);
    await sleep(20);
  }
  t.true(slow.closed, 'bytes do not move the limit');
  t.is(await slow.receiveAll(), '');
  t.is(await second.receiveAll(), '', 'the same for a later request');
  t.is(await silent.receiveAll(), '');
  await srv.waitForLog(/\[info\].* client timed out .* while reading client request headers, client: 127\.0\.0\.1/);
  t.is((await get(srv.port('web'), '/')).body, 'ok');
});

test('client_body_timeout is for the pause between two reads', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => (length += chunk.length));
    request.on('end', () => response.end(`got ${length}`));
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      client_body_timeout 2s;
      proxy_read_timeout 2s;
      client_max_body_size 0;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /stream { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; }
      }
    }`,
  );
  const ask = async (path: string): Promise<void> => {
    const steady = await connectRaw(t, srv.port('web'));
    steady.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10\r\n\r\n`);
    const stuck = await connectRaw(t, srv.port('web'));
    stuck.send(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf`);
    for (let at = 0; at < 10; at++) {
      await sleep(250);
      steady.send('x');
    }
    t.regex(await steady.receiveAll(), /got 10/, `${path}: slow, yet never for long, and nothing else runs out meanwhile`);
    t.regex(await stuck.receiveAll(), /^HTTP\/1\.1 408 /, path);
  };
  await Promise.all(['/', '/stream'].map(ask));
  t.is(backend.requests.filter((request) => request.complete).length, 2, 'the halves came to nothing');
});

test('client_body_timeout is the one of the location, also for a client that sends a head only', async (t) => {
  const backend = await httpBackend(t, (request, response) => void request.resume().on('end', () => response.end('whole')));
  const proxy = `proxy_pass http://127.0.0.1:${backend.port};`;
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        client_body_timeout 500ms;
        location /long { client_body_timeout 60s; ${proxy} }
        location /stream { client_body_timeout 60s; ${proxy} proxy_request_buffering off; }
      }
      server { server_name short; listen 127.0.0.1:%%PORT_web%%; location / { client_body_timeout 500ms; ${proxy} } }
    }`,
  );
  const begin = async (host: string, path: string): Promise<RawConnection> => {
    const client = await connectRaw(t, srv.port('web'));
    client.send(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\n\r\n`);
    return client;
  };
  const patient = await Promise.all([begin('a', '/long'), begin('a', '/stream')]);
  t.regex(await (await begin('short', '/')).receiveAll(), /^HTTP\/1\.1 408 /);
  await sleep(500);
  for (const client of patient) client.send('body');
  for (const client of patient) t.truthy(await client.receive(/whole/));
});

test('send_timeout ends a client that takes nothing, and not one that takes little', async (t) => {
  const backend = await httpBackend(t, (_, response) => void patternStream(12_000_000).pipe(response));
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {} http { send_timeout 2s; upstream app { server 127.0.0.1:${backend.port}; }
    server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://app; } } }`,
  );
  const stuck = await connectRaw(t, srv.port('web'));
  stuck.socket.pause();
  stuck.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  const slow = await connectRaw(t, srv.port('web'));
  slow.send('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  let took = 0;
  slow.socket.on('data', (text: string) => {
    took += text.length;
    slow.received = '';
    slow.socket.pause();
    setTimeout(() => slow.socket.resume(), 20);
  });
  await srv.waitForLog(new RegExp(`client timed out .* while sending to client, .*upstream: "http://127.0.0.1:${backend.port}/"`));
  await slow.receiveAll(60_000);
  t.true(took > 12_000_000, `all of it, and not ${took}`);
});

test('a body that nobody wants is not waited for longer than lingering_timeout', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { lingering_timeout 300ms; client_body_timeout 60s; server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  client.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
  t.regex(await client.receiveAll(), /^HTTP\/1\.1 200 /);
});

const large = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nbody`;
const last = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
/** Sends a request and goes on sending, also after the response has ended, up to `most` bytes. @returns how the connection was closed */
function sendOn(t: ExecutionContext, port: number, head: string, most: number): Promise<string> {
  return new Promise((resolve) => {
    let left = most;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => socket.write(head));
    const timer = setInterval(() => {
      if (left-- > 0) socket.write('x');
      else socket.end();
    }, 20);
    t.teardown(() => {
      clearInterval(timer);
      socket.destroy();
    });
    const done = (how: string) => (): void => {
      clearInterval(timer);
      resolve(how);
    };
    socket.resume().on('error', done('reset')).on('close', done('closed'));
  });
}

test('lingering_close and lingering_time', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { client_max_body_size 10; lingering_timeout 60s; lingering_time 60s; server { listen 127.0.0.1:%%PORT_web%%;
      location /off { lingering_close off; return 200 ok; }
      location /on { return 200 ok; }
      location /short { lingering_time 300ms; return 200 ok; }
      location /always { lingering_close always; return 200 ok; } } }`,
  );
  const how = (head: string, most: number): Promise<string> => sendOn(t, srv.port('web'), head, most);
  t.deepEqual(await Promise.all([how(large('/off'), Infinity), how(large('/on'), 10), how(large('/short'), Infinity)]), [
    'reset',
    'closed',
    'reset',
  ]);
  t.deepEqual(await Promise.all([how(last('/on'), Infinity), how(last('/always'), 10)]), ['reset', 'closed']);
});
