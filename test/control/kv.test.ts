import test from 'ava';
import { check } from '../harness/check.js';
import { get, type HttpResponse } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { nodeConf, sharedNode, startNode } from './node.js';

const SERVER = 'location / { add_more_header X-Color $kv_http_color always; return 200 "[$kv_http_color]"; }';
const OPTIONS = {
  server: SERVER,
  workers: 3,
  control: 'server { listen 127.0.0.1:%%PORT_kv%%; location /store { dyn_sendmsg_kv; } }',
  allowCrashes: true,
};
/** The tests of one key come one after the other. */
const shared = sharedNode(OPTIONS);

test.serial('a key is set, and every worker reads it', async (t) => {
  const node = await shared();
  const set = await node.call('POST', '/kv', { key: 'color', value: 'red' });
  t.is(set.status, 200);
  t.is(set.body, '');
  t.is(set.headers['content-length'], '0');
  for (const { body, headers } of await Promise.all(Array.from({ length: 12 }, () => node.web()))) {
    t.is(body, '[red]');
    t.is(headers['x-color'], 'red');
  }
});

for (const [what, key, value] of [
  ['text', 'color', 'red'],
  ['the empty value', 'color', ''],
  ['letters that are not ASCII', 'color', 'grün'],
  ['a key that is not ASCII', 'ключ', 'ключ'],
] as const) {
  test.serial(`a value is read as text: ${what}`, async (t) => {
    const node = await shared();
    await node.call('POST', '/kv', { key, value });
    const read = await get(node.srv.port('api'), `/api/v1/kv?key=${encodeURIComponent(key)}`);
    t.like(read, { status: 200, body: value });
    t.is(read.headers['content-length'], String(Buffer.byteLength(value)));
    t.regex(String(read.headers['content-type']), /^text\/plain/);
    if (key === 'color') t.is((await node.web()).body, `[${value}]`);
  });
}

test.serial('keys are listed by their prefix, in pages', async (t) => {
  const node = await shared();
  for (const key of ['a/1', 'a/2']) await node.call('POST', '/kv', { key, value: key });
  t.deepEqual((await node.call('GET', '/kv?prefix=a/&limit=1')).json, [{ key: 'a/1', value: 'a/1' }]);
  t.deepEqual((await node.call('GET', '/kv?prefix=a/&after=a/1')).json, [{ key: 'a/2', value: 'a/2' }]);
});

test.serial('the ETag of a list changes with every pair, and is a condition for writes', async (t) => {
  const node = await shared();
  const etag = async (query = ''): Promise<string> => String((await node.call('GET', `/kv${query}`)).headers['etag']);
  const first = await etag();
  t.is(await etag('?prefix=a/&limit=1'), first);
  const set = (key: string, version: string) => node.call('POST', '/kv', { key, value: 'x' }, { 'if-match': version });
  t.is((await set('tagged', first)).status, 200);
  const second = await etag();
  t.is((await set('tagged', first)).status, 412);
  t.is((await set('tagged', second)).status, 200);
  const third = await etag();
  t.is((await node.call('DELETE', '/kv?key=tagged')).status, 200);
  const fourth = await etag();
  t.is((await set('tagged', third)).status, 412);
  t.is(new Set([first, second, third, fourth]).size, 4);
});

test.serial('a key that is deleted is gone', async (t) => {
  const node = await shared();
  t.is((await node.call('DELETE', '/kv?key=color')).status, 200);
  t.is((await node.web()).body, '[]');
  const gone = await node.call('GET', '/kv?key=color');
  t.is(gone.status, 404);
  t.is(errorOf(gone).code, 'KeyNotFound');
  t.is(errorOf(await node.call('DELETE', '/kv?key=color')).code, 'KeyNotFound');
});

