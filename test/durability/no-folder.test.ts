import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { StoreError } from '../../core/changes/store-error.js';
import { Store } from '../../core/changes/store.js';
import { nodeConf } from '../control/node.js';
import { get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';

/** Nothing can be made below a file. */
const UNUSABLE = { files: { 'no-folder': '' } };

test('a server that keeps nothing needs no data folder', async (t) => {
  const http = `upstream demo { zone demo 64k; server 127.0.0.1:1; } server { listen 127.0.0.1:%%PORT_web%%; return 200 hello; }`;
  const conf = `data_folder no-folder/data; error_log logs/error.log notice; events {} http { ${http} }`;
  const srv = await startSrv(t, conf, UNUSABLE);
  t.regex(srv.log(), /\[notice\].* API changes cannot be stored: data folder ".*no-folder\/data" cannot be used: ENOTDIR/);
  t.is((await get(srv.port('web'), '/')).body, 'hello');
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is((await get(srv.port('web'), '/')).body, 'hello');
});

test('one with an API does, and a check and a start say so', async (t) => {
  const files = { ...UNUSABLE.files, 'conf/broker.conf': '', 'conf/ctrl.conf': 'events {}' };
  const conf = `daemon off; ${nodeConf({ main: 'data_folder no-folder/data;' })}`;
  for (const args of [['-t'], ['-c', 'conf/srv.conf']]) {
    const run = await runSrv(t, args, conf, { files });
    t.is(run.code, 1);
    t.regex(run.stderr, /data folder ".*no-folder\/data" cannot be used: ENOTDIR/);
  }
});

test('a store that goes away with the process is kept from the first change on, with the keys it gave', (t) => {
  const folder = join(tempFolder(t, { data: '' }), 'data');
  const store = Store.openIfUsable(folder, () => undefined);
  t.teardown(() => store.close());
  store.transaction(() => store.keys.setNext('b', 7));
  t.throws(() => store.keep(), { instanceOf: StoreError, message: /cannot be used/ });
  rmSync(folder);
  store.keep();
  store.transaction(() => (store.version = 3));
  const view = Store.openReadOnly(folder);
  t.is(view?.keys.next('b'), 7);
  t.is(view?.version, 3);
  view?.close();
});
