/** grpc_pass between a client and a server of gRPC: calls of all four kinds, statuses, trailers, deadlines, retries. */
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  status,
  type ServerDuplexStream,
  type ServerReadableStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  type ServiceError,
} from '@grpc/grpc-js';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const asIs = (bytes: Buffer): Buffer => bytes;
const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
  path: `/echo.Echo/${name}`,
  requestStream,
  responseStream,
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
});
const SERVICE = {
  one: method('one', false, false),
  up: method('up', true, false),
  down: method('down', false, true),
  both: method('both', true, true),
};

/** A server that echoes. */
async function echoServer(t: Scope, name: string, tls?: { readonly key: string; readonly cert: string }): Promise<number> {
  const server = new Server();
  server.addService(SERVICE, {
    one: (call: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
      const text = call.request.toString('latin1', 0, 20);
      const trailer = new Metadata();
      trailer.set('x-by', name);
      if (text === 'fail') reply({ code: status.NOT_FOUND, details: 'no such thing: 100 %', metadata: trailer });
      else if (text === 'never') return;
      else if (text === 'metadata') reply(null, Buffer.from(String(call.metadata.get('x-sent')[0])), trailer);
      else reply(null, call.request, trailer);
    },
    up: (call: ServerReadableStream<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
      let length = 0;
      call.on('data', (piece: Buffer) => (length += piece.length));
      call.on('end', () => reply(null, Buffer.from(String(length))));
    },
    down: (call: ServerWritableStream<Buffer, Buffer>) => {
      for (let at = 0; at < 100; at++) call.write(Buffer.alloc(10_000, String(at % 10)));
      call.end();
    },
    both: (call: ServerDuplexStream<Buffer, Buffer>) => {
      call.on('data', (piece: Buffer) => call.write(piece));
      call.on('end', () => call.end());
    },
  });
  const secure = tls && ServerCredentials.createSsl(null, [{ private_key: Buffer.from(tls.key), cert_chain: Buffer.from(tls.cert) }]);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', secure ?? ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  t.teardown(() => server.forceShutdown());
  return port;
}

const site = shared(async (scope) => {
  const certificate = selfSigned('localhost');
  const [one, secure, dead] = await Promise.all([echoServer(scope, 'plain'), echoServer(scope, 'secure', certificate), freePort(scope)]);
  const srv = await startSrv(
    scope,
    `events {} http {
      http2 on;
      client_max_body_size 0;
      upstream plain { server 127.0.0.1:${one}; keepalive 4; }
      upstream half { server 127.0.0.1:${dead}; server 127.0.0.1:${one}; }
      log_format grpc '$uri $status $upstream_trailer_grpc_status $sent_trailer_grpc_status';
      access_log logs/grpc.log grpc;
      server { listen 127.0.0.1:%%PORT_plain%%; location / { grpc_pass grpc://plain; grpc_set_header X-Sent "from $remote_addr"; } }
      server { listen 127.0.0.1:%%PORT_secure%%; location / { grpc_pass grpcs://127.0.0.1:${secure}; grpc_ssl_name localhost; } }
      server { listen 127.0.0.1:%%PORT_half%%; location / { grpc_pass half; grpc_next_upstream error non_idempotent; } }
      server { listen 127.0.0.1:%%PORT_dead%%; location / { grpc_pass 127.0.0.1:${dead}; } }
      server { listen 127.0.0.1:%%PORT_slow%%; location / { set $to 127.0.0.1:${one}; grpc_pass $to; grpc_read_timeout 1s; } }
      server {
        listen 127.0.0.1:%%PORT_error%%;
        location / { grpc_pass 127.0.0.1:${dead}; error_page 502 = /unavailable; }
        location = /unavailable { internal; default_type application/grpc; add_header grpc-status 14; add_header grpc-message "no server"; return 204; }
      }
    }`,
  );
  const clients = new Map<string, Client>();
  scope.teardown(() => {
    for (const client of clients.values()) client.close();
  });
  const client = (name: string): Client => {
    const known = clients.get(name) ?? new Client(`127.0.0.1:${srv.port(name)}`, credentials.createInsecure());
    clients.set(name, known);
    return known;
  };
  return { srv, client };
});

interface Reply {
  readonly body?: Buffer | undefined;
  readonly error?: ServiceError | undefined;
  readonly trailer?: string | undefined;
}

function call(client: Client, body: Buffer | string, deadline = 20_000): Promise<Reply> {
  return new Promise((resolve) => {
    let reply: Reply = {};
    const { path } = SERVICE.one;
    const under = client.makeUnaryRequest(
      path,
      asIs,
      asIs,
      Buffer.from(body),
      new Metadata(),
      { deadline: Date.now() + deadline },
      (error, value) => {
        reply = { ...reply, ...(error ? { error } : { body: value }) };
      },
    );
    under.on('status', ({ metadata }) => resolve({ ...reply, trailer: metadata.get('x-by')[0]?.toString() }));
  });
}

