/** Modules whose code hangs or ends workers only: a reload that brings them fails, and traffic goes on. */
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const conf = (more: string, location = ''): string => `
worker_processes 4;
error_log logs/error.log notice;
${more}
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${location} return 200 "fine"; } } }`;

const inWorkers = (step: 'compile' | 'start', code: string): string => hostile(step, 'worker', code);

const hostile = (step: string, role: string, code: string): string =>
  plugin('hostile', {
    imports: `import { ServerInfo } from 'srv/module/services.js';`,
    manifest: `directives: { hostile: directive({ in: ['location'], args: text() }) }`,
    body: `
      static services = [ServerInfo];
      constructor(info) { this.info = info; }
      ${step}(scope) {
        if (this.info.role !== '${role}') return;
        if (${step !== 'compile'} || scope.conf.hostile !== undefined) { ${code} }
      }`,
  });

/** Hangs as a loop does, and leaves the processor to others. */
const WAIT = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);';

for (const [what, module, reason, deaths] of [
  ['a compile that loops', inWorkers('compile', 'for (;;);'), /lost worker 0 while it prepared the change .*it hangs/, 1],
  ['a start that waits for ever', inWorkers('start', WAIT), /lost worker 0 while it prepared the change .*it hangs/, 1],
  ['a compile that ends the thread', inWorkers('compile', 'process.exit(5);'), /lost worker 1 while it prepared the change/, 2],
  ['a start that throws', inWorkers('start', `throw new Error('not today');`), /module "hostile" failed to start: not today/, 0],
] as const) {
  test(`${what} in workers makes the reload fail; the other workers never see it`, async (t) => {
    const srv = await startSrv(t, conf(''), { files: { 'modules/hostile.js': module }, allowCrashes: true });
    await srv.configure(conf('load_module modules/hostile.js;', 'hostile x;'));
    srv.signal('SIGHUP');
    let requests = 0;
    const failed: unknown[] = [];
    await waitFor(
      'the reload to fail',
      async () => {
        requests++;
        // A connection of the worker that is lost waits, then is cut.
        await Promise.race([get(srv.port('web'), '/').catch((error: unknown) => failed.push(error)), waitAMoment()]);
        return /the configuration in force stays as it was/.test(srv.log());
      },
      40_000,
    );
    t.regex(srv.log(), reason);
    t.is(srv.log().match(/exited with code/g)?.length ?? 0, deaths);
    t.true(requests > failed.length);
    for (let i = 0; i < 8; i++) t.is((await get(srv.port('web'), '/')).body, 'fine');
    // What is right again comes into force.
    await srv.configure(conf('').replace('"fine"', '"better"'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is((await get(srv.port('web'), '/')).body, 'better');
  });
}

for (const [what, module, reason] of [
  [
    'an import',
    plugin('hostile', { imports: `import { isMainThread } from 'node:worker_threads'; if (isMainThread) for (;;);` }),
    /cannot load module ".*hostile\.js": it did not finish loading within 10 s in .*srv\.conf:/,
  ],
  [
    'a compile',
    hostile('compile', 'master', 'for (;;);'),
    /"compile" of module "hostile" failed: it did not return within 10 s in .*srv\.conf:/,
  ],
  ['a start', hostile('start', 'master', 'for (;;);'), /module "hostile" failed to start: it did not return within 10 s in .*srv\.conf:/],
  [
    'a start that has waited',
    hostile('async start', 'master', 'await new Promise((done) => setTimeout(done, 50)); for (;;);'),
    /module "hostile" did not start within 10 s in .*srv\.conf:/,
  ],
] as const) {
  test(`${what} that loops in the main thread makes the reload fail`, async (t) => {
    const srv = await startSrv(t, conf(''), { files: { 'modules/hostile.js': module } });
    await srv.configure(conf('load_module modules/hostile.js;', 'hostile x;'));
    srv.signal('SIGHUP');
    await waitFor('the reload to fail', () => /the configuration in force stays as it was/.test(srv.log()), 40_000);
    t.regex(srv.log(), reason);
    t.is((await get(srv.port('web'), '/')).body, 'fine');
    await srv.configure(conf('').replace('"fine"', '"better"'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is((await get(srv.port('web'), '/')).body, 'better');
  });
}

function waitAMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
