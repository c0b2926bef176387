import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { StoreGone } from '../../core/changes/store-error.js';
import { Store } from '../../core/changes/store.js';
import { errorOf } from '../control/api-client.js';
import { startNode } from '../control/node.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

test('a change is rejected while the data folder is gone, and nothing of it is active', async (t) => {
  const http = 'upstream demo { zone demo 256k; server 127.0.0.1:1; } upstream kept { zone kept 256k; state kept.state; }';
  const node = await startNode(t, { http, allowCrashes: true });
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:2' })).status, 201);
  rmSync(node.srv.path('data'), { recursive: true });
  for (const group of ['demo', 'kept']) {
    const refused = await node.upstreams('POST', `/${group}/servers/`, { server: '127.0.0.1:3' });
    t.is(refused.status, 503);
    t.like(errorOf(refused), {
      code: 'StoreUnavailable',
      text: 'the data folder was removed or replaced while srv uses it; nothing was changed',
    });
  }
  t.is(errorOf(await node.call('POST', '/kv', { key: 'color', value: 'red' })).code, 'StoreUnavailable');
  t.is((await node.call('GET', '/kv/color')).status, 404);
  t.deepEqual(await node.list(), ['0 127.0.0.1:1', '1 127.0.0.1:2']);
  t.deepEqual(await node.list('kept'), []);
  t.regex(node.srv.log(), /\[error\].* cannot store a change: ".*\/data\/srv\.db" was removed or replaced while srv uses it: put it back/);
  // What needs no writing goes on.
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  t.is((await node.web()).status, 502);
});

test('a data folder that was moved away and back is used again', async (t) => {
  const node = await startNode(t);
  const [data, away] = [node.srv.path('data'), node.srv.path('away')];
  renameSync(data, away);
  t.is((await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:3' })).status, 503);
  renameSync(away, data);
  await waitFor('a change', async () => (await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:4' })).status === 201);
  t.deepEqual(await node.list(), ['0 127.0.0.1:1', '1 127.0.0.1:2', '2 127.0.0.1:4']);
});

for (const name of ['srv.db', 'srv.db-wal']) {
  test(`a store whose ${name} was removed or replaced takes no transaction`, (t) => {
    const folder = tempFolder(t);
    const store = Store.open(folder);
    t.teardown(() => store.close());
    store.transaction(() => (store.version = 1));
    rmSync(join(folder, name));
    t.throws(() => store.transaction(() => (store.version = 2)), {
      instanceOf: StoreGone,
      message: new RegExp(`${name}" was removed or replaced`),
    });
    t.is(store.version, 1);
  });
}
