/** Caches by API: figures, stored responses, and purges that hold in all workers, while a response is fetched, and over kill -9. */
import test from 'ava';
import { run } from '../../core/ctl/main.js';
import { shared, type Scope } from '../harness/scope.js';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember, type CacheMember } from '../http/cache-member.js';
import { errorOf } from './api-client.js';
import { startNode, type Node, type NodeOptions } from './node.js';

interface Setup {
  readonly node: Node;
  readonly member: CacheMember;
  /** Number of the request that the member got for the response of a path. */
  readonly asked: (path: string) => Promise<number>;
  readonly status: (path: string) => Promise<unknown>;
}

function options({ backend }: CacheMember): NodeOptions {
  return {
    main: 'load_module modules/srv_http_dyn_cache_module.so;',
    controlMain: 'load_module modules/srv_http_cache_api_module.so; load_module modules/srv_http_dyn_cache_module.so;',
    http: `proxy_cache_path cache levels=1:2 keys_zone=pages:1m max_size=10m memory=1m; proxy_cache_path other keys_zone=other:64k;
      map $request_method $is_purge { PURGE 1; default 0; }
      upstream demo { zone demo 64k; server 127.0.0.1:${backend.port}; }`,
    server: `proxy_cache pages; proxy_cache_key $uri; proxy_cache_valid 1h; proxy_cache_purge $is_purge; proxy_cache_use_stale updating;
      add_header X-Cache $upstream_cache_status always;
      location / { proxy_pass http://demo; }
      location /renewed/ { proxy_cache_background_update on; proxy_pass http://demo; }
      location /streamed { proxy_cache_lock on; proxy_cache_lock_streaming on; proxy_cache_lock_timeout 60s; proxy_cache_lock_age 60s; proxy_pass http://demo; }
      location /dynamic/ { proxy_pass http://demo; }
      location /marked/ { proxy_cache_tag_header X-Mark; proxy_pass http://demo; }`,
    allowCrashes: true,
  };
}

async function setup(scope: Scope): Promise<Setup> {
  const member = await cacheMember(scope);
  return use(await startNode(scope, options(member)), member);
}

function use(node: Node, member: CacheMember): Setup {
  return {
    node,
    member,
    asked: async (path) => Number(/ (\d+)$/.exec((await node.web(path)).body)?.[1]),
    status: async (path) => (await node.web(path)).headers['x-cache'],
  };
}

const start = shared(setup);

/** Stores the response of a path. */
async function store({ status }: Setup, path: string): Promise<void> {
  await waitFor('HIT', async () => (await status(path)) === 'HIT');
}

const ENTRIES = '/cache/pages/entries';

for (const [what, path, query, others] of [
  ['a key', '/key/a', 'key=/key/a', ['/key/ab', '/key/A']],
  ['a prefix', '/prefix/a/1', 'prefix=/prefix/a', ['/prefix/b', '/prefix']],
  ['a tag of Cache-Tag', '/tags/a?f=Cache-Tag:red,blue', 'tag=blue', ['/tags/b?f=Cache-Tag:blueish', '/tags/c']],
  ['a tag of Surrogate-Key', '/keys/a?f=Surrogate-Key:x%20y', 'tag=y', ['/keys/b?f=Surrogate-Key:xy']],
  ['a tag of a field that is named', '/marked/a?f=X-Mark:one', 'tag=one', ['/marked/b?f=Cache-Tag:one']],
] as const) {
  test.serial(`purged in all workers: ${what}`, async (t) => {
    const all = await start();
    for (const one of [path, ...others]) await store(all, one);
    const before = await all.asked(path);
    const { status, json } = await all.node.call('DELETE', `${ENTRIES}?${query}`);
    t.deepEqual([status, json], [200, { purged: query.startsWith('key') ? 1 : null }]);
    const numbers = await Promise.all(Array.from({ length: 8 }, () => all.asked(path)));
    t.true(
      numbers.every((number) => number > before),
      numbers.join(' '),
    );
    await store(all, path);
    for (const one of others) t.is(await all.status(one), 'HIT', one);
  });
}

