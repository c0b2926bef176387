import http2 from 'node:http2';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { get as getHttp1 } from '../harness/client.js';
import { nginxVerdict } from '../harness/nginx.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';
import { get, post, PREFACE, settings, Type } from './frames.js';
import { SETTINGS_ACK, Wire } from './wire.js';

const inServer = (line: string): string => `server { listen 127.0.0.1:%%PORT_web%%; ${line} }`;

/** A line in a server, and what is said of it, by nginx 1.25 (the first five: by older ones too). */
const OBSOLETE: readonly (readonly [line: string, warning: string])[] = [
  ['http2_max_field_size 4k;', 'the "http2_max_field_size" directive is obsolete, use the "large_client_header_buffers" directive instead'],
  [
    'http2_max_header_size 16k;',
    'the "http2_max_header_size" directive is obsolete, use the "large_client_header_buffers" directive instead',
  ],
  ['http2_max_requests 100;', 'the "http2_max_requests" directive is obsolete, use the "keepalive_requests" directive instead'],
  ['http2_idle_timeout 3m;', 'the "http2_idle_timeout" directive is obsolete, use the "keepalive_timeout" directive instead'],
  ['http2_recv_timeout 30s;', 'the "http2_recv_timeout" directive is obsolete, use the "client_header_timeout" directive instead'],
  ['http2_push /style.css;', 'the "http2_push" directive is obsolete, ignored'],
  ['http2_push_preload on;', 'the "http2_push_preload" directive is obsolete, ignored'],
  ['http2_max_concurrent_pushes 10;', 'the "http2_max_concurrent_pushes" directive is obsolete, ignored'],
  ['listen 127.0.0.1:%%PORT_other%% http2;', 'the "listen ... http2" directive is deprecated, use the "http2" directive instead'],
];

test('what nginx has given up is accepted, with its warning', async (t) => {
  const { code, stderr } = await check(t, `events {} http { ${inServer(OBSOLETE.map(([line]) => line).join('\n'))} }`);
  t.is(code, 0);
  for (const [line, warning] of OBSOLETE) t.true(stderr.includes(`[warn] ${warning} in `), line);
});

testWith('nginx')('nginx warns alike of what was obsolete before 1.25', (t) => {
  for (const [line, warning] of OBSOLETE.slice(0, 5)) t.is(nginxVerdict(t, `server { listen 127.0.0.1:1; ${line} }`), warning);
});

const REJECTED: readonly (readonly [line: string, error: string])[] = [
  ['http2_chunk_size 0;', 'the http2 chunk size cannot be zero'],
  ['http2_body_preread_size 2147483648;', 'the maximum body preread buffer size is 2147483647'],
  ['http2_max_concurrent_streams many;', '"http2_max_concurrent_streams" directive invalid number'],
  ['http2_recv_buffer_size 1k;', '"http2_recv_buffer_size" directive is not allowed here'],
  ['http2_max_field_size 1 2;', 'invalid number of arguments in "http2_max_field_size" directive'],
  ['http2_push_preload;', 'invalid number of arguments in "http2_push_preload" directive'],
];

test('values that cannot be are rejected', async (t) => {
  for (const [line, error] of REJECTED) {
    const { code, stderr } = await check(t, `events {} http { ${inServer(line)} }`);
    t.is(code, 1, line);
    t.true(stderr.includes(error), `${line}: ${stderr}`);
  }
});

testWith('nginx')('nginx rejects the same values', (t) => {
  for (const [line, error] of REJECTED) t.is(nginxVerdict(t, `server { listen 127.0.0.1:1; ${line} }`), error);
});

test('listen … http2 and $http2', async (t) => {
  const { key, cert } = selfSigned('a.test');
  const srv = await startSrv(
    t,
    `events {} http { ssl_certificate a.pem; ssl_certificate_key a.key;
      server { listen 127.0.0.1:%%PORT_web%% http2; listen 127.0.0.1:%%PORT_tls%% ssl http2; listen 127.0.0.1:%%PORT_off%%;
        return 200 "[$http2] $server_protocol"; } }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  );
  t.is(await bodyOver(`http://127.0.0.1:${srv.port('web')}`), '[h2c] HTTP/2.0');
  t.is(await bodyOver(`https://127.0.0.1:${srv.port('tls')}`), '[h2] HTTP/2.0');
  t.is((await getHttp1(srv.port('web'), '/')).body, '[] HTTP/1.1');
  t.is((await getHttp1(srv.port('off'), '/')).body, '[] HTTP/1.1');
  await t.throwsAsync(bodyOver(`http://127.0.0.1:${srv.port('off')}`));
});

function bodyOver(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const session = http2.connect(url, { rejectUnauthorized: false }).on('error', reject);
    const stream = session.request({ ':path': '/' }).on('error', reject);
    let body = '';
    stream.on('data', (piece: Buffer) => (body += piece.toString()));
    stream.on('end', () => session.close(() => resolve(body)));
  });
}

test('http2_chunk_size, http2_max_concurrent_streams and http2_body_preread_size', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; http2 on; http2_chunk_size 100; http2_max_concurrent_streams 7; http2_body_preread_size 10;
      location / { return 200 ${'x'.repeat(250)}; }
      location /default { http2_chunk_size 8k; proxy_pass http://127.0.0.1:%%PORT_web%%/; proxy_pass_request_body off; client_body_buffer_size 1m; }
      location /echo { proxy_pass http://127.0.0.1:%%PORT_web%%/; } } }`,
  );
  const wire = await Wire.open(t, srv.port('web'), PREFACE + settings() + SETTINGS_ACK + get(1) + post(3, '/echo') + get(5, '/default'));
  await wire.tells(/1: 50 bytes, end/);
  t.regex(await wire.tells(/5: 250 bytes, end/), /1: 200; 1: 100 bytes; 1: 100 bytes; 1: 50 bytes, end/);
  const announced = wire.frames.find(({ type }) => type === Type.settings)?.payload.toString('hex');
  t.is(announced, '00030000000700040000000a');
  // The body has a reader: its window is as large as that of any other.
  const window = wire.frames.find(({ type, stream }) => type === Type.window && stream === 3);
  t.true((window?.payload.readUInt32BE(0) ?? 0) >= 65_526);
});
