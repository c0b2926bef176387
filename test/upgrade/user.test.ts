import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { lowPort } from '../harness/ports.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { fetched, Load } from './load.js';
import { childrenOf, command, commandOf, commandUpgrade, endWithTest, isAlive, pidOf, upgrade } from './replaced.js';

const rootTest = process.getuid?.() === 0 ? test : test.skip;
/** Number of the user `daemon`. */
const DAEMON = 1;

const CONTROL = `
  load_module modules/srv_http_upstream_api_module.so;
  events {}
  http { server { listen 127.0.0.1:%%PORT_api%%; location /api { dyn_module_api; } } }`;

rootTest('with "user" the sockets go from parent to parent; API and keys of root are there as before', async (t) => {
  const port = await lowPort();
  const prefix = tempFolder(t);
  chmodSync(prefix, 0o755);
  mkdirSync(`${prefix}/run`);
  mkdirSync(`${prefix}/logs`);
  const { key, cert } = selfSigned('a.example');
  for (const [file, text] of Object.entries({ 'a.key': key, 'a.pem': cert })) chmodSync(writeInto(prefix, `conf/${file}`, text), 0o600);
  const conf = `
    user daemon daemon;
    worker_processes 2;
    error_log logs/error.log notice;
    load_module modules/srv_http_upstream_member_module.so;
    helper broker modules/srv_helper_broker_module.so conf/srv_broker.conf;
    helper ctrl modules/srv_helper_ctrl_module.so conf/ctrl.conf;
    events {}
    http {
      server { listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate a.pem; ssl_certificate_key a.key; return 204; }
      server { listen 127.0.0.1:${port}; return 200 "$pid"; }
      server { listen unix:%%PREFIX%%/run/w.sock; return 200 "$pid"; }
    }`;
  const srv = await startSrv(t, conf, { prefix, files: { 'conf/ctrl.conf': CONTROL } });
  endWithTest(t, srv);
  const load = new Load({
    tcp: fetched({ host: '127.0.0.1', port, agent: false }),
    'unix socket': fetched({ socketPath: srv.path('run/w.sock'), agent: false }),
  });
  const first = pidOf(srv);
  t.is(await upgrade(srv), pidOf(srv));
  const second = pidOf(srv);
  await waitFor('the end of the first parent', () => !srv.running, 30_000);
  t.not(second, first);
  const { code, stderr } = await commandUpgrade(srv);
  t.is(code, 0, stderr);
  await waitFor('the third program', () => pidOf(srv) !== second);
  await waitFor('the end of the second parent', () => !isAlive(second), 30_000);
  await sleep(200);
  const third = pidOf(srv);
  const server = Number((await get(port, '/')).body);
  t.deepEqual(childrenOf(third), [server]);
  t.is(statSync(`/proc/${server}`).uid, DAEMON);
  const upstreams = await waitFor('the API', () => get(srv.port('api'), '/api/v1/upstream_api/http/upstreams').catch(() => undefined));
  t.is(upstreams.status, 200, upstreams.body);
  t.true(existsSync(`${prefix}/data/bus.json`), 'the program before has left the files of the bus alone');
  t.deepEqual(await command(srv, 'reload'), { code: 0, stderr: '' });

  await srv.configure(`${conf} nonsense;`);
  const broken = await commandUpgrade(srv);
  t.is(broken.code, 1);
  t.regex(broken.stderr, /unknown directive "nonsense"/);
  await srv.configure(conf);

  process.kill(third, 'SIGUSR2');
  const fourth = await waitFor('the new parent', () => childrenOf(third).find((pid) => pid !== server && commandOf(pid) !== ''));
  process.kill(fourth, 'SIGKILL');
  await srv.waitForLog(/upgrade failed: the new program was ended by SIGKILL/);
  t.is((await get(port, '/')).body, String(server));
  await load.end();
  t.deepEqual(load.failures, []);
});
