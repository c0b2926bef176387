import { existsSync, rmSync } from 'node:fs';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { patternDigest } from './byte-streams.js';
import { ask, digestOf, LENGTH, site } from './slow-clients.js';

test('a reload makes the folders again that were removed: of responses', async (t) => {
  const { srv } = await site(t);
  rmSync(srv.path('proxy_temp'), { recursive: true });
  rmSync(srv.path('responses'), { recursive: true });
  srv.signal('SIGHUP');
  await waitFor('the folders', () => existsSync(srv.path('proxy_temp')) && existsSync(srv.path('responses')));
  for (const path of ['/a', '/levels']) t.is(await digestOf(await ask(t, srv.port('web'), path)), patternDigest(LENGTH), path);
});

test('a reload makes the folders again that were removed: of requests, but none that is not used any more', async (t) => {
  const backend = await httpBackend(t, (request, response) => request.resume().once('end', () => response.end('read')));
  const configuration = (folder: string): string => `events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; client_body_buffer_size 1k;
      location / { proxy_pass http://127.0.0.1:${backend.port}; }
      location /own { client_body_temp_path ${folder}; proxy_pass http://127.0.0.1:${backend.port}; } } }`;
  const srv = await startSrv(t, configuration('first'));
  await srv.configure(configuration('second'));
  srv.signal('SIGHUP');
  await waitFor('the other folder', () => existsSync(srv.path('second')));
  for (const folder of ['client_body_temp', 'first', 'second']) rmSync(srv.path(folder), { recursive: true });
  srv.signal('SIGHUP');
  await waitFor('the folders', () => existsSync(srv.path('client_body_temp')) && existsSync(srv.path('second')));
  t.false(existsSync(srv.path('first')));
  for (const path of ['/a', '/own']) {
    t.is((await get(srv.port('web'), path, { method: 'POST', body: 'x'.repeat(900_000) })).body, 'read', path);
  }
});
