/** Requests that try to store a response for others, or to fill the cache: docs/cache.md has the table. */
import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import test from 'ava';
import { exchange, get, type HttpResponse, type RequestOptions } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember, type CacheMember } from './cache-member.js';

interface Setup {
  readonly srv: Srv;
  readonly member: CacheMember;
  readonly ask: (path: string, options?: RequestOptions) => Promise<HttpResponse>;
  readonly until: (status: string, path: string, options?: RequestOptions) => Promise<HttpResponse>;
}

const start = shared(async (scope): Promise<Setup> => {
  const member = await cacheMember(scope);
  const srv = await startSrv(
    scope,
    `worker_processes 1; error_log logs/error.log info; events {}
    http {
      proxy_cache_path cache keys_zone=one:1m; proxy_cache_path vary keys_zone=vary:1m;
      proxy_cache_path flood keys_zone=flood:64k; proxy_cache_path used keys_zone=used:64k;
      map $request_method $is_purge { PURGE 1; default 0; }
      upstream members { server 127.0.0.1:${member.backend.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; proxy_cache one; proxy_cache_valid any 1h;
        add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass http://members; }
        location /vary { proxy_cache vary; proxy_pass http://members; }
        location /user { proxy_pass http://members; }
        location /user/rules { proxy_cache_rules rfc9111; proxy_pass http://members; }
        location /user/own { proxy_no_cache $http_authorization; proxy_cache_bypass $http_authorization; proxy_pass http://members; }
        location ~ [.]css$ { proxy_pass http://members; }
        location /account { proxy_cache off; proxy_pass http://members; }
        location /flood { proxy_cache flood; proxy_pass http://members; }
        location /posted { proxy_cache_methods POST; proxy_cache_key $request_method$request_uri$request_body; proxy_pass http://members; }
        location /used { proxy_cache used; proxy_cache_min_uses 2; proxy_pass http://members; }
        location /heads { proxy_cache_convert_head off; proxy_cache_key $request_method$uri; proxy_pass http://members; }
        location /digest { proxy_cache_key $arg_k; proxy_pass http://members; }
        location /safe { proxy_set_header X-Forwarded-Host ""; proxy_pass http://members; }
        location /host { proxy_set_header Host $host; proxy_cache_key $host$request_uri; proxy_pass http://members; }
        location /inner/ { internal; proxy_pass http://members; }
        location /acc/ { auth_request /authsub; proxy_pass http://members; }
        location = /authsub { internal; proxy_pass http://members/authcheck; }
        location /mirrored/ { mirror /copy; proxy_pass http://members; }
        location = /copy { internal; proxy_pass http://members/copy; }
        location /failing/ { proxy_intercept_errors on; error_page 500 /inner/fallback; proxy_pass http://members; }
        location /mapped/ { proxy_pass http://members/a/; }
        location /held { proxy_cache_lock on; proxy_cache_lock_timeout 40s; proxy_cache_lock_age 40s; proxy_cache_key held$request_uri; proxy_pass http://members; }
        location /background { proxy_cache_use_stale updating; proxy_cache_background_update on; proxy_pass http://members; }
        location /purged { proxy_cache_purge $is_purge; limit_except GET HEAD { allow 127.0.0.1; deny all; } proxy_pass http://members; }
        location /decoded { proxy_cache_key $uri; add_header X-Key $upstream_cache_key; add_header X-Cache $upstream_cache_status; proxy_pass http://members; } }
    }`,
  );
  const ask = (path: string, options: RequestOptions = {}): Promise<HttpResponse> => get(srv.port('web'), path, options);
  return {
    srv,
    member,
    ask,
    until: (status, path, options) =>
      waitFor(status, async () => {
        const response = await ask(path, options);
        return response.headers['x-cache'] === status ? response : undefined;
      }),
  };
});

