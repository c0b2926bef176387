/** Directives of FastCGI caches, and the parameters of a cache that its manager and its loader follow. */
import { readdirSync } from 'node:fs';
import test from 'ava';
import { get, type HttpResponse, type RequestOptions } from '../harness/client.js';
import { fastcgiBackend, response, type FastcgiBackend } from '../harness/fastcgi-backend.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember } from './cache-member.js';

interface Application {
  readonly srv: Srv;
  readonly backend: FastcgiBackend;
  readonly ask: (path: string, options?: RequestOptions) => Promise<HttpResponse>;
  readonly until: (status: string, path: string, options?: RequestOptions) => Promise<HttpResponse>;
  /** Requests for a path. */
  readonly count: (path: string) => number;
}

/** An application whose responses have the fields of the argument `f`, or the status of `status`. */
const start = shared(async (scope): Promise<Application> => {
  const count = (path: string): number => backend.requests.filter(({ params }) => params['SCRIPT_NAME'] === path).length;
  const failing = new Set<string>();
  const backend = await fastcgiBackend(scope, ({ params }) => {
    const { SCRIPT_NAME: path = '', QUERY_STRING: query = '', REQUEST_METHOD: method = '' } = params;
    const args = new URLSearchParams(query);
    if (args.has('fail')) failing.add(path);
    const isSame = params['HTTP_IF_NONE_MATCH'] === '"a"';
    const status = failing.has(path) ? 'Status: 503 Busy\r\n' : isSame ? 'Status: 304 Not Modified\r\n' : '';
    const fields = args.getAll('f').map((field) => `${field}\r\n`);
    return {
      bytes: response(`${status}${fields.join('')}Content-Type: text/plain\r\n\r\n${isSame ? '' : `${method} ${path} ${count(path)}`}`),
    };
  });
  const srv = await startSrv(
    scope,
    `worker_processes 1; error_log logs/error.log info; events {} http {
      fastcgi_cache_path cache levels=1:2 keys_zone=app:1m use_temp_path=off;
      map $request_method $is_purge { PURGE 1; default 0; }
      server { listen 127.0.0.1:%%PORT_web%%; add_header X-Cache $upstream_cache_status always;
        fastcgi_param SCRIPT_NAME $uri; fastcgi_param REQUEST_METHOD $request_method; fastcgi_param QUERY_STRING $query_string;
        fastcgi_pass_header Cache-Control;
        fastcgi_cache app; fastcgi_cache_key $host$uri; fastcgi_cache_valid any 1h;
        location / { fastcgi_cache_purge $is_purge; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /bypass { fastcgi_cache_bypass $arg_new; fastcgi_no_cache $arg_private; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /uses { fastcgi_cache_min_uses 3; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /posts { fastcgi_cache_methods POST; fastcgi_cache_key $request_method$uri; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /heads { fastcgi_cache_convert_head off; fastcgi_cache_key $request_method$uri; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /ranges { fastcgi_cache_max_range_offset 5; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /lock { fastcgi_cache_lock on; fastcgi_cache_lock_streaming on; fastcgi_cache_lock_age 30s; fastcgi_cache_lock_timeout 30s;
          fastcgi_pass 127.0.0.1:${backend.port}; }
        location /stale { fastcgi_cache_use_stale http_503; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /background { fastcgi_cache_use_stale updating; fastcgi_cache_background_update on; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /again { fastcgi_cache_revalidate on; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /ignores { fastcgi_ignore_headers Cache-Control; fastcgi_pass 127.0.0.1:${backend.port}; }
        location /rules { fastcgi_cache_rules rfc9111; fastcgi_cache_status on; fastcgi_pass 127.0.0.1:${backend.port}; } }
    }`,
  );
  const ask = (path: string, options: RequestOptions = {}): Promise<HttpResponse> => get(srv.port('web'), path, options);
  const until = (status: string, path: string, options: RequestOptions = {}): Promise<HttpResponse> =>
    waitFor(`${status} ${path}`, async () => {
      const one = await ask(path, options);
      return one.headers['x-cache'] === status ? one : undefined;
    });
  return { srv, backend, ask, until, count };
});

test('fastcgi_cache_bypass and fastcgi_no_cache', async (t) => {
  const { ask, until } = await start();
  await until('HIT', '/bypass');
  t.is((await ask('/bypass?new=1')).headers['x-cache'], 'BYPASS');
  for (let i = 0; i < 3; i++) t.is((await ask('/bypass/b?private=1')).headers['x-cache'], 'MISS');
});

test('fastcgi_cache_min_uses', async (t) => {
  const { ask, until, count } = await start();
  for (let i = 0; i < 3; i++) t.is((await ask('/uses')).headers['x-cache'], 'MISS');
  await until('HIT', '/uses');
  t.true(count('/uses') >= 3);
});

test('fastcgi_cache_methods, and fastcgi_cache_convert_head off', async (t) => {
  const { ask, until } = await start();
  t.regex((await until('HIT', '/posts', { method: 'POST' })).body, /^POST \/posts/);
  for (let i = 0; i < 2; i++) t.is((await ask('/', { method: 'POST' })).headers['x-cache'], undefined);
  await until('HIT', '/heads', { method: 'HEAD' });
  t.regex((await until('HIT', '/heads')).body, /^GET \/heads/);
});

