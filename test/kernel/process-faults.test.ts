/** docs/faults.md, "Parts of srv": what a thread that dies leaves behind, and errors in the main thread. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const EXIT = plugin('exit', {
  manifest: `directives: { exit: directive({ in: ['location'], args: text() }) }`,
  body: `compile(scope) { return scope.conf.exit && { content: request => { setImmediate(() => process.exit(3)); return request.send(200, 'bye'); } }; }`,
});

test('what a worker had under way when it died is given back: places at members, and connections', async (t) => {
  let slow = true;
  const backend = await httpBackend(t, (_, response) => {
    if (!slow) response.end('hello');
  });
  const srv = await startSrv(
    t,
    `worker_processes 1;
    load_module modules/exit.js;
    events {}
    http {
      upstream members { zone members 256k; server 127.0.0.1:${backend.port} max_conns=2; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://members; }
        location /exit { exit x; }
        location /status { stub_status; }
      }
    }`,
    { files: { 'modules/exit.js': EXIT }, allowCrashes: true },
  );
  const waiting = await Promise.all([1, 2].map(() => connectRaw(t, srv.port('web'))));
  for (const connection of waiting) connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('both requests at the member', () => backend.requests.length === 2);
  t.is((await get(srv.port('web'), '/')).status, 502);
  slow = false;
  await get(srv.port('web'), '/exit').catch(() => undefined);
  await waitFor('the connections to be cut', () => waiting.every(({ closed }) => closed));
  for (let i = 0; i < 3; i++) {
    const response = await waitFor('a worker', () => get(srv.port('web'), '/').catch(() => undefined));
    t.is(response.status, 200);
  }
  const active = (): Promise<string | undefined> =>
    get(srv.port('web'), '/status').then(({ body }) => /^Active connections: (\d+)/.exec(body)?.[1]);
  t.true(await waitFor('one active connection', async () => (await active()) === '1'));
});

test('an uncaught exception in the main thread is logged, and nothing ends', async (t) => {
  const files = {
    'modules/careless.js': plugin('careless', {
      body: `start(role) { if (role === 'master') for (const ms of [500, 600]) setTimeout(() => { throw new Error('careless ' + ms); }, ms); }`,
    }),
  };
  const srv = await startSrv(
    t,
    'error_log logs/error.log notice; load_module modules/careless.js; events {} http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "fine"; } }',
    { files, allowCrashes: true },
  );
  await srv.waitForLog(/\[alert\] .*main thread: uncaught exception: Error: careless 500[^]*careless 600/);
  t.is((await get(srv.port('web'), '/')).body, 'fine');
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.true(srv.running);
});
