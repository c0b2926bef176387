import { existsSync, readdirSync } from 'node:fs';
import test from 'ava';
import { runSrv, spawnSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

for (const [args, pid, reason] of [
  [['-t'], 'run/x.pid', '2: No such file or directory'],
  [['-g', 'daemon off;'], 'run/x.pid', '2: No such file or directory'],
  [['-t'], 'conf/srv.conf/x.pid', '20: Not a directory'],
] as const) {
  test(`rejected as by nginx, and no folder is made: ${args[0]} with pid ${pid}`, async (t) => {
    const { code, stderr, prefix } = await runSrv(t, args, `pid ${pid};\nevents {}\n`);
    t.is(code, 1);
    t.true(stderr.startsWith(`srv: [emerg] open() "${prefix}/${pid}" failed (${reason}) in ${prefix}/conf/srv.conf:1\n`), stderr);
    t.false(existsSync(`${prefix}/run`));
  });
}

test('a pid file that cannot be written ends the start in the words of nginx', async (t) => {
  const { code, stderr, prefix } = await runSrv(t, [], 'daemon off;\npid conf;\nevents {}\n');
  t.is(code, 1);
  t.true(stderr.startsWith(`srv: [emerg] open() "${prefix}/conf" failed (21: Is a directory)\n`), stderr);
  t.deepEqual(
    readdirSync(prefix).filter((name) => name.startsWith('conf')),
    ['conf'],
  );
});

test('a reload that names one in a folder that does not exist is rejected as a whole', async (t) => {
  const srv = await startSrv(t, 'events {}\n');
  await srv.configure('pid run/x.pid;\nevents {}\n');
  srv.signal('SIGHUP');
  await srv.waitForLog(/open\(\) ".*\/run\/x\.pid" failed \(2: .*\n.*the current configuration stays as it was/);
  t.is(srv.read('logs/srv.pid'), `${srv.pid}\n`);
});

test('the folder of the default one is made, also where the error log does not need it', async (t) => {
  const log = tempFolder(t);
  for (const line of ['', 'pid logs/srv.pid;']) {
    const srv = await startSrv(t, `${line}\nevents {}\n`, { args: ['-e', `${log}/error.log`] });
    t.deepEqual(readdirSync(srv.path('logs')), ['srv.pid']);
    await srv.stop();
  }
});

test('one in a folder that exists, outside of the prefix, is written and removed', async (t) => {
  const folder = tempFolder(t);
  const srv = await spawnSrv(t, `pid ${folder}/x.pid;\nevents {}\n`);
  await waitFor('the pid file', () => existsSync(`${folder}/x.pid`));
  t.is((await runSrv(t, ['-s', 'stop'], undefined, { prefix: srv.prefix })).code, 0);
  t.deepEqual(await srv.exited, { code: 0, signal: null });
  t.deepEqual(readdirSync(folder), []);
});
