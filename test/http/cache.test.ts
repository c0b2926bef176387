/** The cache for responses of members, with the rules of nginx. */
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { connectRaw, get, type HttpResponse, type RequestOptions } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember, type CacheMember } from './cache-member.js';

const LOCATIONS = `
  location / { proxy_cache_valid 200 301 1h; proxy_cache_valid 404 1h; proxy_pass http://members; }
  location /none { proxy_pass http://members; }
  location /ignores { proxy_cache_valid 1h; proxy_ignore_headers Cache-Control Set-Cookie; proxy_pass http://members; }
  location /uses { proxy_cache_valid 1h; proxy_cache_min_uses 3; proxy_pass http://members; }
  location /bypass { proxy_cache_valid 1h; proxy_cache_bypass $arg_now; proxy_no_cache $arg_private; proxy_cache_key $uri; proxy_pass http://members; }
  location /lock { proxy_cache_valid 1h; proxy_cache_lock on; proxy_cache_lock_timeout 30s; proxy_cache_lock_age 30s; proxy_pass http://members; }
  location /late { proxy_cache_valid 1h; proxy_cache_lock on; proxy_cache_lock_timeout 200ms; proxy_pass http://members; }
  location /stale { proxy_cache_use_stale error http_500 updating; proxy_pass http://members; }
  location /background { proxy_cache_use_stale updating; proxy_cache_background_update on; proxy_pass http://members; }
  location /again { proxy_cache_revalidate on; proxy_pass http://members; }
  location /range { proxy_cache_valid 1h; proxy_cache_max_range_offset 5; proxy_pass http://members; }
  location /purge { proxy_cache_valid 1h; proxy_cache_key $uri; proxy_cache_purge $is_purge; proxy_pass http://members; }
  location /heads { proxy_cache_valid 1h; proxy_cache_convert_head off; proxy_cache_key $request_method$uri; proxy_pass http://members; }
  location /chosen { proxy_cache $arg_zone; proxy_cache_valid 1h; proxy_pass http://members; }`;

interface Setup {
  readonly srv: Srv;
  readonly member: CacheMember;
  readonly ask: (path: string, options?: RequestOptions) => Promise<HttpResponse>;
  /** Status of the cache and body. */
  readonly asked: (path: string, options?: RequestOptions) => Promise<string>;
  /** Asks until the status of the cache is this one. */
  readonly until: (status: string, path: string, options?: RequestOptions) => Promise<HttpResponse>;
}

const start = shared(async (scope): Promise<Setup> => {
  const member = await cacheMember(scope);
  const srv = await startSrv(
    scope,
    `worker_processes 2; error_log logs/error.log info; events {}
    http {
      proxy_cache_path cache levels=1:2 keys_zone=one:1m;
      map $request_method $is_purge { PURGE 1; default 0; }
      upstream members { server 127.0.0.1:${member.backend.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; proxy_cache one;
        add_header X-Cache $upstream_cache_status always; add_header X-Age $upstream_cache_age always; ${LOCATIONS} }
    }`,
  );
  const ask = (path: string, options: RequestOptions = {}): Promise<HttpResponse> => get(srv.port('web'), path, options);
  return {
    srv,
    member,
    ask,
    asked: async (path, options) => {
      const { headers, body } = await ask(path, options);
      return `${String(headers['x-cache'] ?? '-')} ${body}`.trim();
    },
    until: (status, path, options) =>
      waitFor(status, async () => {
        const response = await ask(path, options);
        return response.headers['x-cache'] === status ? response : undefined;
      }),
  };
});

test('a response is stored for all workers, in the layout of nginx', async (t) => {
  const { srv, ask, asked, until, member } = await start();
  t.is(await asked('/first'), 'MISS GET /first 1');
  await until('HIT', '/first');
  const before = member.count('/first');
  for (let i = 0; i < 6; i++) t.regex(await asked('/first'), /^HIT GET \/first \d/);
  t.is(member.count('/first'), before);
  const name = hash('md5', 'httpmembers/first');
  const file = readFileSync(srv.path(join('cache', name.slice(-1), name.slice(-3, -1), name)), 'latin1');
  t.regex(file, /GET \/first \d$/);
  t.regex(String((await ask('/first')).headers['x-age']), /^\d+$/);
});

