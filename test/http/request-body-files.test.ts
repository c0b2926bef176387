import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { request, type IncomingMessage, type RequestListener } from 'node:http';
import { pipeline } from 'node:stream/promises';
import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend, httpsBackend, rawBackend, type HttpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { runSrv, startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { HashingSink, patternDigest, patternStream } from './byte-streams.js';

/** Says how the body was framed, its length and its hash. */
const digestBody: RequestListener = (request, response) => {
  const sink = new HashingSink();
  const framing = request.headers['content-length'] ?? request.headers['transfer-encoding'];
  void pipeline(request, sink).then(
    () => response.end(`${framing} ${sink.digest()}`),
    () => undefined,
  );
};

function hashing(t: ExecutionContext): Promise<HttpBackend> {
  return httpBackend(t, digestBody);
}

function proxying(t: ExecutionContext, port: number, settings = '', crashes = false): Promise<Srv> {
  return startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      client_max_body_size 1m;
      ${settings}
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /stream { proxy_pass http://127.0.0.1:${port}; proxy_request_buffering off; }
        location /alone { proxy_pass http://127.0.0.1:${port}; proxy_ignore_client_abort on; }
      }
    }`,
    { allowCrashes: crashes },
  );
}

interface Upload {
  readonly length: number;
  readonly chunked?: boolean;
  readonly piece?: number;
}

async function upload(port: number, path: string, { length, chunked = true, piece }: Upload): Promise<string> {
  const headers = chunked ? {} : { 'content-length': length };
  const call = request({ host: '127.0.0.1', port, path, method: 'PUT', headers });
  const answer = new Promise<IncomingMessage>((resolve, reject) => call.once('response', resolve).once('error', reject));
  await pipeline(patternStream(length, piece), call);
  const response = await answer;
  return `${response.statusCode} ${await bodyOf(response)}`;
}

/** Temporary files that the server has open, with or without a name. */
function openFiles(srv: Srv, folder = 'client_body_temp'): string[] {
  const descriptors = `/proc/${srv.pid}/fd`;
  return readdirSync(descriptors).flatMap((fd) => {
    try {
      const target = readlinkSync(`${descriptors}/${fd}`);
      return target.startsWith(`${srv.path(folder)}/`) ? [target] : [];
    } catch {
      return [];
    }
  });
}

const noneIsOpen = (srv: Srv): Promise<true> => waitFor('the end of the temporary files', () => openFiles(srv).length === 0);

test('a member gets a long body with its length, although it came in chunks', async (t) => {
  const backend = await hashing(t);
  const srv = await proxying(t, backend.port);
  const answer = await upload(srv.port('web'), '/', { length: 1_000_000 });
  t.is(answer, `200 1000000 ${patternDigest(1_000_000)}`);
  t.regex(
    srv.log(),
    /\[warn\] .* a client request body is buffered to a temporary file \/.*\/client_body_temp\/0000000001, client: .* host: "[^ ]*", request_id/,
  );
  await noneIsOpen(srv);
  t.deepEqual(readdirSync(srv.path('client_body_temp')), []);
  t.is(await upload(srv.port('web'), '/stream', { length: 1_000_000 }), `200 chunked ${patternDigest(1_000_000)}`);
});

test('a member is asked when the body is whole; without proxy_request_buffering at once', async (t) => {
  const backend = await hashing(t);
  const srv = await proxying(t, backend.port);
  const half = 'x'.repeat(100_000);
  const send = async (path: string): Promise<() => Promise<unknown>> => {
    const client = await connectRaw(t, srv.port('web'));
    client.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n\r\n${half}`);
    return () => {
      client.send(half);
      return client.receive(/200000 200000 /);
    };
  };
  const buffered = await send('/');
  await waitFor('the temporary file', () => openFiles(srv).length === 1);
  const streamed = await send('/stream');
  await waitFor('the streamed request', () => backend.requests.length === 1);
  t.is(backend.requests[0]?.url, '/stream');
  await streamed();
  t.is(backend.connections, 1);
  await buffered();
  t.is(backend.connections, 2, 'a member is busy with nothing while a client is slow');
});

