/** Workers that die while others go on: what the system still has of them must not be memory that another one uses by then. */
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const DEATHS = 12;

/** A location that ends the worker when the request is under way. */
const EXIT = plugin('exit', {
  manifest: `directives: { exit: directive({ in: ['location'], args: text() }) }`,
  body: `compile({ conf }) { return conf.exit && { content: () => new Promise(() => setImmediate(() => process.exit(3))) }; }`,
});

test('the process survives the deaths of its workers under traffic', async (t) => {
  const backend = await httpBackend(t, (_, response) => setTimeout(() => response.end('hello'), 3));
  const srv = await startSrv(
    t,
    `load_module modules/exit.js; worker_processes 2; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } location /exit { exit now; } } }`,
    { files: { 'modules/exit.js': EXIT }, allowCrashes: true },
  );
  const isServed = async (): Promise<boolean> => (await get(srv.port('web'), '/').catch(() => undefined))?.body === 'hello';
  for (let deaths = 0; deaths < DEATHS; deaths++) {
    await Promise.all(Array.from({ length: 20 }, isServed));
    await get(srv.port('web'), '/exit').catch(() => undefined);
    await waitFor('a worker', isServed);
  }
  t.true(await isServed());
});
