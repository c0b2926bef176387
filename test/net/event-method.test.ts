/** `use epoll` and `use node`: the traffic lanes as a whole run with either, by SRV_TEST_USE; here is what only a change between them, or the system's calls, can break. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import test from 'ava';
import { hasEpoll } from '../harness/event-methods.js';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { check } from '../harness/check.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternDigest, patternStream } from '../http/byte-streams.js';

const LARGE = 30_000_000;
/** Connections of each kind that end in a way that is not orderly. */
const ROUGH = 60;
/** As many times, with a reload in each: 34 are 10,000 connections. */
const ROUNDS = Number(process.env['SRV_ROUGH_ROUNDS'] ?? 1);

interface Site {
  readonly srv: Srv;
  readonly conf: (method: string) => string;
}

async function startSite(t: Scope): Promise<Site> {
  const backend = await httpBackend(t, (request, response) => {
    if (request.url === '/large') void pipeline(patternStream(LARGE), response).catch(() => undefined);
    else if (request.url === '/never') return;
    else void pipeline(request, response).catch(() => undefined);
  });
  const echo = await rawBackend(t, (socket) => {
    socket.allowHalfOpen = true;
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString())).on('end', () => socket.end(`got ${text}`));
  });
  const closed = await freePort(t);
  const conf = (method: string): string => `worker_processes 1; error_log logs/error.log notice;
    events { ${method} }
    http {
      upstream app { server 127.0.0.1:${backend.port}; keepalive 8; }
      server {
        listen 127.0.0.1:%%PORT_web%%; listen 127.0.0.1:%%PORT_tuned%% sndbuf=40k rcvbuf=48k deferred fastopen=7; listen unix:%%PREFIX%%/web.sock;
        location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_pass http://app; client_max_body_size 100m; proxy_request_buffering off; }
        location /from { return 200 "$remote_addr $server_addr"; }
        location /closed { proxy_pass http://127.0.0.1:${closed}; }
      }
    }
    stream { server { listen 127.0.0.1:%%PORT_half%%; proxy_half_close on; proxy_pass 127.0.0.1:${echo.port}; } }`;
  return { srv: await startSrv(t, conf('use epoll;')), conf };
}

const site = shared(startSite);

const openFiles = ({ pid }: Srv): number => readdirSync(`/proc/${pid}/fd`).length;

const ofLinux = hasEpoll ? test.serial : test.serial.skip;

ofLinux('the log says which method is used', async (t) => {
  const { srv } = await site();
  await srv.waitForLog(/\[notice\] .* using the "epoll" event method/);
  t.notRegex(srv.log(), /not possible/);
});

ofLinux('addresses of clients are the same as with Node.js', async (t) => {
  const { srv } = await site();
  t.is((await get(srv.port('web'), '/from')).body, '127.0.0.1 127.0.0.1');
  t.regex(await exchange(t, srv.path('web.sock'), 'GET /from HTTP/1.0\r\n\r\n'), /\r\n\r\nunix: unix:.*web\.sock$/);
});

ofLinux('large bodies are whole both ways, also to a client that reads late', async (t) => {
  const { srv } = await site();
  const socket = connect({ host: '127.0.0.1', port: srv.port('web') });
  t.teardown(() => socket.destroy());
  socket.write('GET /large HTTP/1.0\r\nHost: a\r\n\r\n');
  await new Promise((resolve) => socket.once('readable', resolve));
  // The sockets of both sides are full by then.
  await waitFor('a pause', () => socket.readableLength > 0 || undefined);
  const sink = new HashingSink();
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    if (head.includes('\r\n\r\n')) return void sink.write(chunk);
    head += chunk.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end >= 0) sink.write(Buffer.from(head.slice(end + 4), 'latin1'));
  });
  await new Promise((resolve) => socket.once('end', resolve));
  sink.end();
  t.is(sink.digest(), patternDigest(LARGE));
  const body = 'x'.repeat(3_000_000);
  const echoed = await get(srv.port('web'), '/echo', { method: 'POST', body });
  t.is(echoed.body, body);
});

ofLinux('a half that has ended leaves the other one open', async (t) => {
  const { srv } = await site();
  const connection = await connectRaw(t, srv.port('half'));
  connection.send('last words');
  connection.socket.end();
  await connection.receive(/got last words$/);
  t.pass();
});