test('a body that is too long does not reach the member', async (t) => {
  const backend = await hashing(t);
  const srv = await proxying(t, backend.port);
  const limit = 1_048_576;
  t.regex(await upload(srv.port('web'), '/', { length: limit }), /^200 1048576 /);
  const tooLong = `${(limit + 1).toString(16)}\r\n${'x'.repeat(limit + 1)}\r\n0\r\n\r\n`;
  const client = await connectRaw(t, srv.port('web'));
  client.send(`PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${tooLong}`);
  await client.receive(/^HTTP\/1\.1 413 /);
  await noneIsOpen(srv);
  t.is(backend.connections, 1);
});

test('a client that leaves, before the body is whole or after it, leaves no file', async (t) => {
  const answers: (() => void)[] = [];
  const backend = await httpBackend(t, (request, response) => {
    request.resume().once('end', () => answers.push(() => void response.end('late')));
  });
  const srv = await proxying(t, backend.port);
  for (const [path, length] of [
    ['/', 1_000_000],
    ['/', 300_000],
    ['/alone', 300_000],
  ] as const) {
    const client = await connectRaw(t, srv.port('web'));
    client.send(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(300_000)}`);
    await waitFor('the temporary file', () => openFiles(srv).length === 1);
    if (length === 300_000) await waitFor('the whole request at the member', () => answers.length > 0);
    client.socket.resetAndDestroy();
    if (path === '/alone') await srv.waitForLog(/PUT \/alone HTTP\/1\.1" 499 /, 'logs/access.log');
    answers.pop()?.();
    await noneIsOpen(srv);
  }
  t.is(backend.requests.length, 2);
});

test('nothing is left when the server is killed', async (t) => {
  const srv = await proxying(t, await freePort(t), '', true);
  const client = await connectRaw(t, srv.port('web'));
  client.send(`PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n${'x'.repeat(500_000)}`);
  await srv.waitForLog(/is buffered to a temporary file/);
  await srv.stop('SIGKILL');
  t.deepEqual(readdirSync(srv.path('client_body_temp')), []);
});

test('a file that cannot be written is a 500, and the log says why', async (t) => {
  const backend = await hashing(t);
  const srv = await proxying(t, backend.port);
  const body = 'x'.repeat(100_000);
  rmSync(srv.path('client_body_temp'), { recursive: true });
  t.is((await get(srv.port('web'), '/', { method: 'PUT', body })).status, 500);
  await srv.waitForLog(
    /\[crit\] .* open\(\) "\/.*\/client_body_temp\/0000000001" failed \(2: No such file or directory\), client: 127\.0\.0\.1, .*request: "PUT \/ HTTP/,
  );
  t.is((await get(srv.port('web'), '/', { method: 'PUT', body: 'short' })).status, 200, 'what is short needs no file');
  t.is(backend.requests.length, 1);
});

test('client_body_temp_path: a folder, and levels of folders in it', async (t) => {
  const backend = await hashing(t);
  const srv = await proxying(t, backend.port, 'client_body_temp_path bodies 1 2;');
  for (let at = 0; at < 12; at++) t.regex(await upload(srv.port('web'), '/', { length: 20_000 }), /^200 20000 /);
  await srv.waitForLog(/temporary file \/.*\/bodies\/2\/01\/0000000012,/);
  t.deepEqual(readdirSync(srv.path('bodies')).length, 10);
  t.deepEqual(readdirSync(srv.path('bodies/2')).sort(), ['00', '01']);
  rmSync(srv.path('bodies'), { recursive: true });
  t.regex(await upload(srv.port('web'), '/', { length: 20_000 }), /^500 /);
  await srv.waitForLog(/\[crit\] .* mkdir\(\) "\/.*\/bodies\/3" failed \(2: No such file or directory\)/);
});

test('a start is rejected when the folder cannot be made', async (t) => {
  const conf = `daemon off; events {} http { client_body_temp_path none/bodies; server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:9; } } }`;
  const { code, stderr, prefix } = await runSrv(t, [], conf);
  t.is(code, 1);
  t.true(stderr.includes(`srv: [emerg] mkdir() "${prefix}/none/bodies" failed (2: No such file or directory) in `), stderr);
});

const random = (limit: number): number => Math.floor(Math.random() * limit);

test('bodies of any length around the limits arrive as they were sent, also at the second member', async (t) => {
  const backend = await hashing(t);
  const secure = await httpsBackend(t, selfSigned('backend.example'), digestBody);
  const closing = await rawBackend(t, (socket) => socket.once('data', () => socket.destroy()));
  const srv = await startSrv(
    t,
    `events {}
    http {
      client_max_body_size 0;
      upstream group { server 127.0.0.1:${closing.port} max_fails=0; server 127.0.0.1:${backend.port} backup; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /tls { proxy_pass https://127.0.0.1:${secure.port}; }
        location /again { proxy_pass http://group; }
        location /little { client_body_buffer_size 1; proxy_pass http://group; }
      }
    }`,
  );
  const around = [2, 16_384, 65_536, 131_072, 1_000_000];
  for (let round = 0; round < 12; round++) {
    const uploads = Array.from({ length: 8 }, async () => {
      const length = Math.max((around[random(around.length)] ?? 0) + random(7) - 3, 1);
      const piece = [undefined, 1000 + random(100_000), 65_536][random(3)];
      const sent: Upload = { length, chunked: random(2) === 0, ...(piece === undefined ? {} : { piece }) };
      const path = ['/', '/tls', '/again', '/little'][random(4)] ?? '/';
      t.is(await upload(srv.port('web'), path, sent), `200 ${length} ${patternDigest(length)}`, `${path} ${JSON.stringify(sent)}`);
    });
    await Promise.all(uploads);
  }
  await noneIsOpen(srv);
});

test('the body and the name of its file are in variables; proxy_set_body replaces it', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) =>
      response.end(`${request.method} ${String(request.headers['x-file'])} ${request.headers['content-length']} [${body}]`),
    );
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      log_format body '$uri [$request_body]';
      access_log logs/bodies.log body;
      proxy_set_header X-File $request_body_file;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /set { proxy_set_body "was $request_body"; proxy_pass http://127.0.0.1:${backend.port}; }
        location /clean { client_body_in_file_only clean; proxy_pass_request_body off; proxy_pass http://127.0.0.1:${backend.port}; }
        location /kept { client_body_in_file_only on; client_body_temp_path kept; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  const send = async (path: string, body?: string): Promise<string> =>
    (await get(srv.port('web'), path, body === undefined ? {} : { method: 'POST', body })).body;
  t.is(await send('/', 'short'), 'POST undefined 5 [short]');
  t.is(await send('/set', 'short'), 'POST undefined 9 [was short]');
  t.is(await send('/set'), 'GET undefined 4 [was ]');
  t.regex(await send('/', 'x'.repeat(20_000)), /^POST \/.*\/client_body_temp\/\d+ 20000 /);
  t.regex(await send('/clean', 'in a file'), /^POST \/.*\/client_body_temp\/\d+ (undefined|0) \[\]$/);
  const kept = /^POST (\/.*\/kept\/\d+) 9 \[in a file\]$/.exec(await send('/kept', 'in a file'))?.[1] ?? '';
  await noneIsOpen(srv);
  t.is(readFileSync(kept, 'utf8'), 'in a file');
  await waitFor('the end of the files', () => readdirSync(srv.path('client_body_temp')).length === 0);
  await srv.waitForLog(/^\/ \[short\]\n[^]*^\/set \[short\]\n\/set \[-?\]\n\/ \[-\]$/m, 'logs/bodies.log');
});
