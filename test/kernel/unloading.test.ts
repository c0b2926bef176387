/** Modules whose code hangs when a change takes effect, or puts them out of force: all workers do that at the same moment. */
import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { together } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { conf, hostile, LOOP, WAIT } from './hostile-module.js';

const LOADED = conf('load_module modules/hostile.js;', 'hostile x;');
/** What its locations open does this when it is active. */
const opening = (code: string): string =>
  plugin('hostile', {
    manifest: `directives: { hostile: directive({ in: ['location'], args: text() }) }`,
    body: `compile(scope) { if (scope.own('hostile')) scope.register({ commit() { ${code} } }); }`,
  });

/** The last line of the loss: a line after the first of a turn is written when the turn ends. */
const LOST = /lost in the "stop".*: 3 workers do not call it[^]*exited with code/;

const CASES = [
  ['a resource that waits for ever in commit', opening(WAIT), conf(''), LOADED, /(\[alert\].*"commit" of a resource[^]*){5}/, 0],
  ['a stop that waits for ever', hostile('stop', 'worker', WAIT), LOADED, conf(''), LOST, 1],
  [
    'a stop that loops when it has waited',
    hostile('async stop', 'worker', `await new Promise((done) => setTimeout(done, 50)); ${LOOP}`),
    LOADED,
    conf(''),
    LOST,
    1,
  ],
] as const;

const refused = plugin('hostile', {
  manifest: `directives: { hostile: directive({ in: ['location'], args: text() }) }`,
  body: `compile(scope) { if (scope.own('hostile')) scope.register({ ready: new Promise(() => undefined) }); }`,
});

test('what a module opens and is never ready rejects the reload', async (t) => {
  const srv = await startSrv(t, conf(''), { files: { 'modules/hostile.js': refused } });
  await srv.configure(LOADED);
  srv.signal('SIGHUP');
  await waitFor('the refusal', () => /was not ready within 10 s in \S+srv\.conf:\d+[^]*stays as it was/.test(srv.log()), 40_000);
  await srv.configure(conf('').replace('"fine"', '"better"'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is((await get(srv.port('web'), '/')).body, 'better');
});

const reloaded = together(CASES, async (scope, [, module, before, after, until]) => {
  const srv = await startSrv(scope, before, { files: { 'modules/hostile.js': module }, allowCrashes: true });
  await srv.configure(after.replace('"fine"', '"better"'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await waitFor('the hang to be ended', () => until.test(srv.log()), 40_000);
  return srv;
});

for (const one of CASES) {
  const [what, , , , , deaths] = one;
  test(`${what} costs ${deaths === 0 ? 'no worker' : 'one worker'}, and the change is active`, async (t) => {
    const srv = await reloaded(one);
    t.is(srv.log().match(/exited with code/g)?.length ?? 0, deaths);
    for (let i = 0; i < 8; i++) {
      const { body } = await waitFor('a response', () => get(srv.port('web'), '/').catch(() => undefined));
      t.is(body, 'better');
    }
    await srv.configure(conf(''));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured[^]*reconfigured/);
    t.is((await srv.stop('SIGQUIT')).signal, null);
  });
}