test.serial('everything is purged', async (t) => {
  const all = await start();
  for (const path of ['/every/a', '/every/b']) await store(all, path);
  t.is((await all.node.call('DELETE', ENTRIES)).status, 200);
  for (const path of ['/every/a', '/every/b']) t.is(await all.status(path), 'MISS');
  await store(all, '/every/a');
});

for (const [what, query] of [
  ['a key', 'key=/renewed/a'],
  ['a prefix', 'prefix=/renewed/'],
  ['a tag', 'tag=soft'],
] as const) {
  test.serial(`purged softly, it is stale: ${what}`, async (t) => {
    const all = await start();
    const path = '/renewed/a?f=Cache-Tag:soft';
    await store(all, path);
    const before = await all.asked(path);
    t.deepEqual((await all.node.call('DELETE', `${ENTRIES}?${query}&soft=1`)).json, { purged: null });
    const { headers, body } = await all.node.web(path);
    t.is(headers['x-cache'], 'STALE');
    t.is(Number(body.split(' ').at(-1)), before);
    await waitFor('the new one', async () => (await all.status(path)) === 'HIT' && (await all.asked(path)) > before);
  });
}

for (const [what, purge] of [
  ['of a key', ({ node }: Setup, path: string) => node.call('DELETE', `${ENTRIES}?key=${path}`)],
  ['of a prefix', ({ node }: Setup, path: string) => node.call('DELETE', `${ENTRIES}?prefix=${path}`)],
  ['by a request', ({ node }: Setup, path: string) => get(node.srv.port('web'), path, { method: 'PURGE' })],
] as const) {
  test.serial(`what a member was asked for before a purge ${what} is not stored after it`, async (t) => {
    const all = await start();
    const path = `/late-${what.replaceAll(' ', '-')}`;
    const first = all.asked(`${path}?delay=300`);
    await waitFor('the request', () => all.member.count(path) === 1);
    await purge(all, path);
    t.is(await first, 1);
    t.is(await all.asked(path), 2);
  });
}

for (const [what, query] of [
  ['a tag', 'tag=streamed'],
  ['a key softly', 'key=/streamed-a-key-softly&soft=1'],
  ['everything', ''],
] as const) {
  test.serial(`a response that arrives while it is purged does not delay the requests after that: ${what}`, async (t) => {
    const all = await start();
    const path = `/streamed-${what.replaceAll(' ', '-')}`;
    const first = all.asked(`${path}?f=Cache-Tag:streamed&until=2`);
    await waitFor('the request', () => all.member.count(path) === 1);
    t.is((await all.node.call('DELETE', `${ENTRIES}?${query}`)).status, 200);
    const after = await Promise.all(Array.from({ length: 6 }, () => all.asked(path)));
    t.deepEqual([await first, ...after], [1, 2, 2, 2, 2, 2, 2]);
  });
}

test.serial('a request purges the keys that begin with its key before the asterisk', async (t) => {
  const all = await start();
  for (const path of ['/star/a', '/star/b', '/sta']) await store(all, path);
  t.is((await get(all.node.srv.port('web'), '/star/*', { method: 'PURGE' })).status, 204);
  await waitFor('MISS', async () => (await all.status('/star/a')) === 'MISS');
  t.is(await all.status('/star/b'), 'MISS');
  t.is(await all.status('/sta'), 'HIT');
});