for (const [what, head] of [
  ['with a length', 'Content-Length: 5\r\n\r\nadmin'],
  ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\nadmin\r\n0\r\n\r\n'],
] as const) {
  test(`a GET with a body is neither stored nor taken from the cache: ${what}`, async (t) => {
    const { srv, ask, until, member } = await start();
    const path = `/fat-${what.replaceAll(' ', '-')}`;
    const fat = (): Promise<string> => exchange(t, srv.port('web'), `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${head}`);
    t.regex(await fat(), /^HTTP\/1.1 200/);
    t.is((await ask(path)).headers['x-cache'], 'MISS');
    await until('HIT', path);
    const before = member.count(path);
    t.notRegex(await fat(), /X-Cache: HIT/);
    t.is(member.count(path), before + 1);
    t.is((await until('HIT', path)).body.includes(String(before + 1)), false);
  });
}

test('paths that a member may take for the same are different responses', async (t) => {
  const { until, member } = await start();
  const paths = ['/p/a/b', '/p/a%2fb', '/p/a%2Fb', '/p//a/b', '/p/a;x/b', '/p/a/b/', '/p/a/./b', '/p/a/b?', '/p/a/b?x', '/p/A/b'];
  const bodies = [];
  for (const path of paths) bodies.push(`${path} ${(await until('HIT', path)).body}`);
  const urls = new Set(member.backend.requests.map(({ url }) => url));
  for (const path of paths) t.true(urls.has(path), path);
  t.is(new Set(bodies).size, paths.length);
});

test('what a request is redirected to by a member is stored with its own URI, not with that of the client', async (t) => {
  const { ask, until, member } = await start();
  const path = '/dl?f=X-Accel-Redirect:/inner/secret&f=Cache-Control:no-store';
  for (let n = 1; n <= 3; n++) {
    t.regex((await ask(path)).body, /^GET \/inner\/secret \d/);
    t.is(member.count('/dl'), n, 'the member decides each time');
  }
  await until('HIT', path);
  const failing = '/failing/x?status=500&f=Cache-Control:no-store';
  for (let n = 1; n <= 2; n++) {
    await ask(failing);
    t.is(member.count('/failing/x'), n);
  }
});

test('what subrequests and mirrors get is stored with their own URI', async (t) => {
  const { ask, until, member } = await start();
  t.regex((await ask('/acc/x')).body, /^GET \/acc\/x /);
  t.regex((await until('HIT', '/acc/x')).body, /^GET \/acc\/x /);
  for (const path of ['/mirrored/x', '/mirrored/y']) {
    t.regex((await ask(path)).body, /^GET \/mirrored/);
    t.regex((await until('HIT', path)).body, /^GET \/mirrored/);
  }
  await waitFor('the mirror', () => member.count('/copy') > 0);
});

test('what proxy_pass makes of a URI is in the key', async (t) => {
  const { until, member } = await start();
  await until('HIT', '/mapped/b%2fc?x=1');
  const before = member.count('/a/b/c');
  t.regex((await until('HIT', '/a/b/c?x=1')).body, /^GET \/a\/b\/c /);
  t.is(member.count('/a/b/c'), before);
});

test('an update in the background asks for the target of the client', async (t) => {
  const { until, member } = await start();
  const path = '/background/a%2fb%20%C3%A9?f=Cache-Control:max-age=1';
  const { body } = await until('HIT', path);
  await until('STALE', path);
  await waitFor('the update', async () => (await until('HIT', path)).body !== body);
  const urls = member.backend.requests.filter(({ url }) => url?.startsWith('/background')).map(({ url }) => url);
  t.deepEqual([...new Set(urls)], [path]);
});

test('a request that is redirected does not wait for its own lock', async (t) => {
  const { ask } = await start();
  const begun = Date.now();
  t.regex((await ask('/held/a?f=X-Accel-Redirect:/held/b')).body, /^GET \/held\/b/);
  t.true(Date.now() - begun < 20_000);
});

test('a purge that limit_except allows has the key of the location', async (t) => {
  const { ask, until } = await start();
  await until('HIT', '/purged/a');
  t.is((await ask('/purged/a', { method: 'PURGE' })).status, 204);
  t.is((await ask('/purged/a')).headers['x-cache'], 'MISS');
});

test('line ends in a key begin no field, and end nothing in the file', async (t) => {
  const { until } = await start();
  const path = '/decoded/a%0d%0aX-Injected:%201%0d%0a';
  const { headers } = await until('HIT', path);
  t.is(headers['x-injected'], undefined);
  t.is((await until('HIT', '/decoded/a')).headers['x-injected'], undefined);
});

