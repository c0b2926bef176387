/** `tunnel_pass` to upstreams, in servers and in locations: which member a tunnel leads to, and how it counts there. */
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rawBackend, type Backend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { connectTo, statusOf, tunnel } from './proxy-connect-site.js';

const LOAD = 'load_module modules/srv_http_proxy_connect_module.so;';
const TARGET = 'elsewhere.example:1';

interface Site {
  readonly srv: Srv;
  readonly a: Backend;
  readonly b: Backend;
}

/** Says its name, then repeats what it gets. */
function echoAs(name: string): (socket: Socket) => void {
  return (socket) => {
    socket.on('error', () => undefined);
    socket.write(`${name}:`);
    socket.on('data', (chunk) => socket.write(chunk));
  };
}

async function startSite(t: Scope): Promise<Site> {
  const [a, b] = [await rawBackend(t, echoAs('a')), await rawBackend(t, echoAs('b'))];
  const srv = await startSrv(
    t,
    `${LOAD}
    error_log logs/error.log info;
    worker_processes 1;
    events {}
    http {
      log_format tunnel '$server_port $status [$upstream_addr] [$upstream_status] [$upstream_connect_time] '
        '$upstream_bytes_sent $upstream_bytes_received $request_completion';
      access_log logs/access.log tunnel;
      upstream pair { server 127.0.0.1:${a.port}; server 127.0.0.1:${b.port}; }
      upstream turns { server 127.0.0.1:${a.port}; server 127.0.0.1:${b.port}; }
      upstream first_dead { server 127.0.0.1:1 weight=9; server 127.0.0.1:${a.port}; }
      upstream off_dead { server 127.0.0.1:1 weight=9 max_fails=0; server 127.0.0.1:${a.port}; }
      upstream single { zone single 64k; server 127.0.0.1:${a.port} max_conns=1; }
      map $host $group { a.example pair; b.example 127.0.0.1:${b.port}; default unix:%%PREFIX%%/b.sock; }
      tunnel_connect_timeout 30s;
      server { listen 127.0.0.1:%%PORT_pair%%; http2 on; tunnel_pass pair; location / { deny all; } }
      server { listen 127.0.0.1:%%PORT_turns%%; tunnel_pass turns; }
      server { listen 127.0.0.1:%%PORT_dead%%; tunnel_pass first_dead; }
      server { listen 127.0.0.1:%%PORT_off%%; tunnel_pass off_dead; tunnel_next_upstream off; }
      server { listen 127.0.0.1:%%PORT_tries%%; tunnel_pass off_dead; tunnel_next_upstream_tries 1; }
      server { listen 127.0.0.1:%%PORT_single%%; tunnel_pass single; }
      server { listen 127.0.0.1:%%PORT_unix%%; tunnel_pass unix:%%PREFIX%%/b.sock; }
      server { listen 127.0.0.1:%%PORT_variable%%; tunnel_pass $group; }
      server { listen 127.0.0.1:%%PORT_idle%%; tunnel_pass 127.0.0.1:${b.port}; tunnel_read_timeout 500ms; }
      server {
        listen 127.0.0.1:%%PORT_location%%;
        location / {
          tunnel_pass single;
          if ($host = pair.example) { tunnel_pass pair; }
          if ($host = no.example) { return 410; }
        }
        location /plain { return 200 plain; }
      }
      server { listen 127.0.0.1:%%PORT_denied%%; location / { deny all; tunnel_pass pair; } }
      server { listen 127.0.0.1:%%PORT_internal%%; location / { internal; tunnel_pass pair; } }
      server { listen 127.0.0.1:%%PORT_elsewhere%%; location / { return 200 content; } location /x { tunnel_pass pair; } }
    }`,
  );
  const socket = createServer(echoAs('unix')).listen(`${srv.prefix}/b.sock`);
  await once(socket, 'listening');
  t.teardown(() => socket.close());
  return { srv, a, b };
}

const site = shared(startSite);

/** Ends a tunnel from the client's side. */
async function end(connection: RawConnection): Promise<void> {
  connection.socket.end();
  await connection.receiveAll();
}

test('members are chosen by the balancing of the upstream', async (t) => {
  const { srv, a, b } = await site();
  const names: string[] = [];
  for (let at = 0; at < 4; at++) {
    const connection = await tunnel(t, srv.port('turns'), TARGET, 'early');
    await connection.receive(/:early$/);
    t.regex(connection.received, /^HTTP\/1\.1 200 Connection established\r\n/);
    t.notRegex(connection.received, /Content-Length|Transfer-Encoding|Content-Type|\r\nConnection:/i);
    names.push(/(\w):early$/.exec(connection.received)?.[1] ?? '');
    connection.socket.end();
    await connection.receiveAll();
  }
  t.deepEqual(names.toSorted(), ['a', 'a', 'b', 'b']);
  for (const { port } of [a, b])
    await srv.waitForLog(
      new RegExp(`^${srv.port('turns')} 200 \\[127.0.0.1:${port}\\] \\[200\\] \\[\\d\\.\\d{3}\\] 5 7 OK$`, 'm'),
      'logs/access.log',
    );
});