for (const [what, path] of [
  ['Cache-Control: no-store', '/a?f=Cache-Control:no-store'],
  ['Cache-Control: private', '/b?f=Cache-Control:max-age%3D9,%20private'],
  ['Cache-Control: no-store;', '/k?f=Cache-Control:max-age%3D9;no-store;'],
  ['Cache-Control: "private"', '/l?f=Cache-Control:max-age%3D9,%22private%22'],
  ['Cache-Control: max-age=0', '/c?f=Cache-Control:max-age%3D0'],
  ['an invalid Expires', '/d?f=Expires:0'],
  ['X-Accel-Expires: 0', '/e?f=Cache-Control:max-age%3D9&f=X-Accel-Expires:0'],
  ['Set-Cookie', '/f?f=Set-Cookie:a%3D1'],
  ['Vary: *', '/g?f=Vary:*'],
  ['a status without a time', '/h?status=410'],
  ['no time at all', '/none/i'],
  ['POST', '/j'],
] as const) {
  test(`not stored: ${what}`, async (t) => {
    const { ask, member } = await start();
    const options = what === 'POST' ? { method: 'POST' } : {};
    for (let i = 0; i < 3; i++) t.not((await ask(path, options)).headers['x-cache'], 'HIT');
    t.is(member.count(path.split('?', 1)[0] ?? ''), 3);
  });
}

for (const [what, path] of [
  ['max-age', '/none/a?f=Cache-Control:max-age%3D60'],
  ['s-maxage before max-age', '/none/b?f=Cache-Control:max-age%3D0,%20s-maxage%3D60'],
  ['X-Accel-Expires before Cache-Control', '/none/c?f=Cache-Control:no-store&f=X-Accel-Expires:60'],
  ['Expires', '/none/d?f=Expires:Fri,%2001%20Jan%202100%2000:00:00%20GMT'],
  ['a 404 with a time', '/missing?status=404'],
  ['fields without effect', '/ignores?f=Cache-Control:no-store&f=Set-Cookie:a%3D1'],
] as const) {
  test(`stored: ${what}`, async (t) => {
    const { until } = await start();
    const { headers, status } = await until('HIT', path);
    t.is(headers['x-accel-expires'], undefined);
    t.is(status, path.includes('404') ? 404 : 200);
  });
}

test('of responses that vary, each value of the fields has one', async (t) => {
  const { until } = await start();
  const path = '/vary?f=Vary:Accept-Language';
  for (const round of [1, 2]) {
    for (const language of ['en', 'zh', 'de'])
      t.regex((await until('HIT', path, { headers: { 'Accept-Language': language } })).body, new RegExp(`${language}$`), String(round));
  }
});

test('fifty requests at once for a new key are one request for the member', async (t) => {
  const { ask, member } = await start();
  const responses = await Promise.all(Array.from({ length: 50 }, () => ask('/lock/new?delay=300')));
  t.deepEqual([...new Set(responses.map(({ body }) => body))], ['GET /lock/new 1']);
  t.is(member.count('/lock/new'), 1);
});

test('the response of a client that has left is stored, and waiting requests get it', async (t) => {
  const { srv, asked, member } = await start();
  const first = await connectRaw(t, srv.port('web'));
  first.send('GET /lock/left?delay=500 HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the first one', () => member.count('/lock/left') === 1);
  const second = asked('/lock/left?delay=500');
  first.socket.destroy();
  t.regex(await second, /GET \/lock\/left [12]$/);
});

test('a request that has waited too long for another one is passed on, and not stored', async (t) => {
  const { ask, asked } = await start();
  const first = ask('/late?delay=2000&a');
  await new Promise((done) => setTimeout(done, 50));
  t.regex(await asked('/late?delay=2000&a'), /^MISS GET \/late 2/);
  t.regex((await first).body, /late 1/);
});

test('stale responses take the place of failures, and say so', async (t) => {
  const { until, member } = await start();
  const path = '/stale?f=Cache-Control:max-age%3D1';
  await until('HIT', path);
  member.failing.add('/stale');
  const { status, body } = await until('STALE', path);
  member.failing.delete('/stale');
  t.deepEqual([status, body.slice(0, 10)], [200, 'GET /stale']);
  await until('EXPIRED', path);
});

test('without permission a failure is the response', async (t) => {
  const { ask, until, member } = await start();
  const path = '/none/failing?f=Cache-Control:max-age%3D1';
  await until('HIT', path);
  member.failing.add('/none/failing');
  const { headers } = await waitFor('the failure', async () => {
    const response = await ask(path);
    return response.status === 500 ? response : undefined;
  });
  t.is(headers['x-cache'], 'EXPIRED');
});

test('a stale response is used at once, and renewed in the background', async (t) => {
  const { until, member } = await start();
  const path = '/background?f=Cache-Control:max-age%3D1';
  await until('HIT', path);
  const before = member.count('/background');
  t.is((await until('STALE', path)).body, `GET /background ${before}`);
  await waitFor('the new one', async () => (await until('HIT', path)).body !== `GET /background ${before}`);
});

test('a response is renewed by a 304', async (t) => {
  const { until, ask } = await start();
  const path = '/again?tag=one&f=Cache-Control:max-age%3D1';
  await until('HIT', path);
  const { status, body, headers } = await until('REVALIDATED', path);
  t.deepEqual([status, headers.etag], [200, '"one"']);
  t.regex(body, /^GET \/again \d$/);
  t.is((await ask(path)).body, body);
});

