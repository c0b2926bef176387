/** A server that crashes in code of C: its parent starts another one, and the sockets stay open meanwhile. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const rootTest = process.getuid?.() === 0 ? test : test.skip;

const conf = (listens: string): string => `user daemon daemon; worker_processes 2; error_log logs/error.log notice; events {}
  http { server { ${listens} location / { return 200 "fine"; } } }`;

async function start(t: ExecutionContext): Promise<Srv> {
  const prefix = tempFolder(t);
  chmodSync(prefix, 0o755);
  mkdirSync(`${prefix}/logs`);
  return startSrv(t, conf('listen 127.0.0.1:%%PORT_web%%; listen unix:%%PREFIX%%/socket mode=0666;'), { prefix, allowCrashes: true });
}

/** The server of a parent. */
const serverOf = ({ pid }: Srv): number => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0] ?? 0);

rootTest('it is started again, no client is rejected meanwhile, and the log says so', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  for (const signal of ['SIGSEGV', 'SIGABRT'] as const) {
    await waitFor('the file of its number', () => existsSync(srv.path('logs/srv.pid')));
    const server = serverOf(srv);
    process.kill(server, signal);
    await waitFor('another server', () => ![0, server].includes(serverOf(srv)));
    // The sockets have their queues: clients that come now wait.
    t.is((await get(port, '/')).body, 'fine');
    await srv.waitForLog(new RegExp(`\\[alert\\] .* server process ${server} exited on ${signal}: another one was started in its place`));
  }
  t.is(readFileSync(srv.path('logs/srv.pid'), 'utf8').trim(), String(srv.pid));
  await srv.configure(conf('listen 127.0.0.1:%%PORT_other%%;'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is((await get(srv.port('other'), '/')).body, 'fine');
  t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
});

rootTest('with an invalid configuration file the sockets stay open until it is valid, and the log says so', async (t) => {
  const srv = await start(t);
  const server = serverOf(srv);
  const valid = readFileSync(srv.path('conf/srv.conf'), 'utf8');
  writeFileSync(srv.path('conf/srv.conf'), `${valid} nonsense;`);
  process.kill(server, 'SIGSEGV');
  await srv.waitForLog(new RegExp(`\\[alert\\] .* server process ${server} exited on SIGSEGV`));
  await srv.waitForLog(/\[alert\] .* could not start, it exited with code 1: the next attempt is in \d+ s/);
  const response = get(srv.port('web'), '/');
  writeFileSync(srv.path('conf/srv.conf'), valid);
  srv.signal('SIGHUP');
  t.is((await response).body, 'fine');
  t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
});

rootTest('one that is killed leaves a line in the log', async (t) => {
  const srv = await start(t);
  const server = serverOf(srv);
  process.kill(server, 'SIGKILL');
  t.is((await srv.exited).code, 137);
  t.regex(srv.log(), new RegExp(`\\[alert\\] .* server process ${server} exited on signal 9`));
});

rootTest('one that is to stop is not started again', async (t) => {
  const srv = await start(t);
  const connection = await connectRaw(t, srv.port('web'));
  connection.send('GET / HTTP/1.1\r\nHost: a');
  srv.signal('SIGQUIT');
  await srv.waitForLog(/SIGQUIT/);
  process.kill(serverOf(srv), 'SIGSEGV');
  t.deepEqual(await srv.exited.then(({ code }) => code), 139);
  t.notRegex(srv.log(), /started in its place/);
});
