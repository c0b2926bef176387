import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get, type Answer } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const isRoot = process.getuid?.() === 0;

const conf = (user: string): string => `
user ${user};
error_log logs/error.log notice;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ok"; } }
`;

/** User and group of every thread of a process. */
function identity(pid: number): string {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return /^Uid:\s+(\d+)/m.exec(status)?.[1] ?? '';
}

if (isRoot) {
  test('the server becomes the user when its listeners are open, and goes on writing its files', async (t) => {
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    mkdirSync(`${prefix}/logs`);
    const srv = await startSrv(t, conf('daemon daemon'), { prefix });
    const uid = await waitFor('another user', () => identity(srv.pid) !== '0' && identity(srv.pid));
    t.is(String(statSync(srv.path('logs/error.log')).uid), uid);
    t.is(String(statSync(srv.path('data')).uid), uid);
    t.is((await get(srv.port('web'), '/')).body, 'ok');
    await srv.configure(conf('daemon daemon').replace('"ok"', '"changed"'));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is((await get(srv.port('web'), '/')).body, 'changed');
    t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
    t.is(srv.read('logs/srv.pid'), '');
  });

  test("the folder of long request bodies is the user's", async (t) => {
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    mkdirSync(`${prefix}/logs`);
    mkdirSync(`${prefix}/bodies`);
    writeFileSync(`${prefix}/bodies/other`, '');
    const backend = await httpBackend(t, (request, response) => void bodyOf(request).then((body) => response.end(String(body.length))));
    const proxying = `client_body_temp_path bodies; location / { proxy_pass http://127.0.0.1:${backend.port}; }`;
    const srv = await startSrv(t, conf('daemon daemon').replace('return 200 "ok";', proxying), { prefix });
    const uid = await waitFor('another user', () => identity(srv.pid) !== '0' && identity(srv.pid));
    const upload = (): Promise<Answer> => get(srv.port('web'), '/', { method: 'POST', body: 'x'.repeat(100_000) });
    t.is((await upload()).body, '100000');
    t.is(String(statSync(srv.path('bodies')).uid), uid);
    t.is(statSync(srv.path('bodies/other')).uid, 0, "what is in it may be anybody's");
    chownSync(srv.path('bodies'), 0, 0);
    t.is((await upload()).status, 500);
    await srv.waitForLog(/\[crit\] .* open\(\) "\/.*\/bodies\/0000000002" failed \(13: Permission denied\)/);
  });

  test('a pid file that the user may not remove is emptied, and the log says so', async (t) => {
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    mkdirSync(`${prefix}/logs`);
    const srv = await startSrv(t, conf('daemon daemon'), { prefix });
    await waitFor('another user', () => identity(srv.pid) !== '0');
    await srv.stop('SIGQUIT');
    t.is(srv.read('logs/srv.pid'), '');
    t.regex(srv.log(), /\[error\] .*logs\/srv\.pid" is emptied, but stays/);
  });

  for (const [user, message] of [
    ['no-such-user', 'getpwnam("no-such-user") failed'],
    ['daemon no-such-group', 'getgrnam("no-such-group") failed'],
  ] as const) {
    test(`refused by -t and by a start: user ${user}`, async (t) => {
      for (const args of [['-t'], []]) {
        const { code, stderr, prefix } = await runSrv(t, args, `user ${user};\ndaemon off;\nevents {}\n`);
        t.is(code, 1);
        t.true(stderr.startsWith(`srv: [emerg] ${message} in ${prefix}/conf/srv.conf:1\n`), stderr);
      }
    });
  }
} else {
  test('as an ordinary user the directive is ignored, with a warning', async (t) => {
    const srv = await startSrv(t, conf('daemon'));
    t.truthy(await srv.waitForLog(/\[warn\] .*the "user" directive makes sense only if/));
  });
}
