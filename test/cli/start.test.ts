import { createServer, type AddressInfo } from 'node:net';
import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { get } from '../harness/client.js';
import { runSrv, spawnSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const CONF = `
worker_processes 2;
events {}
http { server { listen 127.0.0.1:%%PORT_web%%; return 200 "ready"; } }
`;

test('the pid file names the foreground process once every listener is open, and goes with it', async (t) => {
  const srv = await spawnSrv(t, CONF);
  await waitFor('the pid file', () => srv.read('logs/srv.pid') !== '');
  t.is(srv.read('logs/srv.pid'), `${srv.pid}\n`);
  t.is((await get(srv.port('web'), '/')).body, 'ready');
  t.deepEqual(await srv.stop(), { code: 0, signal: null });
  t.false(existsSync(srv.path('logs/srv.pid')));
});

test('options of V8 are those of the process and of its threads', async (t) => {
  const srv = await startSrv(t, CONF, { nodeOptions: ['--max-semi-space-size=8', '--stack-trace-limit=20'] });
  t.is((await get(srv.port('web'), '/')).body, 'ready');
});

test('a pid file that a killed server left behind is replaced', async (t) => {
  const first = await startSrv(t, CONF, { allowCrashes: true });
  await first.stop('SIGKILL');
  t.is(first.read('logs/srv.pid'), `${first.pid}\n`);
  const second = await startSrv(t, CONF, { prefix: first.prefix });
  t.is(second.read('logs/srv.pid'), `${second.pid}\n`);
});

test('the error log exists at once, with the folders it needs', async (t) => {
  const srv = await startSrv(t, 'events {}\n', { args: ['-e', 'var/log/errors'] });
  t.true(existsSync(srv.path('var/log/errors')));
});

test('an error log that cannot be opened is told, and the run goes on; no folders are made outside of the prefix', async (t) => {
  const elsewhere = `${tempFolder(t)}/nowhere`;
  const { code, stderr } = await runSrv(t, ['-t', '-e', `${elsewhere}/x.log`], 'events {}\n');
  t.is(code, 0);
  const reason = `open() "${elsewhere}/x.log" failed (2: No such file or directory)`;
  t.true(stderr.startsWith(`srv: [alert] could not open error log file: ${reason}\n`), stderr);
  t.false(existsSync(elsewhere));
});

test('without an error_log line the log holds errors and worse only', async (t) => {
  const srv = await startSrv(t, 'helper broker modules/srv_helper_broker_module.so conf/broker.conf;\nevents {}\n', {
    files: { 'conf/broker.conf': '' },
  });
  await waitFor('the bus', () => existsSync(srv.path('data/bus.sock')));
  await srv.stop();
  t.is(srv.log(), '');
  const { stderr, prefix } = await runSrv(t, [], 'daemon off;\nfoo;\nevents {}\n');
  t.regex(stderr, /unknown directive "foo"/);
  t.notRegex(readFileSync(`${prefix}/logs/error.log`, 'utf8'), /\[(warn|notice)\]/);
});

test('a rejected configuration ends the start with its errors', async (t) => {
  const { code, stderr, prefix } = await runSrv(t, [], 'events { foo; }\n');
  t.is(code, 1);
  t.regex(stderr, /^srv: \[emerg\] unknown directive "foo" in .*\/conf\/srv\.conf:1\n/);
  t.false(existsSync(`${prefix}/logs/srv.pid`));
});

test('an address that is taken ends the start in the words of nginx', async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  t.teardown(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const { code, stderr, prefix } = await runSrv(t, [], `events {}\nhttp { server { listen 127.0.0.1:${port}; } }\n`);
  t.is(code, 1);
  t.regex(stderr, new RegExp(`^srv: \\[emerg\\] bind\\(\\) to 127\\.0\\.0\\.1:${port} failed \\(98: Address already in use\\)\\n {4}\\S`));
  t.false(existsSync(`${prefix}/logs/srv.pid`));
});

test('a second server on the same address is rejected, although workers share theirs', async (t) => {
  const first = await startSrv(t, CONF);
  const conf = CONF.replace('%%PORT_web%%', String(first.port('web')));
  const { code, stderr } = await runSrv(t, [], conf);
  t.is(code, 1);
  t.regex(stderr, /98: Address already in use/);
  t.is((await get(first.port('web'), '/')).status, 200);
});

test('a second server in the same prefix is rejected', async (t) => {
  const first = await startSrv(t, CONF);
  const { code, stderr } = await runSrv(t, [], 'daemon off;\nevents {}\n', { prefix: first.prefix });
  t.is(code, 1);
  t.regex(stderr, /^srv: \[emerg\] /);
  t.is(first.read('logs/srv.pid'), `${first.pid}\n`);
});

test('in the foreground under npm start it says where it listens and what the configuration adds', async (t) => {
  const srv = await startSrv(t, `start_message "try it";\n${CONF}`, { env: { npm_lifecycle_event: 'start' } });
  await waitFor('the message', () => srv.stdout.includes('try it'));
  t.is(srv.stdout, `srv is ready: process ${srv.pid}, 2 workers\ntraffic on 127.0.0.1:${srv.port('web')}\ntry it\n`);
});

test('elsewhere it says nothing when all is well', async (t) => {
  const srv = await startSrv(t, `start_message "try it";\n${CONF}`, { env: { npm_lifecycle_event: 'test' } });
  await srv.stop();
  t.is(srv.stdout + srv.stderr, '');
});

test('a prefix that does not exist is an error about the configuration file', async (t) => {
  const prefix = `${tempFolder(t)}/nowhere`;
  const { code, stderr } = await runSrv(t, [], undefined, { prefix });
  t.is(code, 1);
  t.true(stderr.includes(`open() "${prefix}/conf/srv.conf" failed (2: No such file or directory)`), stderr);
});
