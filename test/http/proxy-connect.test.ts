/** CONNECT: srv_http_proxy_connect_module over HTTP/1 and HTTP/2. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import test, { type ExecutionContext } from 'ava';
import { httpBackend, rawBackend, type Backend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { connectRaw, connectRawTls, exchange, get, RawConnection } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternBytes, patternDigest } from './byte-streams.js';

/** Of `user:secret`, made with `openssl passwd -apr1`. */
const HASH = '$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0';

interface Site {
  readonly srv: Srv;
  readonly echo: Backend;
}

async function start(t: Scope): Promise<Site> {
  const echo = await rawBackend(t, (socket) => socket.on('data', (chunk) => socket.write(chunk)));
  const { cert, key } = selfSigned('proxy.example');
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_proxy_connect_module.so;
    error_log logs/error.log info;
    events {}
    http {
      log_format tunnel '$status $remote_user $connect_host $connect_port $connect_addr '
        '$proxy_connect_resolve_time $proxy_connect_connect_time $proxy_connect_first_byte_time '
        '[$upstream_addr $upstream_bytes_sent $upstream_bytes_received] $request_completion';
      access_log logs/access.log tunnel;
      limit_conn_zone $server_port zone=tunnels:32k;
      server {
        listen 127.0.0.1:%%PORT_open%%;
        http2 on;
        add_header X-Proxy srv;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow 127.0.0.0/8 ::1;
        location / { proxy_pass http://$http_host; }
      }
      server {
        listen 127.0.0.1:%%PORT_closed%%;
        proxy_connect;
        proxy_connect_allow 1-65535;
        proxy_connect_destination deny 127.0.0.9;
        proxy_connect_destination allow 127.0.0.8/29;
        location / { return 200 "a request"; }
      }
      server {
        listen 127.0.0.1:%%PORT_default%%;
        proxy_connect;
        error_page 403 @passed;
        error_page 502 @page;
        location @passed { proxy_pass http://127.0.0.1:${echo.port}; }
        location @page { return 502 "no such server"; }
      }
      server {
        listen 127.0.0.1:%%PORT_private%%;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow all;
        auth_basic proxy;
        auth_basic_user_file users;
        location / { proxy_pass http://$http_host; }
      }
      server {
        listen 127.0.0.1:%%PORT_short%%;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow all;
        proxy_connect_connect_timeout 60s;
        proxy_connect_data_timeout 300ms;
        proxy_connect_bind 127.0.0.5;
        proxy_connect_response "HTTP/1.1 201 Ready\\r\\nX-Via: $connect_addr\\r\\n\\r\\n";
        limit_conn tunnels 1;
        if ($connect_host = "127.0.0.4") { set $proxy_connect_connect_timeout 300ms; }
        if ($connect_host = forbidden.example) { return 410; }
      }
      server {
        listen 127.0.0.1:%%PORT_fixed%%;
        proxy_connect;
        proxy_connect_address 127.0.0.1:${echo.port};
      }
      server {
        listen 127.0.0.1:%%PORT_secure%% ssl;
        ssl_certificate proxy.pem;
        ssl_certificate_key proxy.key;
        proxy_connect;
        proxy_connect_allow all;
        proxy_connect_destination allow 127.0.0.0/8;
      }
      server { listen 127.0.0.1:%%PORT_plain%%; location / { return 200 plain; } }
    }`,
    { files: { 'conf/users': `user:${HASH}\n`, 'conf/proxy.pem': cert, 'conf/proxy.key': key } },
  );
  return { srv, echo };
}

const site = shared(start);

const connectTo = (target: string, fields = ''): string => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${fields}\r\n`;

async function tunnel(t: ExecutionContext, port: number, target: string, early = '', fields = ''): Promise<RawConnection> {
  const connection = await connectRaw(t, port);
  connection.send(connectTo(target, fields) + early);
  await connection.receive(/^HTTP\/1\.1 20\d [^]*?\r\n\r\n/);
  return connection;
}

async function statusOf(t: ExecutionContext, port: number, target: string, fields = ''): Promise<number> {
  return Number((await exchange(t, port, connectTo(target, fields))).slice(9, 12));
}

test('bytes go both ways, those that came with the request included', async (t) => {
  const { srv, echo } = await site();
  const connection = await tunnel(t, srv.port('open'), `localhost:${echo.port}`, 'early');
  await connection.receive(/early$/);
  const [head = ''] = connection.take().split('\r\n\r\n');
  t.regex(head, /^HTTP\/1\.1 200 Connection established\r\n/);
  t.regex(head, /\r\nX-Proxy: srv$/m);
  t.notRegex(head, /Content-Length|Transfer-Encoding|Content-Type|\r\nConnection:/i);
  for (const message of ['hello', '\0\xff\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n']) {
    connection.send(message);
    await waitFor('the echo', () => connection.received === message);
    connection.take();
  }
  connection.socket.end();
  await connection.receiveAll();
  const [, sent, received] = await srv.waitForLog(
    new RegExp(
      `^200 - localhost ${echo.port} 127.0.0.1:${echo.port} 0\\.0\\d\\d 0\\.\\d{3} 0\\.\\d{3} \\[127.0.0.1:${echo.port} (\\d+) (\\d+)\\] OK$`,
      'm',
    ),
    'logs/access.log',
  );
  t.deepEqual([sent, received], ['43', '43']);
});

test('either side may end its half and go on reading', async (t) => {
  const { srv } = await site();
  const ends: string[] = [];
  const backend = await rawBackend(t, (socket) => {
    let text = '';
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => (text += chunk.toString()));
    socket.on('end', () => {
      ends.push(text);
      if (text === 'first') socket.end('second');
    });
    socket.write('hello');
    if (ends.length > 0) socket.end();
  });
  const client = async (): Promise<RawConnection> => {
    const socket = connect({ port: srv.port('open'), host: '127.0.0.1', allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    const connection = new RawConnection(socket);
    connection.send(connectTo(`127.0.0.1:${backend.port}`));
    await connection.receive(/\r\n\r\nhello$/);
    return connection;
  };
  const first = await client();
  first.send('first');
  first.socket.end();
  await first.receive(/hellosecond$/);
  t.deepEqual(ends, ['first']);
  const other = await client();
  await waitFor('the end of the server', () => other.closed);
  other.send('after');
  other.socket.end();
  await waitFor('what the client sent after it', () => ends.includes('after'));
});

test('the proxy itself may speak TLS', async (t) => {
  const { srv } = await site();
  const backend = await rawBackend(t, (socket) => {
    socket.allowHalfOpen = true;
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('end', () => socket.end('bye'));
  });
  const connection = await connectRawTls(t, srv.port('secure'));
  connection.send(`${connectTo(`127.0.0.1:${backend.port}`)}early`);
  await connection.receive(/^HTTP\/1\.1 200 [^]*\r\n\r\nearly$/);
  connection.socket.end();
  await connection.receive(/earlybye$/);
  t.regex(
    await exchange(t, srv.port('secure'), connectTo(`127.0.0.1:${backend.port}`)),
    /^HTTP\/1\.1 400 [^]*plain HTTP request was sent to HTTPS port/,
  );
});

test('large bodies wait for the slower side', async (t) => {
  const { srv } = await site();
  const length = 6_000_000;
  const atServer = new HashingSink(1);
  const backend = await rawBackend(t, (socket) => {
    socket.pipe(atServer);
    void send(socket, length);
  });
  const connection = await connectRaw(t, srv.port('open'));
  const atClient = new HashingSink(1);
  connection.socket.setEncoding('latin1').removeAllListeners('data');
  connection.send(connectTo(`127.0.0.1:${backend.port}`));
  let inTunnel = false;
  connection.socket.on('data', (text: string) => {
    const piece = inTunnel ? text : text.slice(text.indexOf('\r\n\r\n') + 4);
    inTunnel = true;
    if (atClient.write(Buffer.from(piece, 'latin1'))) return;
    connection.socket.pause();
    atClient.once('drain', () => connection.socket.resume());
  });
  await send(connection.socket, length);
  connection.socket.end();
  connection.socket.on('end', () => atClient.end());
  await waitFor('all bytes', () => atServer.writableFinished && atClient.writableFinished, 30_000);
  t.is(atServer.digest(), patternDigest(length));
  t.is(atClient.digest(), patternDigest(length));
});

test('only the authority of a server is a target', async (t) => {
  const { srv, echo } = await site();
  const port = srv.port('open');
  for (const target of [
    'a.example',
    'a.example:',
    'a.example:0',
    'a.example:65536',
    'a.example:http',
    '/',
    '*',
    'http://a.example:80/',
    'u@a.example:80',
  ])
    t.is(await statusOf(t, port, target), 400, target);
  for (const target of ['[v1.x]:80', '::1:80', '[127.0.0.1]:80', '[fe80::1%lo]:80', 'a..example:80', "a'b.example:80", '%61.example:80'])
    t.is(await statusOf(t, port, target), 400, target);
  t.is(await statusOf(t, port, `127.0.0.1:${echo.port}`, 'Content-Length: 5\r\n'), 400, 'a body');
  t.is(await statusOf(t, port, `127.0.0.1:${echo.port}`, 'Transfer-Encoding: chunked\r\n'), 400);
  t.is(await statusOf(t, srv.port('plain'), 'a.example:443'), 405, 'not a forward proxy');
});

test('only ports that are allowed', async (t) => {
  const { srv, echo } = await site();
  const byDefault = srv.port('default');
  t.is(await statusOf(t, byDefault, `127.0.0.1:${echo.port}`), 405, 'the page of the 403 is not passed on');
  await srv.waitForLog(new RegExp(`\\[error\\] .*proxy_connect: port ${echo.port} is not allowed, client: 127.0.0.1`));
  t.is(await statusOf(t, byDefault, 'no-such.invalid:443'), 502, 'the port is allowed');
  t.is(await statusOf(t, byDefault, 'no-such.invalid:563'), 502);
  await srv.waitForLog(/\[error\] .*proxy_connect: no-such\.invalid could not be resolved \(3: Host not found\)/);
  t.is(await statusOf(t, srv.port('closed'), 'no-such.invalid:1'), 502);
});

test('addresses of this machine, private and special networks are closed, whatever name they have', async (t) => {
  const { srv, echo } = await site();
  const port = srv.port('closed');
  const hosts = [
    '127.0.0.1',
    'localhost',
    'LOCALHOST',
    'localhost.',
    'x.localhost',
    '0.0.0.0',
    '169.254.169.254',
    '10.0.0.1',
    '192.168.1.1',
    '100.64.0.1',
  ];
  const literals = [
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'fd00::1',
    'fe80::1',
    'ff02::1',
  ];
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  hosts.push(...own.filter(({ family }) => family === 'IPv4').map(({ address }) => address));
  for (const host of [...hosts, ...literals.map((literal) => `[${literal}]`)])
    t.is(await statusOf(t, port, `${host}:${echo.port}`), 403, host);
  await srv.waitForLog(/\[error\] .*proxy_connect: destination 169\.254\.169\.254 is not allowed/);
  t.is(await statusOf(t, port, `127.0.0.9:${echo.port}`), 403, 'the first rule that fits');
  // Nothing listens there: it was tried.
  t.is(await statusOf(t, port, '127.0.0.10:1'), 502);
  t.is(await statusOf(t, port, '[::ffff:127.0.0.10]:1'), 502);
  const allowed = await tunnel(t, srv.port('open'), `[::ffff:127.0.0.1]:${echo.port}`, 'x');
  await allowed.receive(/x$/);
});

test('what follows a CONNECT that is rejected is no request', async (t) => {
  const { srv } = await site();
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
  for (const [name, target] of [
    ['closed', '127.0.0.1:80'],
    ['plain', 'a.example:443'],
    ['private', 'a.example:443'],
  ] as const) {
    const response = await exchange(t, srv.port(name), connectTo(target) + smuggled);
    t.regex(response, /^HTTP\/1\.1 4\d\d [^]*\r\nConnection: close\r\n/);
    t.notRegex(response, /a request|plain$/);
    t.is(response.match(/HTTP\/1\.1/g)?.length, 1);
  }
  t.regex(await exchange(t, srv.port('default'), connectTo('no-such.invalid:443')), /^HTTP\/1\.1 502 [^]*no such server$/);
});

test('the next address is tried when one fails', async (t) => {
  const { srv, echo } = await site();
  // ::1 and 127.0.0.1; nothing listens on the former.
  const connection = await tunnel(t, srv.port('open'), `any.localhost:${echo.port}`, 'x');
  await connection.receive(/x$/);
  t.is(await statusOf(t, srv.port('open'), '127.0.0.1:1'), 502);
  await srv.waitForLog(
    /\[error\] .*connect\(\) failed \(111: Connection refused\) while connecting to 127\.0\.0\.1:1, client: .*upstream: "127\.0\.0\.1:1"/,
  );
  await srv.waitForLog(/^502 - 127\.0\.0\.1 1 127\.0\.0\.1:1 0\.000 - - \[127\.0\.0\.1:1 0 0\] OK$/m, 'logs/access.log');
});

test('credentials are those for a proxy', async (t) => {
  const { srv, echo } = await site();
  const target = `127.0.0.1:${echo.port}`;
  const right = `Basic ${Buffer.from('user:secret').toString('base64')}`;
  const asked = await exchange(t, srv.port('private'), connectTo(target));
  t.regex(asked, /^HTTP\/1\.1 407 Proxy Authentication Required\r\n[^]*\r\nProxy-Authenticate: Basic realm="proxy", charset="UTF-8"\r\n/);
  t.notRegex(asked, /WWW-Authenticate/);
  t.is(await statusOf(t, srv.port('private'), target, `Authorization: ${right}\r\n`), 407, 'those for a server');
  t.is(await statusOf(t, srv.port('private'), target, 'Proxy-Authorization: Basic dXNlcjp4\r\n'), 407);
  const connection = await tunnel(t, srv.port('private'), target, 'x', `Proxy-Authorization: ${right}\r\n`);
  await connection.receive(/x$/);
  connection.socket.end();
  await srv.waitForLog(/^200 user 127\.0\.0\.1 /m, 'logs/access.log');

  const origin = await httpBackend(t, (request, response) => response.end(JSON.stringify(request.headers)));
  const url = `http://127.0.0.1:${origin.port}/x`;
  t.is((await get(srv.port('private'), url)).status, 407, 'a plain request to a proxy');
  const passed = await get(srv.port('private'), url, { headers: { 'proxy-authorization': right } });
  t.is(passed.status, 200);
  t.is(origin.requests[0]?.url, '/x');
  t.notRegex(passed.body, /proxy-authorization/, 'they are not for the server');
  t.is((await get(srv.port('private'), '/')).status, 401, 'a request to this server itself');
});

test('time limits, limits, local address and response', async (t) => {
  const { srv, echo } = await site();
  const port = srv.port('short');
  const sources: (string | undefined)[] = [];
  const silent = await rawBackend(t, (socket) => sources.push(socket.remoteAddress));
  const idle = await connectRaw(t, port);
  idle.send(connectTo(`127.0.0.1:${silent.port}`));
  await idle.receive(/\r\n\r\n$/);
  t.is(idle.received, `HTTP/1.1 201 Ready\r\nX-Via: 127.0.0.1:${silent.port}\r\n\r\n`);
  t.deepEqual(sources, ['127.0.0.5']);
  t.is(await statusOf(t, port, `127.0.0.1:${echo.port}`), 503, 'limit_conn');
  await idle.receiveAll();
  await srv.waitForLog(/\[info\] .*connection timed out \(110: Connection timed out\) while proxying connection/);
  await waitFor('its place', async () => (await statusOf(t, port, 'forbidden.example:443')) === 410);

  const full = await fullBackend(t);
  const late = await exchange(t, port, connectTo(`127.0.0.4:${full}`));
  t.regex(late, /^HTTP\/1\.1 504 /);
  await srv.waitForLog(/\[error\] .*upstream timed out \(110: Connection timed out\) while connecting to upstream/);
});

test('proxy_connect_address takes the place of the host', async (t) => {
  const { srv } = await site();
  const connection = await tunnel(t, srv.port('fixed'), 'no-such.invalid:443', 'x');
  await connection.receive(/x$/);
  t.is(await statusOf(t, srv.port('fixed'), 'a.example:80'), 403, 'the port is that of the client');
});

test('HTTP/2: each stream is a tunnel of its own', async (t) => {
  const { srv, echo } = await site();
  const session = connectHttp2(`http://127.0.0.1:${srv.port('open')}`);
  t.teardown(() => session.destroy());
  session.on('error', () => undefined);
  const target = `localhost:${echo.port}`;
  const streams = ['one', 'two'].map((text) => {
    const stream = session.request({ ':method': 'CONNECT', ':authority': target });
    stream.write(text);
    return { stream, text, received: collected(stream), response: once(stream, 'response') };
  });
  for (const { stream, text, received, response } of streams) {
    const [headers] = (await response) as [Record<string, unknown>];
    t.is(headers[':status'], 200);
    t.is(headers['x-proxy'], 'srv');
    t.is(headers['content-length'], undefined);
    await waitFor('the echo', () => received() === text);
    stream.end('!');
    await once(stream, 'close');
    t.is(received(), `${text}!`);
    t.is(stream.rstCode, 0);
  }
  t.is(await http2Status(session, '127.0.0.1:1'), 502);
  t.is(await http2Status(session, 'no-such.invalid:80'), 502);
  t.is(await http2Status(session, 'a.example'), 400);
});

test('HTTP/2: large bodies both ways, and a server that breaks off', async (t) => {
  const { srv } = await site();
  const length = 3_000_000;
  const atServer = new HashingSink(1);
  const backend = await rawBackend(t, (socket) => {
    socket.pipe(atServer);
    void send(socket, length);
  });
  const session = connectHttp2(`http://127.0.0.1:${srv.port('open')}`);
  t.teardown(() => session.destroy());
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${backend.port}` });
  const atClient = new HashingSink(1);
  stream.pipe(atClient);
  await send(stream, length);
  stream.end();
  await waitFor('all bytes', () => atServer.writableFinished && atClient.writableFinished, 30_000);
  t.is(atServer.digest(), patternDigest(length));
  t.is(atClient.digest(), patternDigest(length));

  const breaking = await rawBackend(t, (socket) => socket.once('data', () => socket.resetAndDestroy()));
  const broken = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${breaking.port}` });
  broken.on('error', () => undefined);
  broken.write('x');
  await waitFor('the end of the stream', () => broken.closed);
  t.is(broken.rstCode, 10, 'CONNECT_ERROR (RFC 9113, 8.5)');
});

test('tunnels end with worker_shutdown_timeout', async (t) => {
  const echo = await rawBackend(t, (socket) => socket.on('data', (chunk) => socket.write(chunk)));
  const srv = await startSrv(
    t,
    `load_module modules/srv_http_proxy_connect_module.so;
    error_log logs/error.log notice;
    worker_shutdown_timeout 1s;
    worker_processes 1;
    events { worker_connections 2; }
    http {
      access_log logs/access.log;
      server { listen 127.0.0.1:%%PORT_web%%; proxy_connect; proxy_connect_allow all; proxy_connect_destination allow 127.0.0.0/8; }
    }`,
    { allowCrashes: true },
  );
  const first = await tunnel(t, srv.port('web'), `127.0.0.1:${echo.port}`);
  await tunnel(t, srv.port('web'), `127.0.0.1:${echo.port}`);
  const third = await connectRaw(t, srv.port('web'));
  await third.receiveAll();
  await srv.waitForLog(/2 worker_connections are not enough/);
  srv.signal('SIGQUIT');
  await srv.waitForLog(/gracefully shutting down/);
  first.send('still there');
  await first.receive(/still there$/);
  await first.receiveAll();
  t.is((await srv.exited).code, 0);
  t.is(srv.read('logs/access.log').match(/"CONNECT 127/g)?.length, 2);
});

function collected(stream: ClientHttp2Stream): () => string {
  let text = '';
  stream.setEncoding('latin1').on('data', (piece: string) => (text += piece));
  return () => text;
}

async function http2Status(session: ClientHttp2Session, authority: string): Promise<unknown> {
  const stream = session.request({ ':method': 'CONNECT', ':authority': authority });
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  stream.resume().end();
  return headers[':status'];
}

async function send(to: Socket | ClientHttp2Stream, length: number): Promise<void> {
  for await (const piece of patternBytes(length)) if (!to.write(piece)) await once(to, 'drain');
  to.end();
}

/** A port whose queue of connections is full, in a process that accepts none: connecting takes for ever. */
async function fullBackend(t: ExecutionContext): Promise<number> {
  const program = `const server = require('node:net').createServer().listen({ port: 0, backlog: 1 }, () => {
    require('node:fs').writeSync(1, server.address().port + '\\n');
    for (;;);
  });`;
  const child = spawn(process.execPath, [
    '-e',
    program.replace('for (;;);', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'),
  ]);
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  const sockets = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => undefined));
  t.teardown(() => sockets.forEach((socket) => socket.destroy()));
  await waitFor('a full queue', () => sockets.some((socket) => !socket.connecting) && sockets.some((socket) => socket.connecting));
  return port;
}

test('what cannot be meant is a configuration error', async (t) => {
  const errorsOf = async (lines: string): Promise<string> => {
    const { code, stderr } = await check(
      t,
      `load_module modules/srv_http_proxy_connect_module.so; events {} http { server { listen 127.0.0.1:%%PORT_web%%; proxy_connect; ${lines} } }`,
    );
    return code === 0 ? '' : stderr;
  };
  t.is(
    await errorsOf('proxy_connect_allow 443 8000-8999; proxy_connect_send_timeout 1s; proxy_connect_destination deny 10.0.0.0/8 all;'),
    '',
  );
  t.regex(await errorsOf('proxy_connect_allow 0;'), /invalid port "0"/);
  t.regex(await errorsOf('proxy_connect_allow 90-80;'), /invalid port "90-80"/);
  t.regex(await errorsOf('proxy_connect_allow 65536;'), /invalid port "65536"/);
  t.regex(await errorsOf('proxy_connect_destination allow;'), /invalid number of arguments in "proxy_connect_destination" directive/);
  t.regex(await errorsOf('proxy_connect_destination permit all;'), /invalid value "permit"/);
  t.regex(await errorsOf('proxy_connect_destination allow unix:;'), /invalid parameter "unix:"/);
  t.regex(await errorsOf('proxy_connect_destination allow a.example;'), /invalid parameter "a.example"/);
  t.regex(await errorsOf('proxy_connect_bind 10.0.0.1 transparent;'), /"transparent" is not supported by this version/);
  t.regex(await errorsOf('proxy_connect_address a.example;'), /invalid address "a.example"/);
  t.regex(await errorsOf('proxy_connect_response "HTTP/1.1 404 No\\r\\n\\r\\n";'), /invalid response to CONNECT/);
  t.regex(await errorsOf('proxy_connect_read_timeout 1s; proxy_connect_data_timeout 1s;'), /is the same as "proxy_connect_data_timeout"/);
});