test('a range or a condition of a client never changes what is stored', async (t) => {
  const { ask, until } = await start();
  for (const [path, headers] of [
    ['/r1', { Range: 'bytes=0-1' }],
    ['/r2', { Range: 'bytes=99999-' }],
    ['/r3', { 'If-None-Match': '*' }],
    ['/r4', { 'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT' }],
    ['/r5', { 'If-Match': '"none"' }],
    ['/r6', { 'If-Range': '"a"', Range: 'bytes=1-' }],
  ] as const) {
    await ask(path, { headers });
    const { status, body } = await until('HIT', path);
    t.deepEqual([status, body.startsWith(`GET ${path} `)], [200, true], path);
  }
  await ask('/r7', { method: 'HEAD' });
  t.regex((await until('HIT', '/r7')).body, /^GET \/r7/);
});

test('a part that a member sends without being asked for it is not stored', async (t) => {
  const { ask } = await start();
  for (let i = 0; i < 3; i++) t.is((await ask('/part?status=206&f=Content-Range:bytes%200-1/900')).headers['x-cache'], 'MISS');
});

test('requests that srv rejects store nothing', async (t) => {
  const { srv, until } = await start();
  for (const bad of [`X-Long: ${'x'.repeat(40_000)}`, 'Content-Length: 1\r\nContent-Length: 2', 'Bad Name: x', 'Transfer-Encoding: gzip'])
    t.regex(await exchange(t, srv.port('web'), `GET /cp HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${bad}\r\n\r\n`), /^HTTP\/1.1 [45]/);
  t.is((await until('HIT', '/cp')).status, 200);
});

test('fields that no key has: one that is removed cannot matter, and hosts in the key are apart', async (t) => {
  const { ask, until, member } = await start();
  await until('HIT', '/safe', { headers: { 'X-Forwarded-Host': 'evil.example' } });
  const seen = member.backend.requests.filter(({ url }) => url === '/safe').map(({ headers }) => headers['x-forwarded-host']);
  t.deepEqual([...new Set(seen)], [undefined]);
  await until('HIT', '/host', { headers: { Host: 'evil.example' } });
  t.is((await ask('/host', { headers: { Host: 'good.example' } })).headers['x-cache'], 'MISS');
});

test('fields that Connection names are neither in the key nor at the member: what is stored is for those without them', async (t) => {
  const { ask, until, member } = await start();
  const path = '/named?f=Vary:Accept-Language';
  await until('HIT', path, { headers: { Connection: 'close, accept-language, X-Real, Host', 'Accept-Language': 'de', 'X-Real': '1' } });
  const first = member.backend.requests.find(({ url }) => url === path);
  t.deepEqual([first?.headers['accept-language'], first?.headers['x-real']], [undefined, undefined]);
  t.is((await ask(path)).headers['x-cache'], 'HIT');
  t.true((await until('HIT', path, { headers: { 'Accept-Language': 'de' } })).body.endsWith(' de'));
});

test('a flood of variants: a key has a bounded number of them, and goes on to be stored', async (t) => {
  const { srv, ask, until } = await start();
  const path = '/vary?f=Vary:Accept-Language';
  for (let n = 0; n < 100; n++) await ask(path, { headers: { 'Accept-Language': `x-${n}` } });
  await until('HIT', path, { headers: { 'Accept-Language': 'en' } });
  let hits = 0;
  for (let n = 0; n < 100; n++)
    if ((await ask(path, { headers: { 'Accept-Language': `x-${n}`, 'X-N': '1' } })).headers['x-cache'] === 'HIT') hits++;
  t.true(hits <= 65, String(hits));
  t.true(readdirSync(srv.path('vary')).length > 65, 'unreachable ones go when they are unused');
});

test('fields that Vary names and that differ by a space within are different', async (t) => {
  const { until } = await start();
  const languages = ['de en', 'deen', 'de, en'];
  for (const language of [...languages, ...languages])
    t.true(
      (await until('HIT', '/vary/spaces?f=Vary:Accept-Language', { headers: { 'Accept-Language': language } })).body.endsWith(language),
    );
});