test('calls with their metadata, statuses and trailers', async (t) => {
  const { client, srv } = await site();
  t.like(await call(client('plain'), 'hello'), { body: Buffer.from('hello'), trailer: 'plain' });
  const large = Buffer.alloc(2_000_000, 'x');
  t.true((await call(client('plain'), large)).body?.equals(large));
  t.is((await call(client('plain'), 'metadata')).body?.toString(), 'from 127.0.0.1');
  const failed = await call(client('plain'), 'fail');
  t.is(failed.error?.code, status.NOT_FOUND);
  t.is(failed.error?.details, 'no such thing: 100 %');
  t.truthy(await srv.waitForLog(/^\/echo\.Echo\/one 200 0 0$/m, 'logs/grpc.log'));
});

test('over TLS, and many calls at the same time', async (t) => {
  const { client } = await site();
  t.like(await call(client('secure'), 'hello'), { body: Buffer.from('hello'), trailer: 'secure' });
  const replies = await Promise.all(Array.from({ length: 200 }, (_, at) => call(client('plain'), `call ${at}`)));
  t.deepEqual(
    replies.map(({ body }) => body?.toString()),
    replies.map((_, at) => `call ${at}`),
  );
});

test('streams of requests, of responses, and both at the same time', async (t) => {
  const { client } = await site();
  const length = await new Promise((resolve, reject) => {
    const up = client('plain').makeClientStreamRequest(SERVICE.up.path, asIs, asIs, (error, value) =>
      error ? reject(error) : resolve(value?.toString()),
    );
    for (let at = 0; at < 50; at++) up.write(Buffer.alloc(30_000));
    up.end();
  });
  t.is(length, '1500000');
  let received = 0;
  for await (const piece of client('plain').makeServerStreamRequest(SERVICE.down.path, asIs, asIs, Buffer.alloc(0)))
    received += (piece as Buffer).length;
  t.is(received, 1_000_000);
  const both = client('plain').makeBidiStreamRequest(SERVICE.both.path, asIs, asIs);
  const echoes: string[] = [];
  // Each piece comes back before the next one is sent: nothing is held until the request has ended.
  for (const text of ['one', 'two', 'three']) {
    both.write(Buffer.from(text));
    echoes.push(String(await new Promise((resolve) => both.once('data', (piece: Buffer) => resolve(piece.toString())))));
  }
  t.deepEqual(echoes, ['one', 'two', 'three']);
  const ended = new Promise((resolve) => both.once('status', ({ code }: { code: number }) => resolve(code)));
  both.resume();
  both.end();
  t.is(await ended, status.OK);
});

test('members that fail: the next one, 502 and 504, error pages with a status of gRPC, deadlines', async (t) => {
  const { client, srv } = await site();
  for (let at = 0; at < 4; at++) t.is((await call(client('half'), 'hello')).body?.toString(), 'hello');
  t.is((await get(srv.port('dead'), '/echo.Echo/one', { method: 'POST' })).status, 502);
  t.is((await call(client('dead'), 'hello')).error?.code, status.UNAVAILABLE);
  t.is((await call(client('slow'), 'never')).error?.code, status.UNAVAILABLE);
  const shown = await call(client('error'), 'hello');
  t.is(shown.error?.code, status.UNAVAILABLE);
  t.is(shown.error?.details, 'no server');
  t.is((await call(client('plain'), 'never', 300)).error?.code, status.DEADLINE_EXCEEDED);
});

const conf = (pass: string): string => `events {} http { server { listen 127.0.0.1:1; location / { ${pass} } } }`;

test('addresses are checked as nginx checks them', async (t) => {
  const rejected: readonly (readonly [string, RegExp])[] = [
    ['grpc_pass grpc://127.0.0.1:1/x;', /invalid host in upstream "127\.0\.0\.1:1\/x"/],
    ['grpc_pass http://127.0.0.1:1;', /invalid host in upstream "http:\/\/127\.0\.0\.1:1"/],
    ['grpc_pass grpc://;', /no host in upstream ""/],
    ['grpc_pass 127.0.0.1;', /no port in upstream "127\.0\.0\.1"/],
    ['grpc_pass 127.0.0.1:1; grpc_next_upstream foo;', /invalid value "foo"/],
    ['grpc_pass grpcs://127.0.0.1:1; grpc_ssl_verify on;', /no grpc_ssl_trusted_certificate for grpc_ssl_verify/],
  ];
  for (const [pass, error] of rejected) t.regex((await check(t, conf(pass))).stderr, error);
  for (const pass of ['grpc_pass grpc://$host/a;', 'grpc_pass GRPC://127.0.0.1:1;', 'grpc_pass unix:/tmp/a; grpc_socket_keepalive on;'])
    t.is((await check(t, conf(pass))).code, 0);
});
