import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { get } from '../harness/client.js';
import { descriptorLimit, limitDescriptors } from '../harness/descriptors.js';
import { plugin } from '../harness/plugins.js';
import { runSrv, startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** Helpers that do nothing but write down that they live. */
const IDLE = plugin('idle', {
  kind: 'helper',
  manifest: `helper: 'broker'`,
  imports: `import { HelperHost } from 'srv/module/helper-host.js'; import { Log } from 'srv/module/log.js';`,
  body: `
    static services = [Log, HelperHost];
    constructor(log, host) { this.log = log; this.host = host; }
    start() { this.log.write('error', 'idle started with ' + this.host.conf); setInterval(() => {}, 1000); }
    stop() { this.log.write('error', 'idle stopped'); }`,
});

const CONF = `
error_log logs/error.log notice;
helper broker modules/idle.so conf/idle.conf;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ok"; } }
`;

const start = (t: ExecutionContext): Promise<Srv> => startSrv(t, CONF, { files: { 'modules/idle.js': IDLE, 'conf/idle.conf': '' } });

/** The process of the helper that was started last. */
async function helperPid(srv: Srv, count = 1): Promise<number> {
  const started = await waitFor(`start ${count} of the helper`, () => {
    const lines = [...srv.log().matchAll(/start helper broker, process (\d+)/g)];
    return lines.length >= count && (srv.log().match(/idle started/g) ?? []).length >= count ? lines.at(-1) : undefined;
  });
  return Number(started[1]);
}

function isAlive(pid: number): boolean {
  try {
    // A process that has ended and was not waited for yet still has its number.
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

test('a helper runs its module on its configuration, and ends with the server', async (t) => {
  const srv = await start(t);
  const pid = await helperPid(srv);
  t.true(srv.log().includes(`idle started with ${srv.path('conf/idle.conf')}`));
  t.true(isAlive(pid));
  await srv.stop('SIGQUIT');
  t.false(isAlive(pid));
  t.regex(srv.log(), /idle stopped/);
});

test('a helper that is killed is started again, and traffic goes on', async (t) => {
  const srv = await start(t);
  const first = await helperPid(srv);
  process.kill(first, 'SIGKILL');
  t.is((await get(srv.port('web'), '/')).body, 'ok');
  const second = await helperPid(srv, 2);
  t.not(second, first);
  t.regex(srv.log(), new RegExp(`helper broker \\(process ${first}\\) exited on signal SIGKILL, it is started again in \\d+ ms`));
});

test('a helper whose start fails for want of descriptors is started when there are some again, and at a reload', async (t) => {
  const srv = await start(t);
  const first = await helperPid(srv);
  const { soft } = descriptorLimit(srv.pid);
  limitDescriptors(srv.pid, 10);
  process.kill(first, 'SIGKILL');
  await srv.waitForLog(/(helper broker cannot be started: spawn .* EMFILE, it is started again in \d+ ms[^]*){3}/);
  limitDescriptors(srv.pid, soft);
  const second = await helperPid(srv, 2);
  limitDescriptors(srv.pid, 10);
  process.kill(second, 'SIGKILL');
  await srv.waitForLog(/started again in 1600 ms/);
  limitDescriptors(srv.pid, soft);
  srv.signal('SIGHUP');
  t.true(isAlive(await helperPid(srv, 3)));
});

test('a helper that hangs is killed and started again', async (t) => {
  const srv = await startSrv(t, CONF, { files: { 'modules/idle.js': IDLE, 'conf/idle.conf': '' }, allowCrashes: true });
  const first = await helperPid(srv);
  process.kill(first, 'SIGSTOP');
  await waitFor('its end', () => /helper broker \(process \d+\) is ended: it hangs: no response for 10 s/.test(srv.log()), 30_000);
  t.not(await helperPid(srv, 2), first);
  t.false(isAlive(first));
});

test('a helper ends when the server is killed', async (t) => {
  const srv = await startSrv(t, CONF, { files: { 'modules/idle.js': IDLE, 'conf/idle.conf': '' }, allowCrashes: true });
  const pid = await helperPid(srv);
  await srv.stop('SIGKILL');
  t.true(await waitFor('the end of the helper', () => !isAlive(pid)));
});

test('what a terminal sends to all processes ends the helper with the server, not before it', async (t) => {
  const srv = await start(t);
  const pid = await helperPid(srv);
  process.kill(pid, 'SIGINT');
  process.kill(pid, 'SIGHUP');
  process.kill(-srv.pid, 'SIGINT');
  t.deepEqual(await srv.exited, { code: 0, signal: null });
  t.false(isAlive(pid));
  t.notRegex(srv.log(), /exited on signal/);
});

test('a reload starts new helpers and ends helpers without a line', async (t) => {
  const srv = await start(t);
  const pid = await helperPid(srv);
  await srv.configure(CONF.replace(/helper .*/, ''));
  srv.signal('SIGHUP');
  t.true(await waitFor('the end of the helper', () => !isAlive(pid)));
  await srv.configure(CONF);
  srv.signal('SIGHUP');
  t.not(await helperPid(srv, 2), pid);
});

for (const [what, files, message] of [
  ['a module that does not exist', {}, /cannot load module "modules\/idle\.so".* in .*srv\.conf:3\n/],
  ['a module that is no helper', { 'modules/idle.js': plugin('idle') }, /module "idle" cannot be the helper "broker" in .*srv\.conf:3\n/],
] as const) {
  test(`${what} is rejected`, async (t) => {
    const { code, stderr } = await runSrv(t, [], `daemon off;${CONF}`, { files: { 'conf/idle.conf': '', ...files } });
    t.is(code, 1);
    t.regex(stderr, message);
  });
}

test('a helper line of an unknown kind is rejected', async (t) => {
  const { code, stderr } = await runSrv(t, ['-t'], 'helper mailer modules/x.so conf/x.conf;\nevents {}\n');
  t.is(code, 1);
  t.regex(stderr, /\[emerg\] invalid value "mailer" in .*:1\n[^]*one of: broker, ctrl/);
});
