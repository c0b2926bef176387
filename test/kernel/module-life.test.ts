/** Start and stop of modules: awaited, limited in time, and never an outage. */
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { runSrv, startSrv, type Srv } from '../harness/srv.js';

const LOG = 'error_log logs/error.log notice;';
const MANIFEST = `directives: { greet: directive({ in: ['location'] }) }`;
/** Responds with what `start` has left. */
const GREETING = `
  greeting = 'not started';
  compile(scope) { return scope.own('greet') && { content: (request) => request.send(200, this.greeting) }; }`;

const without = `${LOG} worker_processes 2; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 204; } } }`;
const withModule = `load_module modules/acme.mjs; ${without.replace('return 204;', 'greet;')}`;
const acme = (body: string): Readonly<Record<string, string>> => ({
  'modules/acme.mjs': plugin('acme', { manifest: MANIFEST, body: GREETING + body }),
});

/** The workers of a server do not share their environment. */
const one = (conf: string): string => conf.replace('worker_processes 2;', '');

const SLOW_START = `async start() { await new Promise((done) => setTimeout(done, 300)); this.greeting = 'started'; }`;

async function reloadUntil(srv: Srv, conf: string, until: RegExp): Promise<void> {
  await srv.configure(conf);
  srv.signal('SIGHUP');
  await srv.waitForLog(until);
}

test('a server listens when its modules have started', async (t) => {
  const srv = await startSrv(t, withModule, { files: acme(SLOW_START) });
  t.is((await get(srv.port('web'), '/')).body, 'started');
});

test('a reload waits for the start of a module before its handlers take effect', async (t) => {
  const srv = await startSrv(t, without, { files: acme(SLOW_START) });
  await srv.configure(withModule);
  srv.signal('SIGHUP');
  const bodies = new Set<string>();
  while (!bodies.has('started')) {
    const { status, body } = await get(srv.port('web'), '/');
    bodies.add(status === 204 ? '' : body);
  }
  t.deepEqual([...bodies], ['', 'started']);
});

test('a start that fails rejects the reload, with the name of the module and its stack, and the next reload tries again', async (t) => {
  const body = `
    start(role) { if (role === 'worker' && !process.env.LICENCE) { process.env.LICENCE = 'yes'; throw new Error('no licence'); } }
    stop() { console.log('stopped'); }`;
  const srv = await startSrv(t, one(without), { files: acme(body) });
  await reloadUntil(srv, one(withModule), /\[emerg\] .*module "acme" failed to start: no licence in .*srv\.conf:1\n[^]*stays as it was/);
  await srv.waitForLog(/\[crit\] .*module "acme" failed to start: Error: no licence.*at Plugin\.start.*acme\.mjs/);
  t.is((await get(srv.port('web'), '/')).status, 204);
  await reloadUntil(srv, one(withModule), /reconfigured/);
  t.is((await get(srv.port('web'), '/')).body, 'not started');
});

test('a start that fails keeps the server from starting, at the line of the module', async (t) => {
  const { code, stderr } = await runSrv(t, [], `daemon off; ${withModule}`, { files: acme(`start() { throw new Error('no licence'); }`) });
  t.is(code, 1);
  t.regex(stderr, /\[emerg\] module "acme" failed to start: no licence in .*srv\.conf:1\n/);
});

test('a start that never ends rejects the reload, a stop that never ends does not keep the server', async (t) => {
  const body = `start(role) { if (role === 'master') return new Promise(() => {}); } stop() { return new Promise(() => {}); }`;
  const srv = await startSrv(t, without, { files: acme(body), allowCrashes: true });
  await reloadUntil(srv, withModule, /module "acme" did not start within 10 s in .*srv\.conf:1\n[^]*stays as it was/);
  t.is((await get(srv.port('web'), '/')).status, 204);
  await srv.waitForLog(/\[alert\] .*module "acme" did not stop within 5 s/);
});

test('a module that a reload takes out is stopped, one that stays is not started again', async (t) => {
  const body = `
    static services = [Log];
    constructor(log) { this.log = log; }
    start(role) { if (role === 'master') this.log.write('notice', 'is starting'); }
    stop() { this.log.write('notice', 'is stopping'); }`;
  const imports = `import { Log } from 'srv/module/log.js';`;
  const files = { 'modules/acme.mjs': plugin('acme', { imports, body }), 'modules/other.mjs': plugin('other') };
  const srv = await startSrv(t, `load_module modules/acme.mjs; ${without}`, { files });
  await reloadUntil(srv, `load_module modules/other.mjs; load_module modules/acme.mjs; ${without}`, /reconfigured/);
  t.is(srv.log().match(/acme: is starting/g)?.length, 1);
  t.notRegex(srv.log(), /acme: is stopping/);
  await reloadUntil(srv, without, /(acme: is stopping[^]*){3}/);
  t.is(srv.log().match(/acme: is stopping/g)?.length, 3, 'in the master and in two workers');
});

test('tasks run while the module is active, and what they throw is logged with its name', async (t) => {
  const body = `
    static services = [Log, Tasks];
    constructor(log, tasks) {
      Object.assign(this, { log, tasks, ticks: 0 });
      tasks.run(() => log.write('notice', this.role + ' has early work'));
      this.early = tasks.every(1, () => { this.early.cancel(); log.write('notice', this.role + ' has an early timer'); });
      tasks.after(1, () => { throw new Error('cancelled early'); }).cancel();
    }
    stop() { try { this.tasks.run(() => {}); } catch (error) { this.log.write('notice', error.message); } }
    start(role) {
      this.role = role;
      if (role !== 'worker') return;
      this.tasks.run(() => { throw new Error('broken run'); });
      this.tasks.after(1, async () => { throw new Error('broken after'); });
      this.tasks.every(5, () => { if (++this.ticks === 3) throw new Error('broken third'); if (this.ticks === 5) this.log.write('notice', 'fifth'); });
      this.tasks.after(1, () => { throw new Error('cancelled'); }).cancel();
      this.tasks.run((signal) => new Promise((_, fail) => signal.addEventListener('abort', () => { this.log.write('notice', 'aborted'); fail(); })));
      try { this.tasks.after(1e12, () => {}); } catch (error) { this.log.write('notice', error.message); }
    }`;
  const imports = `import { Log } from 'srv/module/log.js'; import { Tasks } from 'srv/module/tasks.js';`;
  const files = { 'modules/acme.mjs': plugin('acme', { imports, body }) };
  const srv = await startSrv(t, `load_module modules/acme.mjs; ${without}`, { files });
  await srv.waitForLog(/acme: master has early work[^]*acme: master has an early timer/);
  await srv.waitForLog(/acme: worker has early work[^]*acme: worker has an early timer/);
  await srv.waitForLog(/\[error\] .*module "acme": task failed: Error: broken run.*acme\.mjs/);
  await srv.waitForLog(/\[error\] .*module "acme": task failed: Error: broken after/);
  await srv.waitForLog(/\[error\] .*module "acme": task failed: Error: broken third/);
  await srv.waitForLog(/acme: fifth/);
  await srv.waitForLog(/acme: a delay must be 0 to 2147483647 milliseconds, not 1000000000000/);
  t.notRegex(srv.log(), /acme: aborted|cancelled/);
  await reloadUntil(srv, without, /(acme: aborted[^]*){2}/);
  await srv.waitForLog(/acme: module "acme" may have no tasks after its "stop"/);
  t.is((await get(srv.port('web'), '/')).status, 204);
});
