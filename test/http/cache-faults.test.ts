/** Faults around a cache: its disk, its members, its workers, and purges at the wrong moment. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { connectRaw, get, type HttpResponse } from '../harness/client.js';
import { smallDisk, type SmallDisk } from '../harness/full-disk.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember, type CacheMember } from './cache-member.js';

/** The worker of a request with the argument `die` dies after so many milliseconds. */
const DYING = plugin('dying', {
  imports: `import { DECLINED } from 'srv/module/http.js';`,
  manifest: `directives: { dying: directive({ in: ['location'] }) }`,
  body: `compile(scope) { return scope.conf.dying && { preaccess: (request) => {
    const after = /die=(\\d+)/.exec(request.args)?.[1];
    if (after) setTimeout(() => process.exit(3), Number(after));
    return DECLINED;
  } }; }`,
});

interface Setup {
  readonly srv: Srv;
  readonly member: CacheMember;
  readonly disk: SmallDisk | undefined;
  readonly ask: (path: string) => Promise<HttpResponse>;
  readonly status: (path: string) => Promise<unknown>;
}

const start = shared(async (scope): Promise<Setup> => {
  const member = await cacheMember(scope);
  const disk = smallDisk(scope);
  const srv = await startSrv(
    scope,
    `worker_processes 3; error_log logs/error.log info; load_module modules/dying.js; events {}
    http {
      proxy_cache_path ${disk?.folder ?? 'disk'}/own keys_zone=disk:256k use_temp_path=off;
      proxy_cache_path ${disk?.folder ?? 'disk'}/other keys_zone=other:256k;
      proxy_cache_path gone levels=1 keys_zone=gone:256k;
      map $request_method $is_purge { PURGE 1; default 0; }
      upstream members { server 127.0.0.1:${member.backend.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; proxy_cache_key $uri; proxy_cache_valid 1h; proxy_cache_purge $is_purge;
        proxy_cache_lock on; proxy_cache_lock_timeout 20s; proxy_cache_lock_age 20s; proxy_next_upstream off;
        add_header X-Cache $upstream_cache_status always;
        location /disk/ { proxy_cache disk; proxy_pass http://members; }
        location /other/ { proxy_cache other; proxy_pass http://members; }
        location /gone/ { proxy_cache gone; proxy_pass http://members; }
        location /dying/ { dying; proxy_cache gone; proxy_pass http://members; } }
    }`,
    { files: { 'modules/dying.js': DYING }, allowCrashes: true },
  );
  const ask = (path: string): Promise<HttpResponse> => get(srv.port('web'), path);
  return { srv, member, disk, ask, status: async (path) => (await ask(path)).headers['x-cache'] };
});

/** Stores the response of a path. */
async function store({ status }: Setup, path: string): Promise<void> {
  await waitFor('HIT', async () => (await status(path)) === 'HIT');
}

const left = (folder: string): string[] =>
  readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.includes('.'));

test.serial('where temporary files are on another file system, responses are stored', async (t) => {
  const all = await start();
  await store(all, '/other/a?size=100000');
  t.is((await all.ask('/other/a')).body.length, 100_000);
  if (all.disk !== undefined) t.deepEqual(left(join(all.disk.folder, 'other')), []);
});

test.serial('a full disk: responses are sent and not stored, and stored ones are used', async (t) => {
  const all = await start();
  const { disk, ask, status, srv } = all;
  if (disk === undefined) return void t.pass('no file system of its own');
  await store(all, '/disk/before');
  disk.fill();
  for (const cache of ['disk', 'other']) {
    for (let i = 0; i < 2; i++) {
      const { body, headers } = await ask(`/${cache}/full?size=100000`);
      t.deepEqual([body.length, headers['x-cache']], [100_000, 'MISS']);
    }
    await srv.waitForLog(new RegExp(`\\[crit\\].* the response is not stored in cache "${cache}" \\(28: No space left on device\\)`));
  }
  t.is(await status('/disk/before'), 'HIT');
  disk.empty();
  // The log has had the first of the two responses; the file of the second one may be removed later.
  await waitFor('the end of unfinished files', () => left(disk.folder).length === 0);
  await store(all, '/disk/full?size=100000');
});

