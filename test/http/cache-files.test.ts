/** Files of a cache: over restarts, damaged ones, folders that cannot be used, and what is removed. */
import { mkdirSync, mkdtempSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { FakeLog } from '../../testing/log.js';
import { FakeZones } from '../../testing/zones.js';
import { CacheManager } from '../../modules/cache/cache-manager.js';
import { CacheZone } from '../../modules/cache/cache-zone.js';
import type { CachePath } from '../../modules/cache/directives.js';
import { get } from '../harness/client.js';
import { runSrv, startSrv, type Srv } from '../harness/srv.js';
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

test('where the cache cannot be written, clients get their responses, and the log says why', async (t) => {
  const member = await cacheMember(t);
  const srv = await startSrv(t, conf(member.backend.port).replace('_path cache', '_path conf/srv.conf/cache'));
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
    const { stderr, code } = await runSrv(t, ['-t'], conf(1).replace('upstream members', `${line} upstream members`));
    t.is(code, 1);
    t.regex(stderr, error);
  });
}

interface Unit {
  readonly zone: CacheZone;
  readonly manager: CacheManager;
  readonly folder: string;
}

function unit(t: ExecutionContext, more: Partial<CachePath> = {}): Unit {
  const folder = mkdtempSync(join(tmpdir(), 'cache-'));
  const path: CachePath = {
    path: folder,
    levels: [1],
    use_temp_path: false,
    keys_zone: { name: 'one', size: 1_048_576 },
    inactive: 600_000,
    max_size: undefined,
    min_free: undefined,
    manager_files: 100,
    manager_sleep: 1,
    manager_threshold: 200,
    loader_files: 100,
    loader_sleep: 1,
    loader_threshold: 200,
    ...more,
  };
  const log = new FakeLog();
  const zone = new CacheZone(path, new FakeZones(), folder, log);
  t.teardown(() => process.getBuiltinModule('node:fs').rmSync(folder, { recursive: true }));
  return { zone, manager: new CacheManager(zone, log), folder };
}

const HEAD = {
  vary: '',
  variant: '',
  seed: '',
  etag: '',
  modified: NaN,
  born: 0,
  flags: 0,
  validUntil: Infinity,
  staleWhileRevalidate: 0,
  staleIfError: 0,
};
const nameOf = (at: number): string => at.toString(16).padStart(32, '0');

/** Stores so many responses of 1000 bytes, one second apart. */
async function fill({ zone }: Unit, count: number, first = Date.now() - count * 1000): Promise<void> {
  for (let at = 0; at < count; at++) {
    const head = { ...HEAD, key: `k${at}`, date: first + at * 1000, head: 'HTTP/1.1 200 \r\n\r\n' };
    await zone.write(
      nameOf(at),
      head,
      (async function* () {
        yield Buffer.alloc(1000);
      })(),
    );
  }
}

async function has(zone: CacheZone, at: number): Promise<boolean> {
  const file = await zone.open(nameOf(at), `k${at}`);
  file?.close();
  return file !== undefined;
}

const SIGNAL = new AbortController().signal;

test('what is above max_size is removed, the response used longest ago first', async (t) => {
  const at = unit(t, { max_size: 5500 });
  await fill(at, 10);
  at.zone.use(nameOf(0), Date.now());
  await at.manager.tidy(SIGNAL);
  t.true(at.zone.size <= 5500 && at.zone.size > 3000);
  t.true(await has(at.zone, 0));
  t.false(await has(at.zone, 1));
  t.is(readdirSync(at.folder, { recursive: true }).filter((name) => String(name).length > 30).length, at.zone.entries);
});

test('what was not used for the time of inactive is removed', async (t) => {
  const at = unit(t, { inactive: 5500 });
  await fill(at, 10);
  await at.manager.tidy(SIGNAL);
  t.is(at.zone.entries, 5);
});

test('the loader finds stored responses, and leaves other files out', async (t) => {
  const at = unit(t);
  await fill(at, 10);
  writeFileSync(join(at.folder, 'other'), 'x');
  mkdirSync(join(at.folder, 'zz'));
  const zones = new FakeZones();
  const again = new CacheZone(at.zone.path, zones, at.folder, new FakeLog());
  t.is(again.entries, 0);
  t.true(await has(again, 3), 'one that is not in the index yet is looked for in the folder');
  await new CacheManager(again, new FakeLog()).load(SIGNAL);
  t.deepEqual([again.entries, again.size], [10, at.zone.size]);
});

test('an entry of another key with the same name is none', async (t) => {
  const at = unit(t);
  await fill(at, 1);
  t.is(await at.zone.open(nameOf(0), 'other'), undefined);
});

test('when the index is full, the oldest go with their files', async (t) => {
  const at = unit(t, { keys_zone: { name: 'small', size: 65_536 } });
  await fill(at, 800);
  await waitFor(
    'the files',
    () => readdirSync(at.folder, { recursive: true }).filter((name) => String(name).length > 30).length === at.zone.entries,
  );
  t.true(at.zone.entries < 800);
  t.false(await has(at.zone, 0));
});
