import { existsSync } from 'node:fs';
import test from 'ava';
import { nodeConf } from '../control/node.js';
import { get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';

/** Nothing can be made below a file. */
const UNUSABLE = { files: { 'no-folder': '' } };

test('a server that keeps nothing needs no data folder, and makes none', async (t) => {
  const http = `upstream demo { zone demo 64k; server 127.0.0.1:1; } server { listen 127.0.0.1:%%PORT_web%%; return 200 hello; }`;
  const conf = (folder: string): string => `data_folder ${folder}; error_log logs/error.log notice; events {} http { ${http} }`;
  const srv = await startSrv(t, conf('no-folder/data'), UNUSABLE);
  t.is((await get(srv.port('web'), '/')).body, 'hello');
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await srv.stop();
  const other = await startSrv(t, conf('data'));
  await other.stop();
  t.false(existsSync(other.path('data')));
});

test('one with an API does, and a start says so', async (t) => {
  const files = { ...UNUSABLE.files, 'conf/broker.conf': '', 'conf/ctrl.conf': 'events {}' };
  const run = await runSrv(t, ['-c', 'conf/srv.conf'], `daemon off; ${nodeConf({ main: 'data_folder no-folder/data;' })}`, { files });
  t.is(run.code, 1);
  t.regex(run.stderr, /data folder ".*no-folder\/data" cannot be used: ENOTDIR/);
});
