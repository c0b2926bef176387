/** Files on a disk that does not respond for a while: whatever looks them up, the other requests of the worker go on. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { usesEpoll } from '../harness/event-methods.js';
import { get } from '../harness/client.js';
import { SlowDisk } from '../harness/slow-disk.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** With `use node` a worker waits for the disk, as nginx does. */

/** Directives of a location, by its path; and the body of the response. */
const LOOKS: Readonly<Record<string, readonly [directives: string, body: string]>> = {
  '/plain': ['', 'the file'],
  '/tried': ['try_files $uri$uri $uri =404;', 'the file'],
  '/folder/': ['index none.html index.html;', 'the index'],
  '/zipped': ['gzip_static always; gunzip on;', 'compressed'],
  '/cached': ['open_file_cache max=10; open_file_cache_errors on;', 'the file'],
  '/linked': ['disable_symlinks on;', 'the file'],
  '/asked': ['if (-f $document_root$uri) { return 200 "there is one"; } return 200 none;', 'there is one'],
  '/secret': ['auth_basic site; auth_basic_user_file $document_root/users;', 'the file'],
};

(usesEpoll ? test : test.skip)('a disk that does not respond holds up the requests that look for files there, and no worker', async (t) => {
  const disk = SlowDisk.mount(t);
  if (disk === undefined) return void t.pass('no file system of its own');
  const put = (path: string, content: string | Buffer): Promise<void> => writeFile(join(disk.folder, path), content);
  for (const path of ['/plain', '/tried', '/cached', '/linked', '/asked', '/secret']) await put(path, 'the file');
  await put('zipped.gz', gzipSync('compressed'));
  await mkdir(join(disk.folder, 'folder'));
  await put('folder/index.html', 'the index');
  await put('users', 'me:{PLAIN}secret\n');
  const locations = Object.entries(LOOKS).map(([path, [directives]]) => `location ${path} { ${directives} }`);
  const srv = await startSrv(
    t,
    `worker_processes 1; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%; root ${disk.folder}; ${locations.join('\n')} location /without { return 200 ok; } } }`,
  );
  const ask = (path: string): ReturnType<typeof get> =>
    get(srv.port('web'), path, { headers: { authorization: `Basic ${btoa('me:secret')}` } });
  for (const [path, [, body]] of Object.entries(LOOKS)) {
    disk.pause();
    const held = ask(path);
    try {
      await waitFor(`a look for ${path}`, () => disk.waiting > 0);
      t.is((await ask('/without')).body, 'ok', path);
    } finally {
      disk.resume();
    }
    t.is((await held).body, body, path);
    // The worker has closed the file, which asks this file system as well.
    await ask('/without');
  }
});
