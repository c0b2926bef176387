import { chmodSync, chownSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import { bindSocket, bindUnixSocket, type RawSocket } from '../../core/net/transport/raw-socket.js';
import { get } from '../harness/client.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { plugin } from '../harness/plugins.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { fetched } from '../upgrade/load.js';
import { childrenOf, endWithTest, upgrade } from '../upgrade/replaced.js';

const rootTest = process.getuid?.() === 0 ? test : test.skip;
/** Number of the user `daemon`. */
const DAEMON = 1;

/** Ends the worker that it comes to. */
const EXIT = plugin('trouble', {
  manifest: `directives: { exit: directive({ in: ['location'], args: text() }) }`,
  body: `
    compile({ conf: { exit } }) {
      return exit && { content: request => { setImmediate(() => process.exit(3)); return request.send(200, 'still here'); } };
    }`,
});

interface Bound {
  readonly fd: number;
  readonly port: number;
}

/** What systemd has: a socket that it never accepts from, and which stays open. */
function bound(t: ExecutionContext, host: string, udp = false): Bound {
  const raw = bindSocket({ host, port: 0, udp, ipv6Only: false, shared: false });
  const name: { port?: number } = {};
  raw.getsockname?.(name);
  return { fd: held(t, raw), port: name.port ?? 0 };
}

function held(t: ExecutionContext, raw: RawSocket): number {
  t.teardown(() => raw.close());
  return raw.fd;
}

/** A folder of the user that everybody may enter. */
function folderOf(t: ExecutionContext, user: number): string {
  const prefix = tempFolder(t);
  chmodSync(prefix, 0o755);
  mkdirSync(`${prefix}/logs`);
  for (const path of [prefix, `${prefix}/logs`]) chownSync(path, user, user);
  return prefix;
}

const body = async (port: number): Promise<string> => (await get(port, '/')).body;

rootTest('without root: TCP of one or both versions of IP, UDP, unix, the API; a worker that dies; what cannot be used', async (t) => {
  const prefix = folderOf(t, DAEMON);
  const [web, both, udp, api, idle] = [
    bound(t, '127.0.0.1'),
    bound(t, '::'),
    bound(t, '127.0.0.1', true),
    bound(t, '127.0.0.1'),
    bound(t, '127.0.0.1'),
  ];
  const unix = held(t, bindUnixSocket(`${prefix}/w.sock`));
  chmodSync(`${prefix}/w.sock`, 0o666);
  const file = openSync('/dev/null', 'r');
  t.teardown(() => closeSync(file));
  const backend = await datagramBackend(t, echo);
  const srv = await startSrv(
    t,
    `worker_processes 2;
     error_log logs/error.log notice;
     load_module modules/trouble.js;
     helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
     events {}
     http {
       server { listen 127.0.0.1:${web.port}; location / { return 200 "web"; } location /exit { exit on; } }
       server { listen ${both.port}; return 200 "both"; }
       server { listen unix:${prefix}/w.sock; return 200 "unix"; }
     }
     stream { server { listen 127.0.0.1:${udp.port} udp; proxy_pass 127.0.0.1:${backend.port}; } }`,
    {
      prefix,
      user: DAEMON,
      allowCrashes: true,
      sockets: [web.fd, both.fd, udp.fd, unix, api.fd, idle.fd, file],
      env: { LISTEN_FDNAMES: 'web:both:udp:unix:api:idle:file' },
      files: {
        'modules/trouble.js': EXIT,
        'conf/ctrl.conf': `error_log logs/ctrl.log; events {} http { access_log off; server { listen 127.0.0.1:${api.port}; return 200 "api"; } }`,
      },
    },
  );
  await srv.waitForLog(/\[warn\] .*socket 8 \(idle\) of systemd, 127\.0\.0\.1:\d+, is not used: no "listen" names it/);
  await srv.waitForLog(/\[error\] .*socket 9 \(file\) of systemd cannot be used: not a socket/);
  t.deepEqual([await body(web.port), await body(both.port), await body(api.port)], ['web', 'both', 'api']);
  await fetched({ socketPath: `${prefix}/w.sock`, agent: false })();
  const client = await datagramClient(t, udp.port);
  for (const text of ['one', 'two', 'three']) t.is(await client.ask(text), text);
  for (let death = 1; death <= 2; death++) {
    await get(web.port, '/exit').catch(() => undefined);
    await waitFor('a new worker', () => srv.log().match(/exited with code 3/g)?.length === death);
    t.is(await body(web.port), 'web');
  }
  const [server = 0] = childrenOf(srv.pid);
  for (const pid of [server, ...childrenOf(server)]) t.notRegex(readFileSync(`/proc/${pid}/environ`, 'utf8'), /LISTEN_/);
  t.notRegex(srv.log() + srv.read('logs/ctrl.log'), /\[emerg\]|bind\(\)/);
});

const conf = (listen: string): string => `
user daemon daemon;
worker_processes 2;
error_log logs/error.log notice;
events {}
http { server { listen ${listen}; return 200 "fine"; } }`;

rootTest('with "user", over a reload that leaves the address and comes back, and over an upgrade', async (t) => {
  const prefix = folderOf(t, 0);
  const web = bound(t, '127.0.0.1');
  const address = `127.0.0.1:${web.port}`;
  const srv = await startSrv(t, conf(address), { prefix, sockets: [web.fd] });
  endWithTest(t, srv);
  const reload = async (listen: string, count: number): Promise<void> => {
    await srv.configure(conf(listen));
    srv.signal('SIGHUP');
    await waitFor('the reload', () => srv.log().match(/reconfigured/g)?.length === count);
  };
  t.is(await body(web.port), 'fine');
  await reload('127.0.0.1:%%PORT_other%%', 1);
  await reload(address, 2);
  t.is(await body(web.port), 'fine');
  await upgrade(srv);
  await waitFor('the end of the first program', () => !srv.running, 30_000);
  t.is(await body(web.port), 'fine');
  t.notRegex(srv.log(), /\[emerg\]|bind\(\)|not used/);
});

test('"daemon on" is rejected', async (t) => {
  const text = 'events {} http { server { listen 127.0.0.1:%%PORT_a%%; } }';
  const { code, stderr } = await runSrv(t, [], text, { sockets: [bound(t, '127.0.0.1').fd] });
  t.is(code, 1);
  t.regex(stderr, /\[emerg\] "daemon on" is not possible with sockets of systemd: set "daemon off"/);
});