test.serial('caches and a stored response are shown', async (t) => {
  const all = await start();
  const path = '/shown?f=Cache-Tag:a,%20b&tag=one&f=Cache-Control:max-age%3D1000';
  await store(all, path);
  const zones = (await all.node.call('GET', '/cache')).json as Record<string, unknown>[];
  t.deepEqual(
    zones.map(({ name, max_size, memory }) => [name, max_size, memory]),
    [
      ['other', 0, 65_536],
      ['pages', 10_485_760, 1_048_576],
    ],
  );
  const before = (await all.node.call('GET', '/cache/pages')).json as Record<string, number>;
  const { body } = await all.node.web(path);
  const after = await waitFor('the figures', async () => {
    const figures = (await all.node.call('GET', '/cache/pages')).json as Record<string, number>;
    return figures['hits'] === (before['hits'] ?? 0) + 1 ? figures : undefined;
  });
  t.is((after['bytes'] ?? 0) - (before['bytes'] ?? 0), body.length);
  t.true((after['kept'] ?? 0) > 0 && (after['kept_bytes'] ?? 0) > body.length);
  t.deepEqual([zones[0]?.['kept'], zones[0]?.['kept_bytes']], [0, 0]);
  t.true((after['entries'] ?? 0) > 0 && (after['size'] ?? 0) > 0 && (after['misses'] ?? 0) > 0);
  const entry = (await all.node.call('GET', `${ENTRIES}?key=/shown`)).json as Record<string, number>;
  t.like(entry, { key: '/shown', status: 200, bytes: body.length, etag: '"one"', vary: '', tags: ['a', 'b'] });
  t.true((entry['fresh'] ?? 0) > 900 && (entry['age'] ?? 1000) < 100);
});

for (const [method, path, status, code] of [
  ['GET', '/cache/none', 404, 'CacheZoneNotFound'],
  ['GET', '/cache/none/entries?key=a', 404, 'CacheZoneNotFound'],
  ['DELETE', '/cache/none/entries', 404, 'CacheZoneNotFound'],
  ['GET', `${ENTRIES}?key=none`, 404, 'CacheEntryNotFound'],
  ['GET', ENTRIES, 400, 'InvalidField'],
  ['DELETE', `${ENTRIES}?key=a&tag=b`, 400, 'InvalidField'],
  ['DELETE', `${ENTRIES}?prefix=`, 400, 'InvalidField'],
  ['DELETE', `${ENTRIES}?tag=a,b`, 400, 'InvalidField'],
  ['DELETE', `${ENTRIES}?keys=a`, 400, 'InvalidField'],
] as const) {
  test.serial(`rejected: ${method} ${path}`, async (t) => {
    const response = await (await start()).node.call(method, path);
    t.deepEqual([response.status, errorOf(response).code], [status, code]);
  });
}

test.serial('a dry run purges nothing', async (t) => {
  const all = await start();
  await store(all, '/dry');
  for (const query of ['key=/dry&', 'prefix=/d&', '']) {
    const { status, json } = await all.node.call('DELETE', `${ENTRIES}?${query}dry_run=1`);
    t.deepEqual([status, (json as { dry_run: boolean }).dry_run], [200, true]);
  }
  t.is(await all.status('/dry'), 'HIT');
});

test.serial('srvctl shows caches and purges them', async (t) => {
  const all = await start();
  await store(all, '/ctl');
  const ctl = async (...argv: readonly string[]): Promise<string> => {
    let output = '';
    const print = (text: string): void => void (output += text);
    const env = { HOME: '/nonexistent', SRVCTL_SERVER: `http://127.0.0.1:${all.node.srv.port('api')}/api` };
    const code = await run(argv, { env, version: '0', color: false, stdout: print, stderr: print });
    return `${code} ${output}`;
  };
  t.regex(await ctl('cache', 'list'), /^0 CACHE .*\nother .*\npages /);
  t.regex(await ctl('cache', 'get', 'pages'), /^0 name +pages\n/);
  t.regex(await ctl('cache', 'show', 'pages', '/ctl'), /key +\/ctl\nstatus +200\n/);
  t.regex(await ctl('cache', 'purge', 'pages'), /^2 .*one of KEY/);
  t.regex(await ctl('cache', 'purge', 'pages', '/ctl', '--all'), /^2 /);
  t.is(await ctl('cache', 'purge', 'pages', '--prefix', '/ctl', '--soft'), '0 ');
  t.is(await ctl('cache', 'purge', 'pages', '/ctl'), '0 1 purged\n');
  t.is(await all.status('/ctl'), 'MISS');
  t.is(await ctl('cache', 'purge', 'pages', '--all'), '0 ');
});

