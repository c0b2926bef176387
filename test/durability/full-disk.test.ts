import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { StoreError } from '../../core/changes/store-error.js';
import { Store } from '../../core/changes/store.js';
import { errorOf } from '../control/api-client.js';
import { nodeConf, startNode } from '../control/node.js';
import { smallDisk } from '../harness/full-disk.js';
import { runSrv } from '../harness/srv.js';

const HTTP = 'upstream demo { zone demo 256k; server 127.0.0.1:1; } upstream kept { zone kept 256k; state kept.state; }';

test('on a full disk changes are rejected, and reloads and restarts that write nothing work', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.log('this user may not mount a file system');
    t.pass();
    return;
  }
  const main = `data_folder ${disk.folder}/data; load_module modules/srv_http_config_module.so;`;
  const more = join(disk.folder, 'more.conf');
  writeFileSync(more, 'upstream more { zone more 256k; server 127.0.0.1:1; }');
  const logged = `access_log ${disk.folder}/access.log;`;
  const options = {
    controlMain: 'load_module modules/srv_http_config_api_module.so;',
    http: `include ${more}; ${logged} ${HTTP.replace('kept.state', `${disk.folder}/kept.state`)}`,
    main,
  };
  const node = await startNode(t, options);
  for (const group of ['demo', 'kept', 'more']) await node.upstreams('POST', `/${group}/servers/`, { server: '127.0.0.1:2' });
  await node.srv.waitForLog(/start helper ctrl/);
  disk.fill();

  t.is((await node.web()).status, 502);
  const refused = await node.upstreams('POST', '/kept/servers/', { server: `127.0.0.1:3` });
  t.is(refused.status, 507);
  t.is(errorOf(refused).code, 'StoreFull');
  const saved = await node.call('POST', '/config/save');
  t.is(errorOf(saved).code, 'StoreFull', saved.body);
  t.notRegex(readFileSync(more, 'utf8'), /127\.0\.0\.1:2/);
  t.deepEqual(
    readdirSync(disk.folder).filter((name) => name.includes('more.conf')),
    ['more.conf'],
  );
  t.is((await node.call('POST', '/kv', { key: 'long', value: 'x'.repeat(50_000) })).status, 507);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  // Also one that changes something which the store has no part in.
  await node.srv.configure(nodeConf({ ...options, server: 'location / { return 200 changed; }' }));
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured[^]*reconfigured/);
  t.is((await node.web()).body, 'changed');
  await node.srv.stop();
  // What the end has made room for.
  disk.fill();

  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.deepEqual([...(await again.list()), ...(await again.list('kept'))], ['0 127.0.0.1:1', '1 127.0.0.1:2', '0 127.0.0.1:2']);
  t.is(errorOf(await again.upstreams('POST', '/kept/servers/', { server: '127.0.0.1:3' })).code, 'StoreFull');
  const { stderr } = await runSrv(t, ['-T'], undefined, { prefix: node.srv.prefix });
  t.regex(stderr, /data folder ".*" is in use by another srv/);
  disk.empty();
  t.is((await again.upstreams('POST', '/kept/servers/', { server: '127.0.0.1:3' })).status, 201);
  t.deepEqual(await again.list('kept'), ['0 127.0.0.1:2', '1 127.0.0.1:3']);
});

test('a start says that the file system of the data folder is read-only', async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) {
    t.log('this user may not mount a file system');
    t.pass();
    return;
  }
  const folder = `${disk.folder}/data`;
  const store = Store.open(folder);
  store.transaction(() => (store.version = 1));
  store.close();
  disk.remount('ro');
  const error = t.throws(() => Store.open(folder), { instanceOf: StoreError });
  t.regex(error.message, /data folder ".*\/data" cannot be used: EROFS/);
  disk.remount('rw');
  const again = Store.open(folder);
  t.teardown(() => again.close());
  t.is(again.version, 1);
});
