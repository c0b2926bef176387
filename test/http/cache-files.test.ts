/** Files of a cache: over restarts, damaged ones, folders that cannot be used, and what is removed. */
import { readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember } from './cache-member.js';

function conf(port: number, more = ''): string {
  return `worker_processes 1; error_log logs/error.log info; events {}
    http {
      proxy_cache_path cache levels=2 keys_zone=one:1m ${more};
      upstream members { server 127.0.0.1:${port}; }
      server { listen 127.0.0.1:%%PORT_web%%; add_header X-Cache $upstream_cache_status always;
        location / { proxy_cache one; proxy_cache_valid 1h; proxy_pass http://members; } }
    }`;
}

function files(srv: Srv): string[] {
  return readdirSync(srv.path('cache'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

async function until(srv: Srv, status: string, path: string): Promise<string> {
  const { body } = await waitFor(status, async () => {
    const response = await get(srv.port('web'), path);
    return response.headers['x-cache'] === status ? response : undefined;
  });
  return body;
}

test('stored responses survive kill -9; one that is cut off or damaged is asked for again, and removed', async (t) => {
  const member = await cacheMember(t);
  const first = await startSrv(t, conf(member.backend.port), { allowCrashes: true });
  for (const path of ['/kept', '/cut', '/damaged']) await until(first, 'HIT', path);
  const counts = member.count('/kept');
  const [cut = '', damaged = ''] = ['/cut', '/damaged'].map((path) => {
    const name = process.getBuiltinModule('node:crypto').hash('md5', `httpmembers${path}`);
    return files(first).find((file) => file.endsWith(name)) ?? '';
  });
  await first.stop('SIGKILL');
  truncateSync(cut, 100);
  writeFileSync(damaged, 'not a file of a cache');
  const second = await startSrv(t, conf(member.backend.port), { prefix: first.prefix });
  t.regex((await get(second.port('web'), '/kept')).headers['x-cache'] as string, /^HIT$/);
  t.is(member.count('/kept'), counts);
  for (const path of ['/cut', '/damaged']) t.is((await get(second.port('web'), path)).headers['x-cache'], 'MISS');
  await second.waitForLog(/cache file ".*" is damaged, or of another version: it is removed[^]*is damaged/);
});

test('a response in memory needs no file, in any worker, and none sends it after a purge', async (t) => {
  const member = await cacheMember(t);
  const text = conf(member.backend.port, 'memory=1m').replace('worker_processes 1', 'worker_processes 2');
  const purges = '$request_method $purges { PURGE 1; }';
  const srv = await startSrv(
    t,
    text
      .replace('proxy_cache one;', 'proxy_cache one; proxy_cache_lock on; proxy_cache_purge $purges;')
      .replace('server {', `map ${purges} server {`),
  );
  const ask = async (): Promise<unknown> => (await get(srv.port('web'), '/')).headers['x-cache'];
  for (let round = 0; round < 3; round++) {
    t.is(await ask(), 'MISS', 'no worker knows it any more');
    await waitFor('two hits', async () => (await ask()) === 'HIT' && (await ask()) === 'HIT');
    for (const file of files(srv)) rmSync(file);
    for (let request = 0; request < 10; request++) t.is(await ask(), 'HIT');
    // Its file is gone.
    t.is((await get(srv.port('web'), '/', { method: 'PURGE' })).status, 404);
  }
});

test('all hits have the same head, whichever is the first of a worker', async (t) => {
  const member = await cacheMember(t);
  const srv = await startSrv(
    t,
    conf(member.backend.port, 'memory=1m').replace('proxy_cache one;', 'proxy_cache one; proxy_hide_header X-Two;'),
  );
  const fields = ['X-One:1', 'X-Two:2', 'Last-Modified:Mon, 01 Jan 2024 00:00:00 GMT', 'Content-Type:text/x-one', 'ETag:"1"'];
  const path = `/?${fields.map((field) => `f=${encodeURIComponent(field)}`).join('&')}`;
  await until(srv, 'HIT', path);
  const heads = [];
  for (let hit = 0; hit < 4; hit++) heads.push((await get(srv.port('web'), path)).headers);
  t.like(heads[0], {
    'x-cache': 'HIT',
    'x-one': '1',
    'x-two': undefined,
    etag: '"1"',
    'content-type': 'text/x-one',
    'accept-ranges': 'bytes',
  });
  for (const head of heads) t.deepEqual({ ...head, date: '' }, { ...heads[0], date: '' });
  t.is((await get(srv.port('web'), path, { headers: { 'If-None-Match': '"1"' } })).status, 304);
  t.is((await get(srv.port('web'), path, { headers: { Range: 'bytes=1-2' } })).body, 'ET');
});

test('where the cache cannot be written, clients get their responses, and the log says why', async (t) => {
  const member = await cacheMember(t);
  const srv = await startSrv(t, conf(member.backend.port).replace('_path cache', '_path conf/srv.conf/cache'));
  await srv.waitForLog(
    /\[crit\].* the folder ".*\/conf\/srv.conf\/cache" of cache "one" cannot be used \(20: Not a directory\): nothing is stored/,
  );
  for (let i = 1; i < 3; i++) t.is((await get(srv.port('web'), '/')).body, `GET / ${i}`);
  await srv.waitForLog(/\[crit\].* the response is not stored in cache "one" \(20: Not a directory\)/);
});

for (const [what, line, error] of [
  ['a zone without a path', 'proxy_cache two;', /"proxy_cache" zone "two" is unknown/],
  ['levels', 'proxy_cache_path x levels=3 keys_zone=x:1m;', /invalid "levels" "3"/],
  ['no zone', 'proxy_cache_path x;', /keys_zone/],
  ['a time', 'proxy_cache_valid 200 soon; proxy_cache one;', /invalid status "soon"/],
  ['a status', 'proxy_cache_valid 999 1m; proxy_cache one;', /invalid status "999"/],
  ['no key for FastCGI', 'fastcgi_cache one;', /no "fastcgi_cache_key" for "fastcgi_cache"/],
] as const) {
  test(`rejected: ${what}`, async (t) => {
    const { stderr, code } = await check(t, conf(1).replace('upstream members', `${line} upstream members`));
    t.is(code, 1);
    t.regex(stderr, error);
  });
}
