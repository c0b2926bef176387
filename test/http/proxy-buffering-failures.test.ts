import { readdirSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import test from 'ava';
import { httpsBackend, rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { smallDisk } from '../harness/full-disk.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { patternDigest, patternStream } from './byte-streams.js';
import { ask, digestOf, LENGTH, noneIsOpen, openFiles, proxying, site, streaming } from './slow-clients.js';

const started = shared(async (scope) => {
  const breaking = await rawBackend(scope, (socket) =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n');
      patternStream(LENGTH).pipe(socket);
    }),
  );
  return site(scope, `location /broken { proxy_pass http://127.0.0.1:${breaking.port}; }`);
});

test.serial('members and clients that speak TLS', async (t) => {
  const backend = await httpsBackend(t, selfSigned('backend.example'), (_, response) => {
    pipeline(patternStream(LENGTH), response).catch(() => undefined);
  });
  const { cert, key } = selfSigned('srv.example');
  const srv = await startSrv(
    t,
    `error_log logs/error.log warn;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%% ssl;
        ssl_certificate cert.pem;
        ssl_certificate_key key.pem;
        location / { proxy_pass https://127.0.0.1:${backend.port}; }
      }
    }`,
    { files: { 'conf/cert.pem': cert, 'conf/key.pem': key } },
  );
  const call = httpsRequest({ host: '127.0.0.1', port: srv.port('web'), path: '/', agent: false, rejectUnauthorized: false });
  t.teardown(() => call.destroy());
  call.end();
  const response = await new Promise<IncomingMessage>((resolve) => call.once('response', resolve));
  await srv.waitForLog(/is buffered to a temporary file/);
  t.is(await digestOf(response), patternDigest(LENGTH));
  await noneIsOpen(srv);
});

test.serial('a client that takes nothing for send_timeout is cut off', async (t) => {
  const { srv } = await started();
  const response = await ask(t, srv.port('web'), '/impatient');
  await waitFor('the file', () => openFiles(srv).length === 1);
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while sending to client/);
  await noneIsOpen(srv);
  await t.throwsAsync(digestOf(response));
});

test.serial('a client that leaves, and a member that breaks off', async (t) => {
  const { backend, srv } = await started();
  const leaving = await ask(t, srv.port('web'), '/leaving');
  await waitFor('the file', () => openFiles(srv).length === 1);
  leaving.destroy();
  await noneIsOpen(srv);
  const gone = await ask(t, srv.port('web'), '/gone');
  await waitFor('the member', () => backend.sent.includes('/gone'));
  gone.destroy();
  await noneIsOpen(srv);
  const broken = await ask(t, srv.port('web'), '/broken');
  await srv.waitForLog(/upstream prematurely closed connection while reading upstream/);
  let length = 0;
  await t.throwsAsync(async () => {
    for await (const piece of broken) length += (piece as Buffer).length;
  });
  t.true(length > LENGTH - 1_000_000, 'what was buffered arrives, and that it is not everything is seen');
  await noneIsOpen(srv);
});

test.serial('proxy_temp_path: folders and levels; sizes of reads and writes', async (t) => {
  const { backend, srv } = await started();
  const response = await ask(t, srv.port('web'), '/levels');
  await waitFor('the member', () => backend.sent.includes('/levels'));
  await srv.waitForLog(/temporary file \/.*\/responses\/\d\/\d\d\/\d{10} while/);
  t.is(await digestOf(response), patternDigest(LENGTH));
  rmSync(srv.path('responses'), { recursive: true });
  const failing = await ask(t, srv.port('web'), '/levels');
  await srv.waitForLog(
    /\[crit\] .* mkdir\(\) "\/.*\/responses\/\d" failed \(2: No such file or directory\) while reading upstream, client/,
  );
  await t.throwsAsync(digestOf(failing));
});

test.serial('a disk that is full', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return void t.pass('no file system of its own');
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port, `proxy_temp_path ${disk.folder};`);
  const response = await ask(t, srv.port('web'), '/');
  await srv.waitForLog(/\[crit\] .* pwrite\(\) ".*" failed \(28: No space left on device\) while reading upstream/);
  await t.throwsAsync(digestOf(response));
  t.is((await get(srv.port('web'), '/?length=5')).status, 200);
});

test.serial('nothing is left when the server is killed', async (t) => {
  const backend = await streaming(t);
  const srv = await proxying(t, backend.port, '', true);
  await ask(t, srv.port('web'), '/a');
  // It has a name for a moment: until it is removed by the thread that has opened it.
  await waitFor('the file without a name', () => openFiles(srv).length === 1 && readdirSync(srv.path('proxy_temp')).length === 0);
  await srv.stop('SIGKILL');
  t.deepEqual(readdirSync(srv.path('proxy_temp')), []);
});