test('POST that is stored: with the body in the key each body has a response of its own', async (t) => {
  const { ask, until } = await start();
  const post = async (body: string): Promise<string> => (await until('HIT', '/posted', { method: 'POST', body })).body;
  const [first, second] = [await post('a=1'), await post('a=2')];
  t.regex(first, /^POST \/posted \d+$/);
  t.not(first, second);
  t.is(await post('a=1'), first);
  t.regex((await ask('/posted')).body, /^GET /);
});

test('a flood of keys: the ones used longest ago go, and with min_uses one that is used once is not stored', async (t) => {
  const { srv, ask, until } = await start();
  const stored = (folder: string): number => readdirSync(srv.path(folder)).length;
  await until('HIT', '/flood/favourite');
  for (let n = 0; n < 1000; n += 40) {
    await Promise.all(Array.from({ length: 40 }, (_, at) => ask(`/flood/${n + at}`)));
    t.is((await ask('/flood/favourite')).headers['x-cache'], 'HIT', String(n));
  }
  await waitFor('fewer files', () => stored('flood') < 700);
  await until('HIT', '/used/favourite');
  for (let n = 0; n < 100; n++) await ask(`/used/${n}`);
  t.true(stored('used') < 10, String(stored('used')));
});

test('responses to requests with Authorization: stored as in nginx, unless the rules or the configuration say otherwise', async (t) => {
  const { ask, until } = await start();
  const options = { headers: { Authorization: 'Basic YTpi' } };
  await until('HIT', '/user/a', options);
  t.is((await ask('/user/a')).headers['x-cache'], 'HIT', 'for others too');
  t.not((await ask('/user/private?f=Cache-Control:private', options)).headers['x-cache'], 'HIT');
  t.is((await ask('/user/private?f=Cache-Control:private')).headers['x-cache'], 'MISS');
  for (const path of ['/user/rules', '/user/own']) {
    for (let i = 0; i < 3; i++) t.not((await ask(path, options)).headers['x-cache'], 'HIT');
    t.is((await ask(path)).headers['x-cache'], 'MISS', path);
    await until('HIT', path);
  }
  t.is((await ask('/user/own', options)).headers['x-cache'], 'BYPASS');
});

test('a path with another ending than that of the page: stored where its location says so, unless the member forbids it', async (t) => {
  const { ask, until } = await start();
  for (const path of ['/account/x.css', '/account%2fx.css', '/account;x.css', '/account/..%2faccount/x.css']) {
    for (let i = 0; i < 3; i++) t.is((await ask(`${path}?f=Cache-Control:private`)).headers['x-cache'], 'MISS', path);
  }
  for (let i = 0; i < 3; i++) t.is((await ask('/account')).headers['x-cache'], undefined);
  await until('HIT', '/account/y.css');
  t.is((await ask('/account')).headers['x-cache'], undefined, 'the page itself is not taken from there');
});

test('HEAD that is passed on as it is never stores a response for GET, with the method in the key', async (t) => {
  const { ask, until } = await start();
  await until('HIT', '/heads/a', { method: 'HEAD' });
  t.is((await ask('/heads/a')).headers['x-cache'], 'MISS');
  t.regex((await until('HIT', '/heads/a')).body, /^GET \/heads\/a/);
});

test('keys with the same digest have responses of their own', async (t) => {
  const { ask, until } = await start();
  // The MD5 collision of M. Stevens, 2024.
  const keys = ['A', 'E'].map((letter) => `TEXTCOLLBYfGiJUETHQ4h${letter}cKSMd5zYpgqf1YRDhkmxHkhPWptrkoyz28wnI9V0aHeAuaKnak`);
  t.is(new Set(keys.map((key) => hash('md5', key))).size, 1);
  const [one = '', other = ''] = keys.map((key, n) => `/digest/${n}?k=${key}`);
  t.regex((await until('HIT', one)).body, /^GET \/digest\/0/);
  t.regex((await ask(other)).body, /^GET \/digest\/1/);
  t.regex((await until('HIT', other)).body, /^GET \/digest\/1/);
  t.regex((await ask(one)).body, /^GET \/digest\/0/);
});