test('conditions and ranges of clients are those of the stored response', async (t) => {
  const { ask, until } = await start();
  const { body } = await until('HIT', '/parts?tag=two');
  const unchanged = await ask('/parts?tag=two', { headers: { 'If-None-Match': '"two"' } });
  t.deepEqual([unchanged.status, unchanged.body], [304, '']);
  t.is((await ask('/parts?tag=two', { headers: { 'If-None-Match': '"other"' } })).status, 200);
  t.is((await ask('/parts?tag=two', { headers: { 'If-Match': '"other"' } })).status, 412);
  const part = await ask('/parts?tag=two', { headers: { Range: 'bytes=4-9' } });
  t.deepEqual([part.status, part.body, part.headers['content-range']], [206, body.slice(4, 10), `bytes 4-9/${body.length}`]);
  t.is((await ask('/parts?tag=two', { headers: { Range: 'bytes=900-' } })).status, 416);
});

test('a member gets no conditions of a client whose response is to be stored', async (t) => {
  const { ask, until } = await start();
  const { status } = await ask('/whole?tag=three', { headers: { 'If-None-Match': '"three"', Range: 'bytes=0-1' } });
  t.not(status, 304);
  t.regex((await until('HIT', '/whole?tag=three')).body, /^GET \/whole \d+$/);
});

test('a request for the end of a large response is passed on as it is', async (t) => {
  const { asked } = await start();
  t.regex(await asked('/range', { headers: { Range: 'bytes=6-' } }), /^- /);
  t.regex(await asked('/range', { headers: { Range: 'bytes=2-' } }), /^MISS /);
});

test('HEAD is passed on as GET, and both are one response; or each is its own', async (t) => {
  const { ask, until } = await start();
  t.is((await ask('/both', { method: 'HEAD' })).body, '');
  t.regex((await until('HIT', '/both')).body, /^GET \/both/);
  await until('HIT', '/heads', { method: 'HEAD' });
  t.regex((await until('HIT', '/heads')).body, /^GET \/heads/);
});

test('bypass and no_cache are texts of the request', async (t) => {
  const { asked, until, ask } = await start();
  await until('HIT', '/bypass');
  const renewed = await asked('/bypass?now=1');
  t.regex(renewed, /^BYPASS/);
  await waitFor('the renewed one', async () => `BYPASS ${(await ask('/bypass')).body}` === renewed);
  t.regex(await asked('/bypass/private?private=1'), /^MISS/);
  t.regex(await asked('/bypass/private?private=1'), /^MISS .* 2$/);
  t.regex(await asked('/bypass?now=0'), /^HIT/);
});

test('a response that was asked for earlier does not replace a later one', async (t) => {
  const { asked, until, member } = await start();
  const path = '/bypass/order';
  const early = asked(`${path}?until=50`);
  await waitFor('the first request', () => member.count(path) === 1);
  const later = (await until('HIT', path)).body;
  t.not(later, `GET ${path} 1`);
  while (member.count(path) < 50) t.regex(await asked(`${path}?now=1&private=1`), /^BYPASS/);
  t.is(await early, `MISS GET ${path} 1`);
  for (let i = 0; i < 10; i++) t.is(await asked(path), `HIT ${later}`);
});

test('a response is stored when it was asked for often enough', async (t) => {
  const { asked, until, member } = await start();
  for (const count of [1, 2, 3]) t.is(await asked('/uses'), `MISS GET /uses ${count}`);
  await until('HIT', '/uses');
  t.true(member.count('/uses') >= 3);
});

test('purge removes a response and its variants', async (t) => {
  const { ask, until, asked } = await start();
  const path = '/purge?f=Vary:Accept-Language';
  for (const language of ['en', 'zh']) await until('HIT', path, { headers: { 'Accept-Language': language } });
  t.is((await ask('/purge', { method: 'PURGE' })).status, 204);
  for (const language of ['en', 'zh']) t.regex(await asked(path, { headers: { 'Accept-Language': language } }), /^MISS/);
  t.is((await ask('/purge/unknown', { method: 'PURGE' })).status, 404);
});

test('the cache may depend on the request', async (t) => {
  const { srv, ask, until } = await start();
  await until('HIT', '/chosen?zone=one');
  t.is((await ask('/chosen?zone=off')).headers['x-cache'], undefined);
  t.is((await ask('/chosen?zone=two')).status, 500);
  await srv.waitForLog(/cache "two" not found/);
});

test('nothing is left beside the stored responses', async (t) => {
  const { srv, until } = await start();
  await until('HIT', '/beside');
  await waitFor('no file aside', () => !readdirSync(srv.path('cache'), { recursive: true }).some((name) => String(name).includes('/.')));
  t.pass();
});
