import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Fetches a text once for all workers, and keeps it in memory of its own. */
const ONCE = plugin('once', {
  imports: `import { Zones } from 'srv/module/zones.js';`,
  manifest: `directives: { once: directive({ in: ['location'], args: text() }) }`,
  body: `
  static services = [Zones];
  constructor(zones) {
    this.zones = zones;
    this.memory = zones.own('texts', 65536);
  }
  compile(scope) {
    const url = scope.conf.once;
    if (url === undefined) return undefined;
    const records = this.zones.records(this.memory, { fields: [], strings: { text: 64 } });
    const holds = this.zones.holds(this.memory);
    const known = (key) => records.get(key)?.text;
    const fetched = async (key, crashes) => {
      for (;;) {
        const text = known(key);
        if (text !== undefined) return text;
        if (holds.acquire(key, 1) !== 'held') {
          if (!(await holds.whenBelow(key, 1, 20000))) return 'too late';
          continue;
        }
        if (crashes) { setImmediate(() => process.exit(1)); return 'crash'; }
        try {
          const text = known(key) ?? await (await fetch(url)).text();
          records.update(key, (fields) => { fields.text = text; return true; });
        } finally {
          holds.release(key);
        }
      }
    };
    return { content: async (request) => request.send(200, await fetched(request.variable('arg_key'), request.variable('arg_crash') === '1')) };
  }`,
});

const conf = (load: string, location: string): string => `
  ${load}
  worker_processes 2;
  error_log logs/error.log notice;
  events {}
  http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} } } }`;

test('one fetch for all workers; the memory is there after a reload, and ends with the module', async (t) => {
  const backend = await httpBackend(t, (_, response) => void setTimeout(() => response.end(`fetched ${backend.requests.length}`), 200));
  const loaded = (more = ''): string => conf('load_module modules/once.js;', `once http://127.0.0.1:${backend.port}/; ${more}`);
  const srv = await startSrv(t, loaded(), { files: { 'modules/once.js': ONCE }, allowCrashes: true });
  const port = srv.port('web');
  const asked = async (key: string): Promise<string> => {
    const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await get(port, `/?key=${key}`)).body));
    return [...new Set(bodies)].join();
  };
  t.is(await asked('a'), 'fetched 1');

  const client = await connectRaw(t, port);
  client.send('GET /?key=b&crash=1 HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the end of the worker that fetches', () => client.closed);
  t.is((await get(port, '/?key=b', { timeoutMs: 60_000 })).body, 'fetched 2');

  await srv.configure(loaded('add_header X-Reloaded yes;'));
  srv.signal('SIGHUP');
  await waitFor('the reload', async () => (await get(port, '/?key=a')).headers['x-reloaded'] === 'yes');
  t.is(await asked('a'), 'fetched 1');

  let reloads = 1;
  const reloaded = async (text: string): Promise<void> => {
    await srv.waitForLog(new RegExp(`(?:reconfigured[^]*){${reloads++}}`));
    await srv.configure(text);
    srv.signal('SIGHUP');
  };
  // It finds its memory again while a worker has not released it.
  await waitFor('the end of the memory', async () => {
    await reloaded(conf('', 'return 200 unloaded;'));
    await waitFor('the module to be out of force', async () => (await asked('a')) === 'unloaded');
    await reloaded(loaded());
    await waitFor('it to be loaded again', async () => (await asked('c')).startsWith('fetched'));
    return (await asked('a')) !== 'fetched 1';
  });
  t.pass();
});