ofLinux('a connection that fails is reported as nginx does', async (t) => {
  const { srv } = await site();
  t.is((await get(srv.port('web'), '/closed')).status, 502);
  await srv.waitForLog(/connect\(\) failed \(111: Connection refused\) while connecting to upstream/);
});

ofLinux('connections that break off in any state, during reloads, leave no descriptor, and disturb no other', async (t) => {
  const { srv } = await site();
  const port = srv.port('web');
  await get(port, '/from');
  const before = openFiles(srv);
  const starts = [
    '',
    'GET / HT',
    'GET /never HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /large HTTP/1.1\r\nHost: a\r\n\r\n',
    'POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc',
  ];
  for (let round = 0; round < ROUNDS; round++) {
    const sockets = starts.flatMap((start) => Array.from({ length: ROUGH }, () => begun(port, start)));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    srv.signal('SIGHUP');
    for (const [n, socket] of sockets.entries()) {
      if (n % 3 === 0) socket.resetAndDestroy();
      else if (n % 3 === 1) socket.destroy();
      else socket.end();
    }
    for (let n = 0; n < 20; n++) t.is((await get(port, '/from')).body, '127.0.0.1 127.0.0.1');
    for (const socket of sockets) socket.destroy();
  }
  await waitFor('the end of all', () => openFiles(srv) <= before + 10 || undefined);
  t.notRegex(srv.log(), /\[(?:alert|crit|emerg)\]/);
});

ofLinux('a reload changes the method: connections go on, and new ones use it', async (t) => {
  const { srv, conf } = await site();
  const connection = await connectRaw(t, srv.port('web'));
  connection.send('GET /from HTTP/1.1\r\nHost: a\r\n\r\n');
  await connection.receive(/127\.0\.0\.1 127\.0\.0\.1$/);
  for (const method of ['use node;', 'use epoll;']) {
    await srv.configure(conf(method));
    srv.signal('SIGHUP');
    await srv.waitForLog(
      method === 'use node;' ? /using the "node" event method/ : /"node" event method[^]*using the "epoll" event method/,
    );
    t.is((await get(srv.port('web'), '/echo', { method: 'POST', body: method })).body, method);
  }
  connection.send('GET /from HTTP/1.1\r\nHost: b\r\n\r\n');
  await connection.receive(/127\.0\.0\.1 127\.0\.0\.1$/);
  t.pass();
});

ofLinux('options of listening sockets', async (t) => {
  const { srv } = await site();
  const port = srv.port('tuned');
  const shown = (): string => execFileSync('ss', ['-ltnmH', `sport = ${port}`], { encoding: 'utf8' });
  // The system doubles what is asked for.
  const [, received, sent] = /rb(\d+),t\d+,tb(\d+)/.exec(shown()) ?? [];
  t.deepEqual([Number(received), Number(sent)], [2 * 48 * 1024, 2 * 40 * 1024]);
  t.is((await get(port, '/from')).body, '127.0.0.1 127.0.0.1');
});

const tuned = (method: string): string => `events { use ${method}; } http { server { listen 127.0.0.1:%%PORT_a%% sndbuf=40k; } }
    stream { server { listen 127.0.0.1:%%PORT_b%% deferred; return ""; } server { listen 127.0.0.1:%%PORT_c%% udp rcvbuf=1m; return ""; } }`;

ofLinux('options of listening sockets without epoll are named in a warning', async (t) => {
  const { code, stderr } = await check(t, tuned('node'));
  t.is(code, 0);
  t.regex(stderr, /\[warn\] .*"sndbuf=40k" of "listen" ignored, not supported by the event method "node" in .*:1; "use epoll" has it/);
  t.regex(stderr, /\[warn\] .*"deferred" of "listen" ignored/);
  t.notRegex(stderr, /rcvbuf/);
  t.notRegex((await check(t, tuned('epoll'))).stderr, /\[warn\]/);
  t.regex(
    (await check(t, 'events {} http { server { listen 80 sndbuff=1; } }')).stderr,
    /rcvbuf=size, sndbuf=size, deferred, fastopen=number/,
  );
});

test('other methods are accepted as far as the system has them', async (t) => {
  for (const method of ['node', 'epoll', 'poll']) await check(t, `events { use ${method}; } http {}`);
  t.pass();
});

function begun(port: number, text: string): Socket {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => undefined);
  if (text !== '') socket.write(text);
  return socket;
}
