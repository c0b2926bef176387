/** Lengths that clients name, in every form there is, and clients that read and write a byte at a time: over both event methods. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type Socket } from 'node:net';
import * as fc from 'fast-check';
import test, { type ExecutionContext } from 'ava';
import { hasEpoll } from '../harness/event-methods.js';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, connectRawTls, exchange, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

/** Connections of each kind. */
const RUNS = 40;
/** A connection that waits for more ends by itself; the test goes on before. */
const PATIENCE = 100;

async function start(t: Scope, method: string): Promise<Srv> {
  const { cert, key } = selfSigned('a');
  const member = await httpBackend(t, (request, response) => request.pipe(response));
  const echo = await rawBackend(t, (socket) => socket.pipe(socket));
  return startSrv(
    t,
    `worker_processes 1; error_log logs/error.log info;
    events { use ${method}; }
    http {
      client_max_body_size 1m; proxy_http_version 1.1;
      ssl_certificate %%PREFIX%%/cert.pem; ssl_certificate_key %%PREFIX%%/key.pem;
      server {
        listen 127.0.0.1:%%PORT_web%%; listen 127.0.0.1:%%PORT_tls%% ssl; listen 127.0.0.1:%%PORT_proxy%% proxy_protocol;
        http2 on;
        location / { proxy_request_buffering off; proxy_pass http://127.0.0.1:${member.port}; }
        location /own { return 200 own; }
      }
    }
    stream { server { listen 127.0.0.1:%%PORT_stream%%; proxy_pass 127.0.0.1:${echo.port}; } }`,
    { files: { 'cert.pem': cert, 'key.pem': key } },
  );
}

/** Numbers at which lengths change their form, and any others. */
const edge = (bits: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.integer({ min: 0, max: 2 ** Math.min(bits, 31) - 1 }),
    fc.nat(bits).map((bit) => Math.max(2 ** bit - 1, 0)),
    fc.nat(bits - 1).map((bit) => 2 ** bit),
  );

const digits = fc.oneof(
  edge(64).map((length) => BigInt(length).toString()),
  fc.constantFrom(
    '-1',
    '+1',
    '1e3',
    '0x10',
    ' 7',
    '7 ',
    '00000000000000000000000007',
    '18446744073709551616',
    '9'.repeat(400),
    '',
    '1,1',
    '\0',
  ),
);
const hex = fc.oneof(
  edge(64).map((length) => BigInt(length).toString(16)),
  fc.constantFrom('-1', '+1', '0x5', 'g', '5 ', ' 5', '0'.repeat(400), 'f'.repeat(17), 'f'.repeat(400), '', '5;x=', '5\n'),
);
const body = fc.string({ maxLength: 40 });

function uint(value: number, bytes: number): string {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64BE(BigInt.asUintN(64, BigInt(value)));
  return buffer.latin1Slice(8 - bytes);
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

const KINDS: Readonly<Record<string, { readonly port: string; readonly bytes: fc.Arbitrary<string> }>> = {
  'Content-Length': {
    port: 'web',
    bytes: fc.tuple(digits, body).map(([length, rest]) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${rest}`),
  },
  'sizes of chunks': {
    port: 'web',
    bytes: fc
      .array(fc.tuple(hex, body), { minLength: 1, maxLength: 4 })
      .map(
        (chunks) =>
          `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.map(([size, data]) => `${size}\r\n${data}\r\n`).join('')}`,
      ),
  },
  'lengths of HTTP/2 frames': {
    port: 'web',
    bytes: fc
      .array(fc.tuple(edge(24), fc.nat(12), fc.nat(255), edge(32), body), { minLength: 1, maxLength: 5 })
      .map(
        (frames) =>
          PREFACE +
          frames
            .map(([length, type, flags, stream, data]) => uint(length, 3) + uint(type, 1) + uint(flags, 1) + uint(stream, 4) + data)
            .join(''),
      ),
  },
  'lengths of the PROXY protocol': {
    port: 'proxy',
    bytes: fc
      .tuple(fc.nat(255), fc.nat(255), edge(16), body)
      .map(([command, family, length, rest]) => `\r\n\r\n\0\r\nQUIT\n${uint(command, 1)}${uint(family, 1)}${uint(length, 2)}${rest}`),
  },
  'lengths of TLS records': {
    port: 'tls',
    bytes: fc
      .array(fc.tuple(fc.constantFrom(20, 21, 22, 23, 24, 255), edge(16), body), { minLength: 1, maxLength: 3 })
      .map((records) =>
        records
          .map(
            ([type, length, rest]) => `${uint(type, 1)}\x03\x01${uint(length, 2)}${type === 22 ? `\x01\0${uint(length, 2)}` : ''}${rest}`,
          )
          .join(''),
      ),
  },
};

/** Sends bytes, and leaves when the server has closed, or waits for more. */
async function sent(port: number, bytes: string): Promise<void> {
  const socket: Socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined).resume();
  socket.write(bytes, 'latin1');
  const left = new AbortController();
  await Promise.race([
    new Promise((resolve) => socket.once('close', resolve)),
    sleep(PATIENCE, undefined, { signal: left.signal }).catch(() => undefined),
  ]);
  left.abort();
  socket.destroy();
}

/** Each byte is read and written by itself. */
async function slowly(t: ExecutionContext, srv: Srv): Promise<void> {
  const request = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
  for (const connection of [await connectRaw(t, srv.port('web')), await connectRawTls(t, srv.port('tls'))]) {
    connection.socket.setNoDelay(true);
    for (const byte of request) {
      connection.send(byte);
      await new Promise(setImmediate);
    }
    // In chunks of as many bytes as have come together.
    t.regex(await connection.receiveAll(), /^HTTP\/1\.1 200 [^]*h[^]*e[^]*l[^]*l[^]*o\r\n0\r\n\r\n$/);
  }
  const http2 = await connectRaw(t, srv.port('web'));
  for (const byte of `${PREFACE}\0\0\0\x04\0\0\0\0\0\0\0\x08\x06\0\0\0\0\0pingpong`) {
    http2.send(byte);
    await new Promise(setImmediate);
  }
  await http2.receive(/\0\0\x08\x06\x01\0\0\0\0pingpong/);
  const stream = await connectRaw(t, srv.port('stream'));
  for (const byte of 'byte by byte') stream.send(byte);
  await stream.receive(/byte by byte/);
}

for (const method of ['epoll', 'node']) {
  const site = shared((scope) => start(scope, method));
  const tried = method === 'node' || hasEpoll ? test : test.skip;
  tried(`${method}: no length harms the server, or a request of others`, async (t) => {
    const srv = await site();
    for (const [name, { port, bytes }] of Object.entries(KINDS)) {
      await Promise.all(fc.sample(bytes, RUNS).map((one) => sent(srv.port(port), one)));
      t.is((await get(srv.port('web'), '/own')).body, 'own', name);
    }
    t.notRegex(srv.log(), /\[(?:alert|crit|emerg)\]/);
    t.regex(await exchange(t, srv.port('proxy'), 'PROXY TCP4 1.2.3.4 5.6.7.8 9 10\r\nGET /own HTTP/1.0\r\n\r\n'), /own$/);
  });

  tried(`${method}: clients that write a byte at a time are served`, async (t) => {
    await slowly(t, await site());
  });
}
