import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { connectRaw, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const page = (text: string, workers = 1): string => `
error_log logs/error.log notice;
worker_processes ${workers};
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "${text}"; } }
`;

/** For tests that change nothing, which is what they are about. Those that write its configuration file take turns. */
const steady = shared((scope) => startSrv(scope, page('before')));

for (const [name, signal] of [
  ['stop', 'SIGTERM'],
  ['quit', 'SIGQUIT'],
] as const) {
  test(`-s ${name} ends the server`, async (t) => {
    const srv = await startSrv(t, page('x'));
    const { code, stderr } = await runSrv(t, ['-s', name], undefined, { prefix: srv.prefix });
    t.is(code, 0, stderr);
    t.deepEqual(await srv.exited, { code: 0, signal: null });
    t.regex(srv.log(), new RegExp(`\\[notice\\] ${srv.pid}#0: signal ${signal} received`));
    t.false(existsSync(srv.path('logs/srv.pid')));
  });
}

test('-s reload brings a changed file into force', async (t) => {
  const srv = await startSrv(t, page('before', 2));
  t.is((await get(srv.port('web'), '/')).body, 'before');
  await srv.configure(page('after', 2));
  const { code, stderr } = await runSrv(t, ['-s', 'reload'], undefined, { prefix: srv.prefix });
  t.is(code, 0, stderr);
  t.is(stderr, '');
  for (let i = 0; i < 8; i++) t.is((await get(srv.port('web'), '/')).body, 'after');
});

test.serial('-s reload waits for the end of the reload, and says why it failed', async (t) => {
  const srv = await steady();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  await srv.configure(page('after').replace('listen ', `listen 127.0.0.1:${port}; listen `));
  const { code, stderr } = await runSrv(t, ['-s', 'reload'], undefined, { prefix: srv.prefix });
  taken.close();
  t.is(code, 1);
  t.regex(stderr, new RegExp(`^srv: \\[emerg\\] bind\\(\\) to 127\\.0\\.0\\.1:${port} failed \\(98: Address already in use\\)`));
  t.regex(stderr, /\nsrv: the current configuration stays as it was\n$/);
  t.is((await get(srv.port('web'), '/')).body, 'before');
  await srv.configure(page('before'));
  t.is((await runSrv(t, ['-s', 'reload'], undefined, { prefix: srv.prefix })).code, 0);
});

test('-s reload of a module that throws prints the stack line by line', async (t) => {
  const files = { 'modules/broken.js': plugin('broken', { body: `compile() { throw new Error('broken on purpose'); }` }) };
  const { code, stderr } = await runSrv(t, ['-s', 'reload'], `load_module modules/broken.js; ${page('x')}`, { files });
  t.is(code, 1);
  t.regex(
    stderr,
    /^srv: \[crit\] "compile" of module "broken" failed: Error: broken on purpose\n    at Plugin\.compile \(file:.*broken\.js:\d+:\d+\)\n/,
  );
  t.regex(stderr, /^srv: \[emerg\] "compile" of module "broken" failed: broken on purpose in /m);
  t.regex(stderr, /the \[crit\] line of the log has the stack/);
});

test.serial('-s reload of a wrong file tells the errors and changes nothing', async (t) => {
  const srv = await steady();
  const from = srv.log().length;
  await srv.configure('foo;\n');
  const { code, stderr } = await runSrv(t, ['-s', 'reload'], undefined, { prefix: srv.prefix });
  t.is(code, 1);
  t.regex(stderr, /\[emerg\] unknown directive "foo"/);
  t.notRegex(srv.log().slice(from), /SIGHUP/);
  t.is((await get(srv.port('web'), '/')).body, 'before');
});

test.serial('SIGHUP with a wrong file logs every error and changes nothing', async (t) => {
  const srv = await steady();
  await srv.configure(`foo;\nbar;\n${page('after')}`);
  srv.signal('SIGHUP');
  await srv.waitForLog(
    /\[emerg\] .* unknown directive "foo" in .*:1\n.*\[emerg\] .* unknown directive "bar" in .*:2\n[^]*the current configuration stays as it was/,
  );
  t.is((await get(srv.port('web'), '/')).body, 'before');
});

test.serial('SIGHUP with an empty file changes nothing', async (t) => {
  const srv = await steady();
  await srv.configure('');
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[emerg\] .*: no "events" section in configuration\n[^]*the current configuration stays as it was/);
  t.is((await get(srv.port('web'), '/')).body, 'before');
});

