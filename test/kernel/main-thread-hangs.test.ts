/** Modules that hang the main thread: a reload that brings them fails, and traffic goes on. */
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { together } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { conf, hostile, LOOP, WAIT } from './hostile-module.js';

const CASES = [
  [
    'an import',
    plugin('hostile', { imports: `import { isMainThread } from 'node:worker_threads'; if (isMainThread) ${LOOP}` }),
    /cannot load module ".*hostile\.js": it did not finish loading within 10 s in .*srv\.conf:/,
  ],
  ['a compile', hostile('compile', 'master', WAIT), /"compile" of module "hostile" failed: it did not return within 10 s in .*srv\.conf:/],
  ['a start', hostile('start', 'master', WAIT), /module "hostile" failed to start: it did not return within 10 s in .*srv\.conf:/],
  [
    'a start that has waited',
    hostile('async start', 'master', `await new Promise((done) => setTimeout(done, 50)); ${WAIT}`),
    /module "hostile" did not start within 10 s in .*srv\.conf:/,
  ],
] as const;

const reloaded = together(CASES, async (scope, [, module]) => {
  const srv = await startSrv(scope, conf(''), { files: { 'modules/hostile.js': module } });
  await srv.configure(conf('load_module modules/hostile.js;', 'hostile x;'));
  srv.signal('SIGHUP');
  await waitFor('the reload to fail', () => /the current configuration stays as it was/.test(srv.log()), 40_000);
  return srv;
});

for (const one of CASES) {
  const [what, , reason] = one;
  test(`${what} that does not return in the main thread makes the reload fail`, async (t) => {
    const srv = await reloaded(one);
    t.regex(srv.log(), reason);
    t.is((await get(srv.port('web'), '/')).body, 'fine');
    await srv.configure(conf('').replace('"fine"', '"better"'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is((await get(srv.port('web'), '/')).body, 'better');
  });
}
