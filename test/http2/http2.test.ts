import http2, { type ClientHttp2Session, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function connectTo(t: ExecutionContext, url: string): ClientHttp2Session {
  const session = http2.connect(url, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  t.teardown(() => session.destroy());
  return session;
}

function ask(session: ClientHttp2Session, headers: OutgoingHttpHeaders, body?: string | Buffer): Promise<Response> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    const pieces: Buffer[] = [];
    let received: IncomingHttpHeaders = {};
    stream.on('response', (head) => (received = head));
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('error', reject);
    stream.on('close', () => resolve({ status: Number(received[':status']), headers: received, body: Buffer.concat(pieces).toString() }));
    if (body !== undefined) stream.end(body);
  });
}

function start(t: ExecutionContext, locations: string, more = ''): Promise<Srv> {
  return startSrv(
    t,
    `error_log logs/error.log info; events {}
    http {
      log_format short "$server_protocol $request $status $body_bytes_sent";
      access_log logs/access.log short;
      server { listen 127.0.0.1:%%PORT_web%%; http2 on; ${locations} } ${more}
    }`,
  );
}

const url = (srv: Srv): string => `http://127.0.0.1:${srv.port('web')}`;

test('HTTP/2 with prior knowledge, beside HTTP/1 on the same port', async (t) => {
  const srv = await start(t, 'location / { return 200 "$server_protocol $host $http_x_a $http_cookie"; }');
  const session = connectTo(t, url(srv));
  const { status, headers, body } = await ask(session, { ':path': '/a?b=c', 'x-a': 'one', cookie: ['k=1', 'l=2'] });
  t.is(status, 200);
  t.is(body, 'HTTP/2.0 127.0.0.1 one k=1; l=2');
  t.is(headers['content-length'], String(body.length));
  t.is(headers.connection, undefined);
  t.is((await get(srv.port('web'), '/')).body, 'HTTP/1.1 127.0.0.1  ');
  await srv.waitForLog(/^HTTP\/2\.0 GET \/a\?b=c HTTP\/2\.0 200 31$/m, 'logs/access.log');
});

test('HTTP/2 is agreed on by ALPN, for the server that the client names', async (t) => {
  const { key, cert } = selfSigned('one.test', 'two.test');
  const srv = await startSrv(
    t,
    `events {} http { ssl_certificate a.pem; ssl_certificate_key a.key;
      server { listen 127.0.0.1:%%PORT_web%% ssl; server_name one.test; return 200 $server_protocol; }
      server { listen 127.0.0.1:%%PORT_web%% ssl; server_name two.test; http2 on; return 200 $server_protocol; } }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  );
  const session = http2.connect(`https://127.0.0.1:${srv.port('web')}`, { rejectUnauthorized: false, servername: 'two.test' });
  t.teardown(() => session.destroy());
  t.is((await ask(session, { ':path': '/', ':authority': 'two.test' })).body, 'HTTP/2.0');
  const refused = http2.connect(`https://127.0.0.1:${srv.port('web')}`, { rejectUnauthorized: false, servername: 'one.test' });
  await t.throwsAsync(new Promise((_, reject) => refused.on('error', reject)), undefined, 'no HTTP/2 where it is off');
});

test('many requests at once, large bodies both ways', async (t) => {
  const large = 'x'.repeat(2_000_000);
  const backend = await httpBackend(t, (request, response) => {
    if (request.method === 'POST') void bodyOf(request).then((body) => response.end(body));
    else response.end(request.url === '/large' ? large : request.url);
  });
  const srv = await start(t, `client_max_body_size 10m; location / { proxy_pass http://127.0.0.1:${backend.port}; }`);
  const session = connectTo(t, url(srv));
  const paths = Array.from({ length: 300 }, (_, at) => `/${at}`);
  const bodies = await Promise.all(paths.map(async (path) => (await ask(session, { ':path': path })).body));
  t.deepEqual(bodies, paths);
  t.is((await ask(session, { ':path': '/large' })).body, large);
  t.is((await ask(session, { ':path': '/', ':method': 'POST' }, large)).body, large);
  t.is((await ask(session, { ':path': '/', ':method': 'HEAD' })).body, '');
});

test('a client that is slow stops the member', async (t) => {
  let sent = 0;
  const backend = await httpBackend(t, (_, response) => {
    const piece = Buffer.alloc(65_536);
    const go = (): void => {
      if (++sent > 400) return;
      if (response.write(piece)) setImmediate(go);
      else response.once('drain', go);
    };
    go();
  });
  const srv = await start(t, `location / { proxy_pass http://127.0.0.1:${backend.port}; }`);
  const session = connectTo(t, url(srv));
  const stream = session.request({ ':path': '/' });
  await new Promise((resolve) => stream.on('response', resolve));
  let before = -1;
  await waitFor('the member to stand still', () => {
    const still = sent === before;
    before = sent;
    return still && sent > 0;
  });
  t.true(sent < 390);
});

test('a reset request is 499 and frees its member', async (t) => {
  let closed = false;
  const backend = await httpBackend(t, (request) => request.on('close', () => (closed = true)));
  const srv = await start(t, `location / { proxy_pass http://127.0.0.1:${backend.port}; } location /own { return 200 still; }`);
  const session = connectTo(t, url(srv));
  const stream = session.request({ ':path': '/' });
  stream.on('error', () => undefined);
  await waitFor('the request at the member', () => backend.requests.length > 0);
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await waitFor('the member to be left', () => closed);
  await srv.waitForLog(/GET \/ HTTP\/2\.0 499/, 'logs/access.log');
  t.is((await ask(session, { ':path': '/own' })).body, 'still', 'the connection goes on');
});

test('quit and reload say GOAWAY, and what is under way is completed', async (t) => {
  let answer: (() => void) | undefined;
  const backend = await httpBackend(t, (_, response) => (answer = () => response.end('done')));
  const srv = await start(t, `location / { proxy_pass http://127.0.0.1:${backend.port}; }`);
  const session = connectTo(t, url(srv));
  let leaving = false;
  session.on('goaway', () => (leaving = true));
  const response = ask(session, { ':path': '/' });
  await waitFor('the request at the member', () => answer !== undefined);
  srv.signal('SIGQUIT');
  await waitFor('GOAWAY', () => leaving);
  answer?.();
  t.is((await response).body, 'done');
});

test('client_max_body_size and limits of heads hold', async (t) => {
  const backend = await httpBackend(t, (request, response) => void bodyOf(request).then(() => response.end('taken')));
  const srv = await start(
    t,
    `client_max_body_size 1k; large_client_header_buffers 2 1k; location / { proxy_pass http://127.0.0.1:${backend.port}; }`,
  );
  const session = connectTo(t, url(srv));
  t.is((await ask(session, { ':path': '/', ':method': 'POST' }, 'x'.repeat(5000))).status, 413);
  t.is((await ask(session, { ':path': '/', 'x-a': 'y'.repeat(1500) })).status, 400);
  t.is((await ask(session, { ':path': `/${'z'.repeat(1500)}` })).status, 414);
  t.is((await ask(session, { ':path': '/', ':method': 'POST' }, 'short')).body, 'taken', 'the connection goes on');
});