test.serial('wrong calls are rejected with every reason', async (t) => {
  const node = await shared();
  const wrong = await node.call('POST', '/kv', { key: '', value: 5, ttl: 'soon', colour: 1 });
  t.is(wrong.status, 400);
  t.is(errorOf(wrong).details.length, 4);
  for (const ttl of ['1s2s', -1, 1e300, true, '']) {
    const [detail] = errorOf(await node.call('POST', '/kv', { key: 'k', value: '', ttl })).details;
    t.deepEqual(
      detail,
      { pointer: '/ttl', message: 'must be a time such as 500ms, 10s, 1m30s, or a number of seconds, below 1000000000s' },
      String(ttl),
    );
  }
  t.is((await node.call('POST', '/kv', { key: 'ä'.repeat(600), value: '' })).status, 413);
  t.is(errorOf(await node.call('POST', '/kv', { key: 'k', value: 'x'.repeat(1024 * 1024 + 1) })).code, 'ValueTooLarge');
  t.is((await node.call('POST', '/kv', { key: 'k', value: 'x'.repeat(1024 * 1024) })).status, 200);
  t.is((await get(node.srv.port('api'), '/api/v1/kv?key=k')).body.length, 1024 * 1024);
  t.is((await node.call('GET', '/kv?limit=0')).status, 400);
  t.is((await node.call('DELETE', '/kv')).status, 400);
  await node.call('POST', '/kv', { key: 'color', value: 'red' });
  t.deepEqual(errorOf(await node.call('GET', '/kv?key=color&fields=key')).details, [
    { pointer: '?fields', message: 'requires a JSON response' },
  ]);
  const message = 'not allowed together with "key"';
  t.deepEqual(errorOf(await node.call('GET', '/kv?key=color&prefix=&limit=5')).details, [
    { pointer: '?prefix', message },
    { pointer: '?limit', message },
  ]);
  await node.call('POST', '/kv', { key: '\ufffd', value: '' });
  t.is((await node.call('DELETE', '/kv?key=%ff')).status, 400);
  t.is((await get(node.srv.port('api'), '/api/v1/kv?key=%ef%bf%bd')).status, 200);
  t.is((await node.call('PUT', '/kv', {})).status, 405);
});

test.serial('a page of large pairs ends early, and Link leads through all of them', async (t) => {
  const node = await shared();
  const keys = Array.from({ length: 6 }, (_, n) => `größe ${n}`);
  for (const key of keys) await node.call('POST', '/kv', { key, value: 'x'.repeat(700_000) });
  const seen: string[] = [];
  let path: string | undefined = '/api/v1/kv?prefix=gr%C3%B6%C3%9Fe&limit=1000';
  while (path !== undefined) {
    const page: HttpResponse = await get(node.srv.port('api'), path);
    t.true(page.body.length < 2 * 1024 * 1024);
    seen.push(...(JSON.parse(page.body) as { key: string }[]).map(({ key }) => key));
    path = /^<(.*)>; rel="next"$/.exec(String(page.headers['link'] ?? ''))?.[1];
  }
  t.deepEqual(seen, keys);
});

test.serial('a key has a path of its own, with its remaining time and version', async (t) => {
  const node = await shared();
  const set = await node.call('PUT', '/kv/keys/color', { value: 'red' });
  t.is(`${set.status} ${set.body}`, '200 ');
  const read = await node.call('GET', '/kv/keys/color');
  t.is(read.headers['etag'], set.headers['etag']);
  t.deepEqual(read.json, { key: 'color', value: 'red', ttl: '0s', version: String(set.headers['etag']).replaceAll('"', '') });
  t.is((await node.web()).body, '[red]');

  await node.call('PUT', '/kv/keys/color', { value: 'blue', ttl: '1h' });
  const { ttl } = (await node.call('GET', '/kv/keys/color')).json as { ttl: string };
  t.regex(ttl, /^(3600s|35\d\d\d\d\dms|35\d\ds)$/);
  t.is((await node.call('PUT', '/kv/keys/color', { value: '' }, { 'if-match': String(set.headers['etag']) })).status, 412);
  t.is((await node.call('PUT', '/kv/keys/color', { value: '' }, { 'if-none-match': '*' })).status, 412);
  t.deepEqual((await node.call('DELETE', '/kv/keys/color?dry_run=1')).json, { dry_run: true, diff: ['- color'] });
  t.is((await node.call('DELETE', '/kv/keys/color')).status, 200);
  t.is(errorOf(await node.call('GET', '/kv/keys/color')).code, 'KeyNotFound');
});

