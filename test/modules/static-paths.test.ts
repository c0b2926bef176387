import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { exchange } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';

/** Root reads everything: then the server becomes another user. */
const USER = process.getuid?.() === 0 ? 'user daemon daemon;' : '';

const rules = (name: string, lines: string): string => `location /${name}/ { alias html/; ${lines} }`;

/** A site with all kinds of things below its root and beside it, in a prefix that every user may enter. */
async function start(t: Scope): Promise<Srv> {
  const prefix = tempFolder(t, {
    'html/page.html': 'page',
    'html/sub/file.txt': 'file',
    'html/unreadable.txt': 'secret',
    'html/closed/file.txt': 'secret',
    'html/closed/index.html': 'secret',
    'beside.txt': 'beside',
    'other/deep/file.txt': 'other',
  });
  chmodSync(prefix, 0o755);
  mkdirSync(join(prefix, 'logs'));
  symlinkSync('../beside.txt', join(prefix, 'html/link.txt'));
  symlinkSync('../other', join(prefix, 'html/linked'));
  symlinkSync('link.txt/x', join(prefix, 'html/dangling'));
  symlinkSync('loop', join(prefix, 'html/loop'));
  spawnSync('mkfifo', [join(prefix, 'html/pipe')]);
  chmodSync(join(prefix, 'html/unreadable.txt'), 0);
  chmodSync(join(prefix, 'html/closed'), 0);
  t.teardown(() => chmodSync(join(prefix, 'html/closed'), 0o700));
  writeInto(prefix, 'html/dev/.keep', '');
  symlinkSync('/dev/null', join(prefix, 'html/dev/null'));
  return startSrv(
    t,
    `${USER} events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      ${rules('on', 'disable_symlinks on;')}
      ${rules('owner', 'disable_symlinks if_not_owner;')}
      ${rules('from', 'disable_symlinks on from=%%PREFIX%%/$arg_part;')}
      ${rules('cached', 'disable_symlinks on; open_file_cache max=10;')}
      ${rules('uncached', 'open_file_cache max=10;')}
      location /tried/ { alias html/; disable_symlinks on; try_files $uri =410; }
    } }`,
    { prefix },
  );
}

const site = shared(start);

/** Sends the target as it is. @returns status and body; of an error the status alone */
async function ask(t: ExecutionContext, srv: Srv, target: string): Promise<string> {
  const response = await exchange(t, srv.port('web'), `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  const [, status = '', body = ''] = /^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n([^]*)$/.exec(response) ?? [];
  return status === '200' ? `200 ${body}` : status;
}

type Case = readonly [target: string, result: string];

const PATHS: readonly Case[] = [
  ['/page.html', '200 page'],
  ['/%70age%2ehtml', '200 page'],
  ['/./sub/../page.html', '200 page'],
  ['/sub/%2e%2e/page.html', '200 page'],
  ['/sub/..%2fpage.html', '200 page'],
  ['//page.html', '200 page'],
  ['/../beside.txt', '400'],
  ['/sub/../../beside.txt', '400'],
  ['/%2e%2e/beside.txt', '400'],
  ['/..%2fbeside.txt', '400'],
  ['/%2e%2e%2fbeside.txt', '400'],
  ['/..%5cbeside.txt', '404'],
  ['/..%252fbeside.txt', '404'],
  ['/%00', '400'],
  ['/page.html%00.txt', '400'],
  ['/page.html/', '404'],
  ['/page.html/..', '403'],
  ['/sub', '301'],
  ['/sub/', '403'],
  ['/missing', '404'],
  ['/missing/', '404'],
  ['/unreadable.txt', '403'],
  ['/closed/file.txt', '403'],
  ['/closed/', '403'],
  ['/pipe', '404'],
  ['/dev/null', '404'],
  [`/${'x'.repeat(300)}`, '404'],
];
test('only what is a file below the root is served', async (t) => {
  const srv = await site();
  for (const [target, result] of PATHS) t.is(await ask(t, srv, target), result, target);
});

const LINKS: readonly Case[] = [
  ['/link.txt', '200 beside'],
  ['/linked/deep/file.txt', '200 other'],
  ['/dangling', '404'],
  ['/loop', '403'],
  ['/on/link.txt', '403'],
  ['/on/linked/deep/file.txt', '404'],
  ['/on/linked/', '404'],
  ['/on/linked', '403'],
  ['/on/page.html', '200 page'],
  ['/on/sub/file.txt', '200 file'],
  ['/on/missing', '404'],
  ['/on/sub', '301'],
  ['/on/unreadable.txt', '403'],
  ['/from/linked/deep/file.txt?part=html/linked', '200 other'],
  ['/from/linked/deep/file.txt?part=none', '404'],
  ['/from/link.txt?part=html/linked', '403'],
  // The same files by other rules are other entries of a cache.
  ['/cached/link.txt', '403'],
  ['/cached/page.html', '200 page'],
  ['/cached/page.html', '200 page'],
  ['/uncached/link.txt', '200 beside'],
  ['/cached/link.txt', '403'],
  ['/owner/link.txt', '200 beside'],
  ['/owner/linked/deep/file.txt', '200 other'],
  // Its owner is root.
  ['/owner/dev/null', process.getuid?.() === 0 ? '404' : '403'],
  ['/tried/page.html', '200 page'],
  ['/tried/link.txt', '410'],
];
test('disable_symlinks rejects paths with links', async (t) => {
  const srv = await site();
  for (const [target, result] of LINKS) t.is(await ask(t, srv, target), result, target);
  await srv.waitForLog(/open\(\) ".*html\/link\.txt" failed \(40: Too many levels of symbolic links\)/);
});
