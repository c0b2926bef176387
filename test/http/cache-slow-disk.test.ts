/** A cache on a disk that does not respond for a while. */
import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { SlowDisk } from '../harness/slow-disk.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { cacheMember } from './cache-member.js';

const SIZES = { '/small': 1000, '/large': 100_000 };

/** More than may wait for the disk. */
const MANY = 400;

test('a disk that does not respond holds up the requests that need it, and no worker', async (t) => {
  const disk = SlowDisk.mount(t);
  if (disk === undefined) return void t.pass('no file system of its own');
  const member = await cacheMember(t);
  const conf = `worker_processes 1; error_log logs/error.log info; events {}
    http {
      proxy_cache_path ${disk.folder}/cache levels=1:2 keys_zone=one:1m use_temp_path=off;
      upstream members { server 127.0.0.1:${member.backend.port}; }
      server { listen 127.0.0.1:%%PORT_web%%; add_header X-Cache $upstream_cache_status;
        proxy_cache_valid 1h; proxy_cache_key $uri; proxy_cache_lock on;
        location / { proxy_cache one; proxy_pass http://members; }
        location /without { proxy_pass http://members; } }
    }`;
  const first = await startSrv(t, conf);
  for (const [path, size] of Object.entries(SIZES))
    await waitFor('HIT', async () => (await get(first.port('web'), `${path}?size=${size}`)).headers['x-cache'] === 'HIT');
  await first.stop();
  // Nothing of it is in the memory of the kernel any more.
  const srv = await startSrv(t, conf, { prefix: first.prefix });
  await srv.waitForLog(/cache "one": 2 entries/);
  const ask = (path: string) => get(srv.port('web'), path);

  disk.pause();
  const held = Object.keys(SIZES).map(ask);
  try {
    await waitFor('requests that wait for the disk', () => disk.waiting >= 2, 10_000);
    for (let i = 0; i < 20; i++) t.is((await ask('/without')).status, 200);
    for (let i = 0; i < 3; i++) t.regex((await ask(`/new${i}`)).body, /GET \/new/);
    t.true(disk.waiting >= 2);
  } finally {
    disk.resume();
  }
  for (const response of held) {
    const { headers, body } = await response;
    t.deepEqual([headers['x-cache'], Object.values(SIZES).includes(body.length)], ['HIT', true]);
  }
  await waitFor('the new one', async () => (await ask('/new0')).headers['x-cache'] === 'HIT');

  // Right after good reads and writes.
  disk.pause();
  const recent = ask('/small');
  try {
    await waitFor('a request that waits for the disk', () => disk.waiting > 0, 10_000);
    const flood = await connectRaw(t, srv.port('web'));
    flood.send(Array.from({ length: MANY }, (_, i) => `GET /many${i}?size=16000 HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    await srv.waitForLog(/cache "one": 4 MB of responses wait for the disk, which does not keep up/);
    t.is((await ask('/without')).status, 200);
  } finally {
    disk.resume();
  }
  t.is((await recent).headers['x-cache'], 'HIT');
  await waitFor('stored responses', async () => (await ask('/many5?size=16000')).headers['x-cache'] === 'HIT');
  t.is(srv.log().match(/does not keep up/g)?.length, 1);
});