test.serial('compare and set, dry runs and the end of a ttl', async (t) => {
  const node = await shared();
  const first = await node.call('POST', '/kv', { key: 'color', value: 'red' });
  const ifMatch = { 'if-match': String(first.headers['etag']) };
  t.is((await get(node.srv.port('api'), '/api/v1/kv?key=color')).headers['etag'], first.headers['etag']);
  t.is((await node.call('POST', '/kv', { key: 'color', value: 'blue' }, ifMatch)).status, 200);
  t.is((await node.call('POST', '/kv', { key: 'color', value: 'green' }, ifMatch)).status, 412);
  t.is((await node.call('DELETE', '/kv?key=color', undefined, ifMatch)).status, 412);
  t.deepEqual((await node.call('POST', '/kv?dry_run=1', { key: 'color', value: 'green' })).json, { dry_run: true, diff: ['+ color'] });
  t.is((await node.web()).body, '[blue]');
  const ifNew = { 'if-none-match': '*' };
  const exists = await node.call('POST', '/kv', { key: 'color', value: 'green' }, ifNew);
  t.is(exists.status, 412);
  t.like(errorOf(exists), { code: 'VersionMismatch', text: 'the resource already exists' });
  const missing = errorOf(await node.call('POST', '/kv', { key: 'none', value: 'green' }, ifMatch));
  t.like(missing, { code: 'VersionMismatch', text: 'the resource does not exist', details: [] });
  t.is((await node.call('POST', '/kv', { key: 'lock', value: 'mine' }, ifNew)).status, 200);
  t.is((await node.call('POST', '/kv', { key: 'lock', value: 'yours' }, ifNew)).status, 412);
  t.is((await node.web()).body, '[blue]');
  await node.call('POST', '/kv', { key: 'color', value: 'long', ttl: '1h30m' });
  t.is((await node.web()).body, '[long]');
  await node.call('POST', '/kv', { key: 'color', value: 'short', ttl: '100ms' });
  await waitFor('the end of its time', async () => (await node.web()).body === '[]');
  await node.call('POST', '/kv', { key: 'color', value: 'short', ttl: 0.1 });
  await waitFor('the end of its time in seconds', async () => (await node.web()).body === '[]');
  await node.call('POST', '/kv', { key: 'color', value: 'shortest', ttl: 0.0004 });
  await waitFor('the end of less than a millisecond', async () => (await node.web()).body === '[]');
});

test.serial('a key that expires is gone in every worker and in the list, and can be set again by who needs it to be new', async (t) => {
  const node = await shared();
  await node.call('PUT', '/kv/keys/color', { value: 'brief', ttl: '300ms' });
  const responses = (): Promise<string[]> => Promise.all(Array.from({ length: 12 }, async () => (await node.web()).body));
  t.deepEqual(new Set(await responses()), new Set(['[brief]']));
  await waitFor('its end', async () => (await node.web()).body === '[]');
  t.deepEqual(new Set(await responses()), new Set(['[]']));
  t.is(errorOf(await node.call('GET', '/kv/keys/color')).code, 'KeyNotFound');
  t.deepEqual((await node.call('GET', '/kv?prefix=color')).json, []);
  t.is((await node.call('PUT', '/kv/keys/color', { value: 'new' }, { 'if-none-match': '*' })).status, 200);
});

test.serial('keys of any characters have paths, up to their longest', async (t) => {
  const node = await shared();
  for (const key of ['a/b?c=d', 'a..%2F', 'ключ 100%', 'ä'.repeat(512)]) {
    const path = `/kv/keys/${encodeURIComponent(key)}`;
    const set = await node.call('PUT', path, { value: key });
    t.is(set.status, 200, key);
    t.like((await node.call('GET', path)).json, { key, value: key, ttl: '0s' });
    t.is((await node.call('DELETE', path, undefined, { 'if-match': '"0"' })).status, 412);
    t.is((await node.call('DELETE', path, undefined, { 'if-match': String(set.headers['etag']) })).status, 200);
  }
  t.is(errorOf(await node.call('PUT', `/kv/keys/${encodeURIComponent('ä'.repeat(513))}`, { value: '' })).code, 'KeyTooLong');
});