test('a reload follows worker_processes', async (t) => {
  const srv = await startSrv(t, page('x', 2));
  await srv.configure(page('x', 1));
  srv.signal('SIGHUP');
  await srv.waitForLog(/worker 1 exited with code 0/);
  await srv.configure(page('x', 3));
  srv.signal('SIGHUP');
  await srv.waitForLog(/start worker 2/);
  await srv.waitForLog(/reconfigured[^]*reconfigured/);
  for (let i = 0; i < 8; i++) t.is((await get(srv.port('web'), '/')).status, 200);
});

test('a reload that names another pid file moves it', async (t) => {
  const srv = await startSrv(t, page('x'));
  mkdirSync(srv.path('run'));
  await srv.configure(`pid run/other.pid;\n${page('x')}`);
  srv.signal('SIGHUP');
  await waitFor('the new pid file', () => srv.read('run/other.pid') === `${srv.pid}\n` && !existsSync(srv.path('logs/srv.pid')));
  t.is((await runSrv(t, ['-s', 'quit'], undefined, { prefix: srv.prefix })).code, 0);
  t.deepEqual(await srv.exited, { code: 0, signal: null });
  t.false(existsSync(srv.path('run/other.pid')));
});

/** The paths of what a process has open. */
function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).map((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`);
    } catch {
      // It was closed meanwhile.
      return '';
    }
  });
}

test('-s reopen lets go of a rotated log', async (t) => {
  const srv = await startSrv(t, page('x', 2));
  await get(srv.port('web'), '/before');
  await srv.waitForLog(/\/before/, 'logs/access.log');
  renameSync(srv.path('logs/error.log'), srv.path('logs/error.1'));
  renameSync(srv.path('logs/access.log'), srv.path('logs/access.1'));
  const { code, stderr } = await runSrv(t, ['-s', 'reopen', '-e', 'other.log'], undefined, { prefix: srv.prefix });
  t.is(code, 0, stderr);
  t.false(existsSync(srv.path('other.log')));
  await waitFor('the new logs', () => existsSync(srv.path('logs/error.log')) && existsSync(srv.path('logs/access.log')));
  // Each worker in its own time.
  await waitFor('the end of the old ones', () => !openFiles(srv.pid).some((path) => /\/logs\/\w+\.1$/.test(path)));
  for (let i = 0; i < 8; i++) await get(srv.port('web'), '/after');
  await srv.waitForLog(/(.*\/after.*\n){8}/, 'logs/access.log');
  t.notRegex(srv.read('logs/access.1'), /after/);
});

test('a signal opens no log: it would take the place of one that was rotated', async (t) => {
  const { code, stderr, prefix } = await runSrv(t, ['-s', 'reopen'], 'error_log logs/error.log;\nevents {}\n');
  t.is(code, 1);
  t.regex(stderr, /^srv: \[error\] open\(\) ".*\/logs\/srv\.pid" failed/);
  t.false(existsSync(`${prefix}/logs`));
});

test('SIGQUIT finishes what is under way and takes nothing new', async (t) => {
  const responses: ServerResponse[] = [];
  const backend = await httpBackend(t, (_, response) => responses.push(response));
  const conf = page('x').replace('return 200 "x";', `location / { proxy_pass http://127.0.0.1:${backend.port}; }`);
  const srv = await startSrv(t, conf);
  const pending = get(srv.port('web'), '/');
  await waitFor('the request', () => responses.length > 0);
  srv.signal('SIGQUIT');
  await srv.waitForLog(/gracefully shutting down/);
  await waitFor('the listeners to close', () =>
    connectRaw(t, srv.port('web')).then(
      (connection) => connection.socket.destroy() && false,
      () => true,
    ),
  );
  t.true(srv.running);
  responses[0]?.end('slow answer');
  t.is((await pending).body, 'slow answer');
  t.deepEqual(await srv.exited, { code: 0, signal: null });
});

test('worker_shutdown_timeout cuts off what does not end', async (t) => {
  const backend = await httpBackend(t, () => undefined);
  const conf = page('x').replace(
    'return 200 "x";',
    `access_log logs/access.log; location / { proxy_pass http://127.0.0.1:${backend.port}; }`,
  );
  const srv = await startSrv(t, `worker_shutdown_timeout 300ms;\n${conf}`);
  const pending = get(srv.port('web'), '/cut');
  await waitFor('the request', () => backend.requests.length > 0);
  srv.signal('SIGQUIT');
  await t.throwsAsync(pending);
  t.deepEqual(await srv.exited, { code: 0, signal: null });
  t.regex(srv.read('logs/access.log'), /"GET \/cut HTTP\/1\.1" 499 /, 'it is logged like any other');
});

test('worker_shutdown_timeout cuts off requests that began before a reload, and no others', async (t) => {
  const backend = await httpBackend(t, () => undefined);
  const conf = (timeout: string, text: string): string =>
    `${timeout} ${page(text).replace(`return 200 "${text}";`, `location / { return 200 "${text}"; } location /slow { proxy_pass http://127.0.0.1:${backend.port}; }`)}`;
  const srv = await startSrv(t, conf('worker_shutdown_timeout 1s;', 'x'));
  const idle = await connectRaw(t, srv.port('web'));
  idle.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await idle.receive(/x$/);
  const old = get(srv.port('web'), '/slow');
  await waitFor('the request', () => backend.requests.length > 0);
  await srv.configure(conf('', 'y'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  const young = get(srv.port('web'), '/slow').then(
    () => 'response',
    () => 'cut off',
  );
  await t.throwsAsync(old);
  await srv.waitForLog(/\[warn\] .*: 1 request or session that began before a reload was cut off after "worker_shutdown_timeout"\n/);
  idle.take();
  idle.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await idle.receive(/y$/);
  t.is(await Promise.race([young, Promise.resolve('under way')]), 'under way');
});

test('SIGTERM ends at once, whatever is under way', async (t) => {
  const backend = await httpBackend(t, () => undefined);
  const conf = page('x').replace('return 200 "x";', `location / { proxy_pass http://127.0.0.1:${backend.port}; }`);
  const srv = await startSrv(t, conf);
  const pending = get(srv.port('web'), '/');
  await waitFor('the request', () => backend.requests.length > 0);
  srv.signal('SIGTERM');
  await t.throwsAsync(pending);
  t.deepEqual(await srv.exited, { code: 0, signal: null });
});

test('in the foreground SIGWINCH changes nothing', async (t) => {
  const srv = await steady();
  srv.signal('SIGWINCH');
  t.is((await get(srv.port('web'), '/')).status, 200);
  t.notRegex(srv.log(), /SIGWINCH/);
});

test('-s without a running server says what to do', async (t) => {
  const { code, stderr, prefix } = await runSrv(t, ['-s', 'stop'], 'events {}\n');
  t.is(code, 1);
  t.true(
    stderr.startsWith(`srv: [error] open() "${prefix}/logs/srv.pid" failed (2: No such file or directory)\nsrv: no server seems to run`),
    stderr,
  );
});

test('-s with the pid of a server that is gone', async (t) => {
  const { prefix } = await check(t, 'events {}\n');
  writeFileSync(`${prefix}/logs/srv.pid`, '4194303\n');
  const { code, stderr } = await runSrv(t, ['-s', 'stop'], undefined, { prefix });
  t.is(code, 1);
  t.regex(stderr, /^srv: \[alert\] kill\(4194303, SIGTERM\) failed \(3: No such process\)\nsrv: the server that wrote/);
});

test('-s with a pid file that holds no number', async (t) => {
  const { prefix } = await check(t, 'events {}\n');
  writeFileSync(`${prefix}/logs/srv.pid`, 'x\n');
  const { code, stderr } = await runSrv(t, ['-s', 'stop'], undefined, { prefix });
  t.is(code, 1);
  t.regex(stderr, /^srv: \[error\] invalid PID number "x" in/);
});

test('a server whose file was broken since can still be stopped', async (t) => {
  const srv = await startSrv(t, page('x'));
  await srv.configure('unknown_directive on;\nevents {}\n');
  t.is((await runSrv(t, ['-s', 'stop'], undefined, { prefix: srv.prefix })).code, 0);
  t.deepEqual(await srv.exited, { code: 0, signal: null });
});
