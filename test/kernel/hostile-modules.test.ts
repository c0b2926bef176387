/** Modules whose code hangs or ends workers only: a reload that brings them fails, and traffic goes on. */
import test from 'ava';
import { get } from '../harness/client.js';
import { together } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { conf, hostile, WAIT } from './hostile-module.js';

const CASES = [
  [
    'a compile that waits for ever',
    hostile('compile', 'worker', WAIT),
    /lost worker 0 while it prepared the change .*it hangs: .*, in a call of module "hostile"\); nothing was changed; module "hostile" is loaded in \S+srv\.conf:\d+$/m,
    1,
  ],
  [
    'a start that waits for ever',
    hostile('start', 'worker', WAIT),
    /lost worker 0 while it prepared the change .*it hangs: .*, in a call of module "hostile"\); nothing was changed; module "hostile" is loaded in \S+srv\.conf:\d+$/m,
    1,
  ],
  ['a compile that ends the thread', hostile('compile', 'worker', 'process.exit(5);'), /lost worker 0 while it prepared the change/, 1],
  ['a start that throws', hostile('start', 'worker', `throw new Error('not today');`), /module "hostile" failed to start: not today/, 0],
] as const;

/** The server after the reload that failed, and how many requests it served meanwhile. */
const reloaded = together(CASES, async (scope, [, module]) => {
  const srv = await startSrv(scope, conf(''), { files: { 'modules/hostile.js': module }, allowCrashes: true });
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
      return /the current configuration stays as it was/.test(srv.log());
    },
    40_000,
  );
  return { srv, served: requests - failed.length };
});

for (const one of CASES) {
  const [what, , reason, deaths] = one;
  test(`${what} in workers makes the reload fail; the other workers never see it`, async (t) => {
    const { srv, served } = await reloaded(one);
    t.regex(srv.log(), reason);
    t.is(srv.log().match(/exited with code/g)?.length ?? 0, deaths);
    t.true(served > 0);
    for (let i = 0; i < 8; i++) t.is((await get(srv.port('web'), '/')).body, 'fine');
    // What is right again takes effect.
    await srv.configure(conf('').replace('"fine"', '"better"'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is((await get(srv.port('web'), '/')).body, 'better');
  });
}

function waitAMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
