/** ssl_early_data: requests that come along with the first message of TLS 1.3. */
import * as ffi from 'node:ffi';
import test from 'ava';
import { TlsContext } from '../../core/net/transport/tls-context.js';
import { addressBytes } from '../../core/net/transport/epoll/addresses.js';
import { SystemCalls } from '../../core/net/transport/epoll/calls.js';
import { OpenTls } from '../../core/net/transport/open-tls.js';
import { TlsEngine } from '../../core/net/transport/epoll/openssl/engine.js';
import { NONE } from '../../core/net/transport/epoll/openssl/library.js';
import { hasEpoll } from '../harness/event-methods.js';
import { httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const own = selfSigned('own.example');
const FILES = { 'conf/own.pem': own.cert, 'conf/own.key': own.key };
const TLS = 'ssl_certificate own.pem; ssl_certificate_key own.key;';

const calls = new SystemCalls(ffi);
const engine = new TlsEngine(ffi, calls, new OpenTls());
const { c } = engine.ssl;
const context = new TlsContext({ ca: [] });

const ofLinux = hasEpoll ? test : test.skip;

const site = shared(async (scope: Scope): Promise<Srv> => {
  const backend = await httpBackend(scope, (request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => (length += chunk.length));
    request.on('end', () => response.end(`<${request.method} ${String(request.headers['early-data'] ?? '-')} ${length}>`));
  });
  return startSrv(
    scope,
    `worker_processes 1; events { use epoll; } http { ${TLS}
      server { listen 127.0.0.1:%%PORT_early%% ssl; ssl_early_data on;
        location / { return 200 "<$ssl_early_data $ssl_session_reused $ssl_protocol>"; }
        location /pass { proxy_set_header Early-Data $ssl_early_data; proxy_pass http://127.0.0.1:${backend.port}; } }
      server { listen 127.0.0.1:%%PORT_late%% ssl; return 200 "<$ssl_early_data $ssl_session_reused>"; } }`,
    { files: FILES },
  );
});

interface Visit {
  readonly texts: readonly string[];
  readonly session: Buffer;
  /** All of the first request was sent before the handshake. */
  readonly wasEarly: boolean;
}

/** Sends requests one after the other on a connection of its own, the first one as early data if the session allows that. */
async function visit(port: number, session: Buffer | undefined, ...requests: readonly string[]): Promise<Visit> {
  const descriptor = calls.openSocket(2, 1);
  calls.connect(descriptor, addressBytes('127.0.0.1', port) as Buffer);
  await waitFor('a connection', () => calls.peerAddress(descriptor));
  const ssl = c.SSL_new(engine.contextOf(context));
  const number = Buffer.alloc(8);
  try {
    for (const set of [c.SSL_set0_rbio, c.SSL_set0_wbio]) set(ssl, c.BIO_new_socket(descriptor, 0));
    c.SSL_set_connect_state(ssl);
    const known = session === undefined ? NONE : engine.ssl.session(session);
    if (known !== NONE) {
      c.SSL_set_session(ssl, known);
      c.SSL_SESSION_free(known);
    }
    const [first = '', ...others] = requests.map((text) => Buffer.from(text));
    let wasEarly = false;
    if (session !== undefined) {
      wasEarly = c.SSL_write_early_data(ssl, first, BigInt(first.length), number) === 1;
      c.ERR_clear_error();
    }
    await waitFor('a handshake', () => c.SSL_do_handshake(ssl) === 1);
    const texts: string[] = [];
    const buffer = Buffer.alloc(65_536);
    for (const request of [first, ...others] as Buffer[]) {
      // A record at a time.
      for (let sent = request === first && wasEarly ? request.length : 0; sent < request.length;) {
        const count = c.SSL_write(ssl, engine.ssl.ffi.getRawPointer(request) + BigInt(sent), BigInt(request.length - sent));
        sent += Math.max(count, 0);
        if (count <= 0) await new Promise(setImmediate);
      }
      let received = '';
      await waitFor('a response', () => {
        const count = c.SSL_read(ssl, engine.ssl.ffi.getRawPointer(buffer), BigInt(buffer.length));
        if (count > 0) received += buffer.latin1Slice(0, count);
        return received.endsWith('>');
      });
      texts.push(/<.*>$/.exec(received)?.[0] ?? received);
    }
    const made = engine.ssl.encoded(c.SSL_get_session(ssl), 'i2d_SSL_SESSION') ?? Buffer.alloc(0);
    return { texts, session: made, wasEarly };
  } finally {
    c.SSL_free(ssl);
    c.ERR_clear_error();
    calls.close(descriptor);
  }
}

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';
const PASSED = 'GET /pass HTTP/1.1\r\nHost: a\r\n\r\n';
const post = (length: number): string => `POST /pass HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`;

ofLinux('a request in early data is served before the handshake is over, and variable and header say so', async (t) => {
  const port = (await site()).port('early');
  const first = await visit(port, undefined, GET);
  t.deepEqual(first.texts, ['< . TLSv1.3>']);
  const again = await visit(port, first.session, GET, GET);
  t.true(again.wasEarly);
  t.deepEqual(again.texts, ['<1 r TLSv1.3>', '< r TLSv1.3>'], 'a later request of the connection is as any');
  t.deepEqual((await visit(port, again.session, PASSED, PASSED)).texts, ['<GET 1 0>', '<GET - 0>']);
});

ofLinux('early data of any length is whole, and goes on after the handshake', async (t) => {
  const port = (await site()).port('early');
  let { session } = await visit(port, undefined, GET);
  for (const length of [0, 1, 1000, 10_000, 16_000]) {
    const visited = await visit(port, session, post(length), post(50_000));
    t.true(visited.wasEarly);
    t.deepEqual(visited.texts, [`<POST 1 ${length}>`, '<POST - 50000>']);
    ({ session } = visited);
  }
});

ofLinux('a server without it accepts none, and the request comes after the handshake', async (t) => {
  const port = (await site()).port('late');
  const first = await visit(port, undefined, GET);
  const again = await visit(port, first.session, GET);
  t.false(again.wasEarly, 'the session does not allow it');
  t.deepEqual(again.texts, ['< r>']);
});

const conf = (use: string, value: string): string =>
  `events { ${use} } http { server { listen 127.0.0.1:%%PORT_a%% ssl; ${TLS} ssl_early_data ${value}; return 200; } }`;

ofLinux('where epoll is not possible the log says so and why, and that it has no effect', async (t) => {
  const srv = await startSrv(t, `error_log logs/error.log warn; ${conf('', 'on')}`, {
    files: FILES,
    nodeOptions: ['--no-experimental-ffi'],
  });
  t.truthy(await srv.waitForLog(/\[warn\] .* the event method "epoll" is not possible here, falling back to "node": \S/));
  t.truthy(await srv.waitForLog(/\[warn\] .* "ssl_early_data" ignored, not supported: \S/));
});

test('an event method that does not have it is an error', async (t) => {
  const { code, stderr } = await check(t, conf('use node;', 'on'), FILES);
  t.is(code, 1);
  t.regex(stderr, /"ssl_early_data" is not supported by the event method "node" in .*:\d+/);
  t.regex(stderr, /use epoll/);
  for (const fine of [conf('use node;', 'off'), conf('use epoll;', 'on')]) t.is((await check(t, fine, FILES)).code, 0);
});