test.serial('a worker that a reload adds has the values as well', async (t) => {
  const node = await shared();
  await node.call('POST', '/kv', { key: 'color', value: 'red' });
  await node.srv.configure(nodeConf({ server: SERVER, workers: 4 }));
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  for (const { body } of await Promise.all(Array.from({ length: 12 }, () => node.web()))) t.is(body, '[red]');
});

test.serial('a value cannot add lines to a head', async (t) => {
  const node = await shared();
  await node.call('POST', '/kv', { key: 'color', value: 'red\r\nX-Evil: 1\r\n\r\nbody' });
  const answer = await node.web();
  t.is(answer.headers['x-evil'], undefined);
});

test('dyn_kv_conf sets limits and the folder; Redis and nonsense are rejected in words', async (t) => {
  const http = 'dyn_kv_conf conf/kv.conf;';
  const node = await startNode(t, {
    http,
    server: SERVER,
    files: { 'conf/kv.conf': '# limits\nstore embedded;\ndata_folder data/kv;\nmax_size 1k;\nmax_key 8;\n' },
  });
  t.is((await node.call('POST', '/kv', { key: 'ninebytes', value: '' })).status, 413);
  t.is((await node.call('POST', '/kv', { key: 'k', value: 'x'.repeat(2000) })).status, 507);
  t.is((await node.call('POST', '/kv', { key: 'color', value: 'red' })).status, 200);
  t.true(node.srv.read('data/kv/srv.db').length > 0);

  const refused = async (line: string) => (await check(t, `events {} http { ${http} server {} }`, { 'conf/kv.conf': line })).stderr;
  t.regex(await refused('store redis;'), /invalid store "redis"/);
  t.regex(await refused('store redis main;'), /unknown redis "main"/);
  t.regex(await refused('store redis main; redis_write local;'), /invalid line/);
  t.regex(await refused('store redis main;\nredis_write later;'), /invalid value "later"/);
  const main = 'load_module modules/srv_redis_module.js; redis main { url redis://127.0.0.1; cluster on; }';
  const inCluster = await check(t, `${main} events {} http { ${http} server {} }`, {
    'conf/kv.conf': 'store redis main;\nredis_wait 1 1s;',
  });
  t.regex(inCluster.stderr, /"redis_wait" is not supported with "cluster on"/);
  t.regex(await refused('redis_wait 1 1s;'), /needs a store in Redis/);
  t.regex(await refused('colour red;'), /unknown directive "colour"/);
  t.regex(await refused('max_size many;'), /invalid value "many"/);
});

test('pairs take no more of the heap than a worker can spare', async (t) => {
  const node = await startNode(t, { main: 'worker_heap_size 32m;', server: SERVER });
  let last = await node.call('POST', '/kv', { key: 'color', value: 'red' });
  for (let n = 0; n < 40 && last.status === 200; n++) last = await node.call('POST', '/kv', { key: `k${n}`, value: 'x'.repeat(1_000_000) });
  t.is(last.status, 507);
  t.regex(errorOf(last).text, /worker_heap_size/);
  t.is((await node.web()).body, '[red]');
  t.notRegex(node.srv.log(), /out of memory|memory limit/);
});

test.serial('dyn_sendmsg_kv exposes the key-value API at a location of its own', async (t) => {
  const node = await shared();
  await node.call('POST', '/kv', { key: 'color', value: 'red' });
  t.is((await get(node.srv.port('kv'), '/store?key=color')).body, 'red');
  t.is((await get(node.srv.port('kv'), '/store/v1/upstream_api/http/upstreams')).status, 404);
});

test.serial('values survive a restart and kill -9', async (t) => {
  const node = await shared();
  await node.call('POST', '/kv', { key: 'color', value: 'red' });
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, { ...OPTIONS, prefix: node.srv.prefix });
  t.is((await again.web()).body, '[red]');
});
