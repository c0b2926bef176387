import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { lowPort } from '../harness/ports.js';
import { runSrv, startSrv, type Srv, type SrvOptions } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { LOOP } from '../kernel/hostile-module.js';

const isRoot = process.getuid?.() === 0;
const rootTest = isRoot ? test : test.skip;
/** Number of the user `daemon`, the same on every system. */
const DAEMON = 1;
/** Longer than a worker that hangs is waited for. */
const HANG_MS = 40_000;

const TROUBLE = plugin('trouble', {
  manifest: `directives: { trouble: directive({ in: ['location'], args: text() }) }`,
  body: `
    compile({ conf: { trouble } }) {
      return trouble && { content: request => { setImmediate(() => this[trouble]()); return request.send(200, 'still here'); } };
    }
    exit() { process.exit(3); }
    loop() { ${LOOP} }`,
});

const conf = (workers: number, listens: string, more = ''): string => `
user daemon daemon;
worker_processes ${workers};
error_log logs/error.log notice;
load_module modules/trouble.js;
events {}
http {
  server {
    ${listens}
    location / { return 200 "fine"; }
    location /exit { trouble exit; }
    location /loop { trouble loop; }
    ${more}
  }
}`;

/** A server in a folder of root's that everybody may enter. */
async function start(t: ExecutionContext, text: string, options: SrvOptions = {}): Promise<Srv> {
  const prefix = tempFolder(t);
  chmodSync(prefix, 0o755);
  mkdirSync(`${prefix}/logs`);
  return startSrv(t, text, { prefix, allowCrashes: true, ...options, files: { 'modules/trouble.js': TROUBLE, ...options.files } });
}

const serves = (port: number, timeoutMs?: number): Promise<string> =>
  waitFor(
    'a response',
    () =>
      get(port, '/').then(
        ({ body }) => body,
        () => undefined,
      ),
    timeoutMs,
  );

/** The processes that it has started. */
const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

const userOf = (pid: number): number => Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

rootTest('one worker on a port of root: replaced when it dies and when it hangs; nobody is refused meanwhile', async (t) => {
  const port = await lowPort();
  const srv = await start(t, conf(1, `listen 127.0.0.1:${port}; listen unix:%%PREFIX%%/socket mode=0666;`));
  const [server = 0] = childrenOf(srv.pid);
  t.is(userOf(srv.pid), 0);
  t.is(userOf(server), DAEMON);
  for (let death = 0; death < 3; death++) {
    await get(port, '/exit').catch(() => undefined);
    // What the dying worker has accepted is cut. The socket stays, and with it its queue.
    const first = await get(port, '/').catch((error: NodeJS.ErrnoException) => error);
    t.not('code' in first && first.code, 'ECONNREFUSED');
    t.is(await serves(port), 'fine');
  }
  await get(port, '/loop').catch(() => undefined);
  t.is(await serves(port, HANG_MS), 'fine');
  t.notRegex(srv.log(), /\[emerg\]|bind\(\)/);
  t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
});

rootTest(
  'a reload opens ports of root, starts more workers on them, changes the mode of a unix socket; what is not wanted any more is closed',
  async (t) => {
    const [first, second] = [await lowPort(), await lowPort()];
    const unix = 'listen unix:%%PREFIX%%/socket mode';
    const srv = await start(t, conf(1, `listen 127.0.0.1:${first}; ${unix}=0600;`), { args: ['-g', 'daemon off;'] });
    const modeOfSocket = (): number => statSync(srv.path('socket')).mode & 0o777;
    t.is(modeOfSocket(), 0o600);
    await srv.configure(conf(3, `listen 127.0.0.1:${first}; listen 127.0.0.1:${second}; ${unix}=0666;`));
    srv.signal('SIGHUP');
    await srv.waitForLog(/reconfigured/);
    t.is(modeOfSocket(), 0o666);
    t.is(await serves(second), 'fine');
    await srv.configure(conf(1, `listen 127.0.0.1:${second};`));
    srv.signal('SIGHUP');
    await srv.waitForLog(/worker 2 exited[^]*reconfigured|reconfigured[^]*reconfigured[^]*worker 2 exited/);
    for (let request = 0; request < 20; request++) t.is((await get(second, '/')).body, 'fine');
    // Nobody holds an address that nobody listens on.
    await waitFor('the end of the first address', () =>
      get(first, '/').then(
        () => undefined,
        (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
      ),
    );
    t.notRegex(srv.log(), /\[emerg\]|bind\(\)/);
  },
);

rootTest('killed: the server ends with its parent, the parent with its server', async (t) => {
  const port = await lowPort();
  const text = conf(1, `listen 127.0.0.1:${port};`);
  for (const isParent of [true, false]) {
    const srv = await start(t, text);
    const [server = 0] = childrenOf(srv.pid);
    process.kill(isParent ? srv.pid : server, 'SIGKILL');
    const { code, signal } = await srv.exited;
    t.is(isParent ? signal : code, isParent ? 'SIGKILL' : 137);
    await waitFor('the end of all', () => !srv.hasProcesses());
    if (!isParent) t.is(srv.read('logs/srv.pid'), '');
  }
});

/** The certificate that a server shows. */
async function shown(port: number): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

/** Files that root alone may read. */
function writeSecret(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 });
}