test.serial('a disk that is read-only: the same; what cannot be removed is purged nevertheless', async (t) => {
  const all = await start();
  const { disk, ask, status, srv } = all;
  if (disk === undefined) return void t.pass('no file system of its own');
  await store(all, '/disk/kept');
  disk.remount('ro');
  try {
    for (let i = 0; i < 2; i++) t.deepEqual((await ask('/disk/new?size=1000')).body.length, 1000);
    await srv.waitForLog(/not stored in cache "disk" \(30: Read-only file system\)/);
    t.is(await status('/disk/kept'), 'HIT');
    t.is((await get(srv.port('web'), '/disk/kept', { method: 'PURGE' })).status, 500);
    t.is(await status('/disk/kept'), 'MISS');
  } finally {
    disk.remount('rw');
  }
  await store(all, '/disk/new?size=1000');
});

test.serial('a folder that was removed is made again', async (t) => {
  const all = await start();
  await store(all, '/gone/a');
  rmSync(all.srv.path('gone'), { recursive: true });
  t.is(await all.status('/gone/a'), 'MISS');
  await store(all, '/gone/a');
});

test.serial('a member that ends in the middle: nothing is stored, and the next waiting request asks again', async (t) => {
  const { srv, ask, member } = await start();
  const first = await connectRaw(t, srv.port('web'));
  first.send('GET /gone/cut?cut=1&delay=300&size=50000 HTTP/1.1\r\nHost: a\r\n\r\n');
  await waitFor('the first one', () => member.count('/gone/cut') === 1);
  const others = await Promise.all(Array.from({ length: 6 }, () => ask('/gone/cut?size=50000')));
  for (const { body, status } of others) t.deepEqual([status, body.length], [200, 50_000]);
  t.is(member.count('/gone/cut'), 2);
  t.true((await first.receiveAll()).length < 50_000);
  t.is(left(srv.path('gone')).length, 0);
});

test.serial('a worker that dies while it fetches: the others ask again', async (t) => {
  const { srv, ask, member, status } = await start();
  const first = ask('/dying/a?die=300&delay=5000').catch(() => undefined);
  await waitFor('the first one', () => member.count('/dying/a') === 1);
  const others = await Promise.all(Array.from({ length: 12 }, () => ask('/dying/a').catch(() => undefined)));
  t.is(await first, undefined);
  await srv.waitForLog(/worker \d \(thread \d+\) exited with code 3/);
  const bodies = others.flatMap((response) => (response === undefined ? [] : [response.body]));
  t.deepEqual([...new Set(bodies)], bodies.length === 0 ? [] : ['GET /dying/a 2']);
  await waitFor('a response', () =>
    status('/dying/a').then(
      (one) => one === 'HIT',
      () => false,
    ),
  );
});

test.serial('a response that is purged while it is sent is sent to its end', async (t) => {
  const all = await start();
  const { srv, status } = all;
  const size = 8_000_000;
  await store(all, `/gone/large?size=${size}`);
  const slow = await connectRaw(t, srv.port('web'));
  slow.socket.pause();
  slow.send('GET /gone/large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await new Promise((done) => slow.socket.once('readable', done));
  t.is((await get(srv.port('web'), '/gone/large', { method: 'PURGE' })).status, 204);
  t.is(await status('/gone/large?size=1'), 'MISS');
  slow.socket.resume();
  const received = await slow.receiveAll();
  t.is(received.length - received.indexOf('\r\n\r\n') - 4, size);
});

test.serial('after a purge of many keys one request goes to the member, whatever was found before it', async (t) => {
  const all = await start();
  const { srv, ask, member } = all;
  for (let round = 0; round < 40; round++) {
    const path = `/gone/round${round}`;
    await store(all, path);
    t.is((await get(srv.port('web'), '/gone/round*', { method: 'PURGE' })).status, 204);
    const before = member.count(path);
    await Promise.all(Array.from({ length: 12 }, () => ask(path)));
    t.is(member.count(path) - before, 1, String(round));
  }
});
