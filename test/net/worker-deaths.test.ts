/** Workers that die while others go on: what the system still has of them must not be memory that another one uses by then. */
import { readdirSync, readlinkSync } from 'node:fs';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const DEATHS = 12;
/** Deaths after which the process has what it needs. */
const SETTLED = 4;

/** A location that ends the worker when the request is under way. */
const EXIT = plugin('exit', {
  manifest: `directives: { exit: directive({ in: ['location'], args: text() }) }`,
  body: `compile({ conf }) { return conf.exit && { content: () => new Promise(() => setImmediate(() => process.exit(3))) }; }`,
});

/** Descriptors of epoll that a process has: each thread of its own, and of Node.js. */
function eventPolls(pid: number): number {
  const kinds = readdirSync(`/proc/${pid}/fd`).map((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`);
    } catch {
      return ''; // it was closed meanwhile
    }
  });
  return kinds.filter((kind) => kind.includes('eventpoll')).length;
}

test('the process survives the deaths of its workers under traffic, and keeps nothing of them', async (t) => {
  const backend = await httpBackend(t, (_, response) => setTimeout(() => response.end('hello'), 3));
  const srv = await startSrv(
    t,
    `load_module modules/exit.js; worker_processes 2; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://127.0.0.1:${backend.port}; } location /exit { exit now; } } }`,
    { files: { 'modules/exit.js': EXIT }, allowCrashes: true },
  );
  const isServed = async (): Promise<boolean> => (await get(srv.port('web'), '/').catch(() => undefined))?.body === 'hello';
  let before = Infinity;
  for (let deaths = 0; deaths < DEATHS; deaths++) {
    if (deaths === SETTLED) before = eventPolls(srv.pid);
    await Promise.all(Array.from({ length: 20 }, isServed));
    await get(srv.port('web'), '/exit').catch(() => undefined);
    await waitFor('a worker', isServed);
  }
  t.true(await isServed());
  // A worker has two, and one may be on its way.
  await waitFor('no descriptor of a dead worker', () => eventPolls(srv.pid) < before + (DEATHS - SETTLED) / 2);
});