function renew(prefix: string, name: string): void {
  const { key, cert } = selfSigned(name);
  writeSecret(`${prefix}/keys/key.pem`, key);
  writeSecret(`${prefix}/keys/cert.pem`, cert);
}

rootTest(
  "root's keys and includes are read at the start and at a reload; logs in root's folder are reopened; the API has a port of root and opens others",
  async (t) => {
    const [web, api, further] = [await lowPort(), await lowPort(), await lowPort()];
    const prefix = tempFolder(t);
    chmodSync(prefix, 0o755);
    mkdirSync(`${prefix}/logs`);
    mkdirSync(`${prefix}/keys`, { mode: 0o700 });
    renew(prefix, 'first.example');
    writeSecret(`${prefix}/keys/servers.conf`, `server { listen 127.0.0.1:${web} ssl; return 200 "secure"; }`);
    const tls = `ssl_certificate ../keys/cert.pem; ssl_certificate_key ../keys/key.pem;`;
    const srv = await startSrv(
      t,
      `user daemon daemon;
error_log logs/error.log notice;
load_module modules/srv_http_dyn_server_module.so;
helper broker modules/srv_helper_broker_module.so conf/broker.conf;
helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
events {}
http { ${tls} include ../keys/servers.conf; }`,
      {
        prefix,
        files: {
          'conf/broker.conf': '',
          'conf/ctrl.conf': `load_module modules/srv_http_dyn_server_api_module.so;
error_log logs/ctrl.log;
events {}
http { access_log off; server { listen 127.0.0.1:${api} ssl; ${tls} location /api { dyn_module_api; } } }`,
        },
      },
    );
    const [server = 0] = childrenOf(srv.pid);
    await waitFor('the API', () => shown(api).catch(() => undefined));
    t.deepEqual([await shown(web), await shown(api)], ['first.example', 'first.example']);
    for (const pid of [server, ...childrenOf(server)]) t.is(userOf(pid), DAEMON);
    t.is(childrenOf(server).length, 2);

    renew(prefix, 'second.example');
    renameSync(srv.path('logs/error.log'), srv.path('logs/error.1'));
    srv.signal('SIGUSR1');
    await waitFor('the new log', () => existsSync(srv.path('logs/error.log')));
    t.is(statSync(srv.path('logs/error.log')).uid, DAEMON);
    const { code, stderr } = await runSrv(t, ['-s', 'reload'], undefined, { prefix });
    t.is(code, 0, stderr);
    t.is(await shown(web), 'second.example');
    await waitFor('the new certificate', async () => (await shown(api)) === 'second.example');

    const agent = {
      host: '127.0.0.1',
      port: api,
      rejectUnauthorized: false,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    };
    const call = httpsRequest({ ...agent, path: '/api/v1/dyn_srv' });
    call.end(
      JSON.stringify({ type: 'add', addr_port: `127.0.0.1:${further}`, server_name: 'new.example', server_body: 'return 200 "added"' }),
    );
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    response.resume();
    t.is(response.statusCode, 200);
    t.is(await serves(further), 'added');
    t.notRegex(srv.log() + srv.read('logs/error.1') + srv.read('logs/ctrl.log'), /\[emerg\]|\[alert\]|Permission/);
  },
);
