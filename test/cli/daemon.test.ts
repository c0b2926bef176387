import { chmodSync, existsSync, readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { runSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

async function conf(t: ExecutionContext): Promise<{ port: number; text: string }> {
  const port = await freePort(t);
  const text = `daemon on;\nerror_log logs/error.log notice;\nevents {}\nhttp { server { listen 127.0.0.1:${port}; return 200 "ready"; } }\n`;
  return { port, text };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The process in the background; it is killed at the end of the test if it is still there. */
function pidOf(t: ExecutionContext, prefix: string): number {
  const pid = Number(readFileSync(`${prefix}/logs/srv.pid`, 'utf8'));
  t.teardown(() => isAlive(pid) && process.kill(-pid, 'SIGKILL'));
  return pid;
}

test('daemon on: the command ends when the server serves', async (t) => {
  const { port, text } = await conf(t);
  const { code, stdout, stderr, prefix } = await runSrv(t, [], text);
  const pid = pidOf(t, prefix);
  t.is(code, 0, stderr);
  t.is(stdout + stderr, '');
  t.true(isAlive(pid));
  t.is((await get(port, '/')).body, 'ready');
  t.is((await runSrv(t, ['-s', 'quit'], undefined, { prefix })).code, 0);
  await waitFor('the end of the server', () => !isAlive(pid));
  t.false(existsSync(`${prefix}/logs/srv.pid`));
});

test('daemon on: when the command ends, the API responds; a server that is told to end says nothing of a lost bus', async (t) => {
  const [port, api] = [await freePort(t), await freePort(t)];
  const text = `daemon on;
    error_log logs/error.log notice;
    load_module modules/srv_http_upstream_member_module.so;
    helper broker modules/srv_helper_broker_module.so conf/broker.conf;
    helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
    events {}
    http { upstream demo { zone demo 64k; server 127.0.0.1:9; } server { listen 127.0.0.1:${port}; } }`;
  const control = `load_module modules/srv_http_upstream_api_module.so;
    error_log logs/ctrl.log notice;
    events {}
    http { server { listen 127.0.0.1:${api}; location /api { dyn_module_api; } } }`;
  const { code, stderr, prefix } = await runSrv(t, [], text, { files: { 'conf/broker.conf': '', 'conf/ctrl.conf': control } });
  const pid = pidOf(t, prefix);
  t.is(code, 0, stderr);
  t.is((await get(api, '/api/v1/upstream_api/http/upstreams/demo/servers/0')).status, 200);
  t.is((await runSrv(t, ['-s', 'quit'], undefined, { prefix })).code, 0);
  await waitFor('the end of the server', () => !isAlive(pid));
  const log = readFileSync(`${prefix}/logs/error.log`, 'utf8');
  // As root it warns of that, which is what tests in a container run as.
  t.notRegex(log.replace(/^.*(?:super-user privileges|runs as root).*$/gm, ''), /\[(warn|error|crit|alert|emerg)\]/);
});

test('daemon on: a start that fails ends the command with its reasons', async (t) => {
  const { port, text } = await conf(t);
  const first = await runSrv(t, [], text);
  const pid = pidOf(t, first.prefix);
  const { code, stderr, prefix } = await runSrv(t, [], text);
  t.is(code, 1);
  t.true(stderr.startsWith(`srv: [emerg] bind() to 127.0.0.1:${port} failed (98: Address already in use)\n`), stderr);
  t.false(existsSync(`${prefix}/logs/srv.pid`));
  process.kill(pid, 'SIGTERM');
  await waitFor('the end of the first server', () => !isAlive(pid));
});

/** As it is, and under a parent where root runs the tests. */
for (const user of process.getuid?.() === 0 ? ['', 'user daemon daemon;'] : ['']) {
  test(`daemon on: SIGWINCH ends the workers, a reload starts them again ${user}`, async (t) => {
    const { port, text } = await conf(t);
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    await runSrv(t, [], `${user}${text}`, { prefix });
    const pid = pidOf(t, prefix);
    process.kill(pid, 'SIGWINCH');
    await waitFor('no one listens', () =>
      get(port, '/').then(
        () => false,
        () => true,
      ),
    );
    t.true(isAlive(pid));
    process.kill(pid, 'SIGHUP');
    await waitFor('someone listens', () =>
      get(port, '/').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    process.kill(pid, 'SIGTERM');
    await waitFor('the end of the server', () => !isAlive(pid));
  });
}