test.serial('http_cache: cache, times and conditions of a location are changed', async (t) => {
  const { node, status, member } = await start();
  const put = (fields: object) => {
    const servers = [{ listens: [`127.0.0.1:${node.srv.port('web')}`], locations: [{ location: '/dynamic/', ...fields }] }];
    return node.call('PUT', '/config/http_cache', { servers });
  };
  const fields = {
    proxy_cache: 'other',
    proxy_cache_valid: [{ statuses: [404, 410], time: '1h' }, { time: '10m' }, { statuses: ['any'], time: '1m' }],
    proxy_cache_bypass: ['$arg_new', '$cookie_a$http_b'],
    proxy_cache_use_stale: ['error', 'updating'],
    proxy_cache_methods: ['GET', 'POST'],
    proxy_cache_min_uses: 2,
    proxy_cache_lock: true,
    proxy_cache_rules: 'nginx',
    proxy_cache_status: true,
  };
  const set = await put(fields);
  t.is(set.status, 200, set.body);
  const shown = (await node.call('GET', '/config/http_cache')).json as { servers: { locations?: { location: string }[] }[] };
  const found = shown.servers.flatMap(({ locations = [] }) => locations).find(({ location }) => location === '/dynamic/');
  t.deepEqual(found, { location: '/dynamic/', ...fields });
  t.is(await status('/dynamic/a?status=404'), 'MISS');
  t.is(await status('/dynamic/a?status=404'), 'MISS');
  await waitFor('HIT', async () => (await status('/dynamic/a?status=404')) === 'HIT');
  t.is(await status('/dynamic/a?status=404&new=1'), 'BYPASS');
  t.is((await put({ proxy_cache: 'other', proxy_cache_rules: 'rfc9111' })).status, 200);
  t.is(await status('/dynamic/rules?f=Cache-Control:no-cache&tag=a'), 'MISS');
  // With the other rules it would not be stored.
  await waitFor('REVALIDATED', async () => (await status('/dynamic/rules?f=Cache-Control:no-cache&tag=a')) === 'REVALIDATED');
  t.is((await put({ proxy_no_cache: ['};"', '{ $arg_b'], proxy_cache: 'off' })).status, 200);
  t.regex((await node.call('GET', '/config/http_cache')).body, /\["\};\\"","\{ \$arg_b"\]/);
  const before = member.count('/dynamic/a');
  t.is(await status('/dynamic/a?status=404'), undefined);
  t.is(member.count('/dynamic/a'), before + 1);
  const wrong = errorOf(await put({ proxy_cache: 'none' }));
  t.is(wrong.code, 'ConfigError');
  t.like(wrong.details[0], { pointer: '/servers/0/locations/0/proxy_cache' });
  const values = { proxy_cache_use_stale: ['never'], proxy_cache_valid: [{ statuses: [99], time: '1x' }], proxy_cache_min_uses: 0 };
  t.is(errorOf(await put(values)).details.length >= 4, true);
  t.is(errorOf(await put({ proxy_cache_bypass: ['a\nb'] })).code, 'InvalidField');
  for (const name of Object.keys(fields)) t.is((await put({ [name]: null })).status, 200, name);
});

test('purges hold over kill -9, and only for what was stored before them', async (t) => {
  const all = await setup(t);
  const paths = ['/kept', '/prefix/a', '/tagged?f=Cache-Tag:t', '/soft/a', '/again/a'];
  for (const path of paths) await store(all, path);
  for (const query of ['prefix=/prefix/', 'tag=t', 'prefix=/soft/&soft=1', 'prefix=/again/'])
    t.is((await all.node.call('DELETE', `${ENTRIES}?${query}`)).status, 200);
  await store(all, '/again/a');
  const { prefix } = all.node.srv;
  await all.node.srv.stop('SIGKILL');
  const { status } = use(await startNode(t, { ...options(all.member), prefix }), all.member);
  t.is(await status('/kept'), 'HIT');
  t.is(await status('/again/a'), 'HIT');
  t.is(await status('/prefix/a'), 'MISS');
  t.is(await status('/tagged?f=Cache-Tag:t'), 'MISS');
  t.not(await status('/soft/a'), 'HIT');
});