test('the next member is tried until one can be connected to', async (t) => {
  const { srv, a } = await site();
  await end(await tunnel(t, srv.port('dead'), TARGET));
  await srv.waitForLog(new RegExp(`^\\d+ 200 \\[127\\.0\\.0\\.1:1, 127\\.0\\.0\\.1:${a.port}\\] \\[502, 200\\] `, 'm'), 'logs/access.log');
  await srv.waitForLog(
    /\[error\] .*connect\(\) failed \(111: Connection refused\) while connecting to upstream, .*upstream: "127\.0\.0\.1:1"/,
  );
  t.is(await statusOf(t, srv.port('off'), TARGET), 502, 'tunnel_next_upstream off');
  t.is(await statusOf(t, srv.port('tries'), TARGET), 502, 'tunnel_next_upstream_tries');
});

test('a tunnel counts as a connection of its member until it ends', async (t) => {
  const { srv } = await site();
  const open = await tunnel(t, srv.port('single'), TARGET, 'x');
  await open.receive(/a:x$/);
  t.is(await statusOf(t, srv.port('single'), TARGET), 502);
  await srv.waitForLog(/\[error\] .*no live upstreams while connecting to upstream/);
  await end(open);
  await waitFor('a place', async () => (await headOf(t, srv.port('single'))).startsWith('HTTP/1.1 200'));
});

test('a location of the path / opens tunnels where the server has no tunnel_pass', async (t) => {
  const { srv } = await site();
  const connection = await tunnel(t, srv.port('location'), 'pair.example:443', 'early');
  await connection.receive(/[ab]:early$/);
  await end(connection);
  t.is(await statusOf(t, srv.port('location'), 'no.example:443'), 410, 'a rule of the location');
  t.is((await get(srv.port('location'), '/plain')).body, 'plain');
  t.is(await statusOf(t, srv.port('denied'), TARGET), 403);
  t.is(await statusOf(t, srv.port('internal'), TARGET), 405);
  t.is(await statusOf(t, srv.port('elsewhere'), TARGET), 405, 'no location of the path / opens tunnels');
  t.is((await get(srv.port('elsewhere'), '/')).body, 'content');
});

test('unix sockets, and targets that variables name', async (t) => {
  const { srv, b } = await site();
  const fixed = await tunnel(t, srv.port('unix'), TARGET, 'x');
  await fixed.receive(/unix:x$/);
  const named = await tunnel(t, srv.port('variable'), 'a.example:1', 'x');
  await named.receive(/[ab]:x$/);
  t.is(await statusOf(t, srv.port('variable'), 'b.example:1'), 403, 'proxy_connect_destination');
  await srv.waitForLog(/proxy_connect: destination 127\.0\.0\.1 is not allowed/);
  t.is(await statusOf(t, srv.port('variable'), 'c.example:1'), 502, 'a unix socket');
  await srv.waitForLog(/tunnel_pass: invalid address "unix:/);
  const idle = await tunnel(t, srv.port('idle'), TARGET, 'x');
  await idle.receiveAll();
  await srv.waitForLog(/\[info\] .*connection timed out \(110: Connection timed out\) while proxying connection/);
  await srv.waitForLog(new RegExp(`^${srv.port('idle')} 200 \\[127.0.0.1:${b.port}\\] `, 'm'), 'logs/access.log');
});

test('HTTP/2: a stream leads to a member', async (t) => {
  const { srv } = await site();
  const session = connectHttp2(`http://127.0.0.1:${srv.port('pair')}`);
  t.teardown(() => session.destroy());
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'CONNECT', ':authority': TARGET });
  let received = '';
  stream.setEncoding('latin1').on('data', (text: string) => (received += text));
  stream.write('hello');
  const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
  t.is(headers[':status'], 200);
  await waitFor('the echo', () => /^[ab]:hello$/.test(received));
  stream.end();
  await once(stream, 'close');
  t.is(stream.rstCode, 0);
});

test('what cannot be meant is a configuration error', async (t) => {
  const errorsOf = async (lines: string): Promise<string> =>
    (await check(t, `${LOAD} events {} http { server { listen 127.0.0.1:%%PORT_web%%; ${lines} } }`)).stderr;
  t.regex(await errorsOf('tunnel_pass nowhere.invalid:1;'), /host not found in upstream "nowhere\.invalid/);
  t.regex(await errorsOf('tunnel_pass 127.0.0.1;'), /no port in upstream "127\.0\.0\.1"[^]*write host:port, or the name of an upstream/);
  t.regex(await errorsOf('location @a { tunnel_pass; }'), /"tunnel_pass" is not allowed in a named location/);
  t.regex(await errorsOf('proxy_connect; tunnel_pass;'), /cannot be used together/);
});

/** The head of the response to CONNECT, whether or not it opens a tunnel. */
async function headOf(t: ExecutionContext, port: number): Promise<string> {
  const connection = await connectRaw(t, port);
  connection.send(connectTo(TARGET));
  await connection.receive(/\r\n\r\n/);
  connection.socket.end();
  return connection.received;
}