test('fastcgi_cache_max_range_offset', async (t) => {
  const { ask } = await start();
  t.is((await ask('/ranges', { headers: { Range: 'bytes=6-' } })).headers['x-cache'], undefined);
  t.is((await ask('/ranges', { headers: { Range: 'bytes=5-' } })).headers['x-cache'], 'MISS');
});

test('fastcgi_cache_lock', async (t) => {
  const { ask, count } = await start();
  const bodies = await Promise.all(Array.from({ length: 20 }, async () => (await ask('/lock')).body));
  t.deepEqual([[...new Set(bodies)], count('/lock')], [['GET /lock 1'], 1]);
});

test('fastcgi_cache_use_stale and fastcgi_cache_background_update', async (t) => {
  const { until } = await start();
  const field = 'f=Cache-Control:max-age%3D1';
  await Promise.all([until('HIT', `/stale?${field}`), until('HIT', `/background?${field}`)]);
  const [stale, updated] = await Promise.all([until('STALE', `/stale?${field}&fail`), until('STALE', `/background?${field}`)]);
  t.deepEqual([stale.status, updated.status], [200, 200]);
  await waitFor('the new one', async () => (await until('HIT', `/background?${field}`)).body !== updated.body);
});

test('fastcgi_cache_revalidate', async (t) => {
  const { until } = await start();
  const path = '/again?f=ETag:"a"&f=Cache-Control:max-age%3D1';
  const { body } = await until('HIT', path);
  t.is((await until('REVALIDATED', path)).body, body);
});

test('fastcgi_cache_purge, and fields that fastcgi_ignore_headers takes away', async (t) => {
  const { ask, until } = await start();
  await until('HIT', '/purged');
  t.is((await ask('/purged', { method: 'PURGE' })).status, 204);
  t.is((await ask('/purged')).headers['x-cache'], 'MISS');
  await until('HIT', '/ignores?f=Cache-Control:no-store');
  for (let i = 0; i < 2; i++) t.is((await ask('/stored?f=Cache-Control:no-store')).headers['x-cache'], 'MISS');
});

test('fastcgi_cache_rules and fastcgi_cache_status', async (t) => {
  const { ask, until } = await start();
  const path = '/rules?f=Cache-Control:max-age%3D60';
  t.regex(String((await ask(path)).headers['cache-status']), /^srv; fwd=uri-miss; fwd-status=200; stored/);
  const { headers } = await until('HIT', path);
  t.regex(String(headers['age']), /^\d$/);
  t.regex(String(headers['cache-status']), /^srv; hit; ttl=\d\d$/);
  t.not((await ask(path, { headers: { 'Cache-Control': 'no-cache' } })).headers['x-cache'], 'HIT');
});

test('manager and loader: inactive, max_size, min_free, and pauses after so many files', async (t) => {
  const member = await cacheMember(t);
  const paces = 'manager_files=2 manager_sleep=1ms manager_threshold=1ms loader_files=1 loader_sleep=1ms loader_threshold=1ms';
  const caches = { unused: 'inactive=1s', small: 'max_size=8k', full: 'min_free=900000g', kept: 'max_size=1g min_free=1k inactive=1h' };
  const conf = `worker_processes 1; error_log logs/error.log info; events {} http {
    ${Object.entries(caches)
      .map(([name, args]) => `proxy_cache_path ${name} levels=1 keys_zone=${name}:64k ${args} ${paces};`)
      .join('\n')}
    server { listen 127.0.0.1:%%PORT_web%%; proxy_cache_key $uri; proxy_cache_valid 1h; add_header X-Cache $upstream_cache_status;
      ${Object.keys(caches)
        .map((name) => `location /${name} { proxy_cache ${name}; proxy_pass http://127.0.0.1:${member.backend.port}; }`)
        .join('\n')} } }`;
  const first = await startSrv(t, conf);
  const files = (name: string): number =>
    readdirSync(first.path(name), { recursive: true }).filter((file) => String(file).length > 30).length;
  for (const name of Object.keys(caches)) {
    for (let n = 0; n < 10; n++) await get(first.port('web'), `/${name}/${n}?size=2000`);
    t.true(files(name) > 0, name);
  }
  await waitFor('the manager', () => files('unused') === 0 && files('full') === 0 && files('small') <= 4);
  t.deepEqual([files('kept'), files('small') > 0], [10, true]);
  await first.stop();
  const second = await startSrv(t, conf, { prefix: first.prefix });
  await second.waitForLog(/cache "kept": 10 entries/);
  t.is((await get(second.port('web'), '/kept/5')).headers['x-cache'], 'HIT');
  await second.stop();
  const third = await startSrv(t, conf.replaceAll('loader_sleep=1ms', 'loader_sleep=1h'), { prefix: first.prefix });
  for (let n = 0; n < 10; n++)
    t.is((await get(third.port('web'), `/kept/${n}`)).headers['x-cache'], 'HIT', 'before the loader has come to it');
});
