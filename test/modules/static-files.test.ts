import { spawnSync } from 'node:child_process';
import { realpathSync, symlinkSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connectRaw, get, type RawConnection } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const FILES = {
  'html/page.html': '<p>page</p>',
  'html/sub/index.html': 'index of sub',
  'html/bare/other.txt': 'other',
  'html/ä b.txt': 'bytes',
  'html/empty.txt': '',
  'html/large.bin': '0123456789'.repeat(100_000),
  'html/sub/NAME.JPG': 'picture',
  'other/name.txt': 'by alias',
  'other/a.jpg': 'picture',
  'deep/x/first.txt': 'first',
};

/** Sunday, 9 September 2001, 01:46:40 GMT. */
const TIME = 1_000_000_000;
const ETAG = '"3b9aca00-b"';
const DATE = 'Sun, 09 Sep 2001 01:46:40 GMT';

async function start(t: Scope, allowCrashes = false): Promise<Srv> {
  const srv = await startSrv(
    t,
    `events {}
    http {
      types { text/html html; image/jpeg jpg; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        add_header X-Root $document_root;
        add_header X-Real $realpath_root;
        add_header X-File $request_filename;
        location /al/ { alias %%PREFIX%%/other/; }
        location ~ ^/re/(.+)$ { alias other/$1; }
        location /deep { root %%PREFIX%%/; index none.txt x/first.txt; }
        location /var/ { root %%PREFIX%%/html/$arg_dir; }
        location /linked/ { alias html/$arg_dir/; }
        location /quiet/ { log_not_found off; }
        location /plain/ { alias html/; etag off; }
        location /before/ { alias html/; if_modified_since before; }
        location /never/ { alias html/; if_modified_since off; }
        location /threads/ { alias html/; aio threads; }
        location /sendfile/ { alias html/; sendfile on; }
        location /untyped/ { alias html/; default_type ""; }
        location /binary/ { alias html/; default_type application/octet-stream; }
        location /own { return 200 own; }
        error_page 410 /page.html;
        location /gone { return 410; }
      }
    }`,
    { files: FILES, allowCrashes },
  );
  utimesSync(join(srv.prefix, 'html/page.html'), TIME, TIME);
  return srv;
}

const site = shared((scope) => start(scope));

test('files below the root are served, with their type, time and tag', async (t) => {
  const srv = await site();
  const page = await get(srv.port('web'), '/page.html');
  t.deepEqual([page.status, page.body], [200, FILES['html/page.html']]);
  const { headers } = page;
  t.deepEqual(
    [headers['content-type'], headers['content-length'], headers['last-modified'], headers.etag],
    ['text/html', '11', DATE, ETAG],
  );
  t.is(headers['x-root'], `${srv.prefix}/html`);
  t.is(headers['x-real'], realpathSync(`${srv.prefix}/html`));
  t.is(headers['x-file'], `${srv.prefix}/html/page.html`);
  symlinkSync(join(srv.prefix, 'other'), join(srv.prefix, 'html/link'));
  t.is((await get(srv.port('web'), '/var/name.txt?dir=link')).status, 404);
  const linked = await get(srv.port('web'), '/linked/name.txt?dir=link');
  t.deepEqual([linked.body, linked.headers['x-real']], ['by alias', realpathSync(`${srv.prefix}/other`)]);
  const head = await get(srv.port('web'), '/page.html', { method: 'HEAD' });
  t.deepEqual([head.status, head.headers['content-length'], head.body], [200, '11', '']);
  const large = await get(srv.port('web'), '/large.bin');
  t.true(large.body === FILES['html/large.bin']);
  t.is(large.headers['content-length'], '1000000');
  const largeHead = await get(srv.port('web'), '/large.bin', { method: 'HEAD' });
  t.deepEqual([largeHead.status, largeHead.headers['content-length']], [200, '1000000']);
});

const RESPONSES: readonly (readonly [path: string, status: number, body: string])[] = [
  ['/empty.txt', 200, ''],
  ['/%C3%A4%20b.txt', 200, 'bytes'],
  ['/sub/', 200, 'index of sub'],
  ['/al/name.txt', 200, 'by alias'],
  ['/re/a.jpg', 200, 'picture'],
  ['/deep/', 200, 'first'],
  ['/var/sub/index.html', 404, ''],
  ['/own', 200, 'own'],
  ['/gone', 410, '<p>page</p>'],
];
test('the file is chosen by root, alias and index', async (t) => {
  const srv = await site();
  for (const [path, status, body] of RESPONSES) {
    const response = await get(srv.port('web'), path);
    t.is(response.status, status, path);
    if (status !== 404) t.is(response.body, body, path);
  }
});

const exactly = (text: string): RegExp => new RegExp(text.replaceAll(/[()[\]]/g, String.raw`\$&`));

test('what is not a file is rejected as nginx does, and logged', async (t) => {
  const srv = await site();
  const root = join(srv.prefix, 'html');
  const moved = await get(srv.port('web'), '/sub?a=b');
  t.deepEqual([moved.status, moved.headers.location], [301, `http://127.0.0.1:${srv.port('web')}/sub/?a=b`]);
  t.is((await get(srv.port('web'), '/bare/')).status, 403);
  await srv.waitForLog(exactly(`directory index of "${root}/bare/" is forbidden`));
  t.is((await get(srv.port('web'), '/missing')).status, 404);
  await srv.waitForLog(exactly(`open() "${root}/missing" failed (2: No such file or directory)`));
  t.is((await get(srv.port('web'), '/page.html/x')).status, 404);
  await srv.waitForLog(exactly(`open() "${root}/page.html/x" failed (20: Not a directory)`));
  t.is((await get(srv.port('web'), '/missing/')).status, 404);
  await srv.waitForLog(exactly(`"${root}/missing/index.html" is not found (2: No such file or directory)`));
  t.is((await get(srv.port('web'), '/quiet/missing')).status, 404);
  t.false(srv.log().includes('quiet/missing" failed'));
  spawnSync('mkfifo', [join(root, 'pipe')]);
  t.is((await get(srv.port('web'), '/pipe')).status, 404);
  await srv.waitForLog(exactly(`"${root}/pipe" is not a regular file`));
  t.is((await get(srv.port('web'), '/page.html', { method: 'POST' })).status, 405);
  t.is((await get(srv.port('web'), '/page.html', { method: 'PUT' })).status, 405);
});

const CONDITIONS: readonly (readonly [what: string, headers: Record<string, string>, status: number, path?: string])[] = [
  ['the same time', { 'If-Modified-Since': DATE }, 304],
  ['the same time in the form of RFC 850', { 'If-Modified-Since': 'Sunday, 09-Sep-01 01:46:40 GMT' }, 304],
  ['the same time in the form of asctime', { 'If-Modified-Since': 'Sun Sep  9 01:46:40 2001' }, 304],
  ['a later time', { 'If-Modified-Since': 'Mon, 10 Sep 2001 01:46:40 GMT' }, 200],
  ['a later time, before', { 'If-Modified-Since': 'Mon, 10 Sep 2001 01:46:40 GMT' }, 304, '/before/page.html'],
  ['an earlier time, before', { 'If-Modified-Since': 'Sat, 08 Sep 2001 01:46:40 GMT' }, 200, '/before/page.html'],
  ['the same time, off', { 'If-Modified-Since': DATE }, 200, '/never/page.html'],
  ['another time and the same tag', { 'If-None-Match': ETAG, 'If-Modified-Since': 'Mon, 10 Sep 2001 01:46:40 GMT' }, 304],
  ['the same tag to match and an earlier time', { 'If-Match': ETAG, 'If-Unmodified-Since': 'Sat, 08 Sep 2001 01:46:40 GMT' }, 200],
  ['no time to compare with', { 'If-Unmodified-Since': 'yesterday' }, 200],
  ['no time', { 'If-Modified-Since': 'yesterday' }, 200],
  ['the same tag', { 'If-None-Match': ETAG }, 304],
  ['the same tag, weak, in a list', { 'If-None-Match': `"x", W/${ETAG}` }, 304],
  ['any tag', { 'If-None-Match': '*' }, 304],
  ['another tag', { 'If-None-Match': '"x"' }, 200],
  ['the same time and another tag', { 'If-None-Match': '"x"', 'If-Modified-Since': DATE }, 200],
  ['no tags', { 'If-None-Match': ETAG }, 200, '/plain/page.html'],
  ['a tag to match', { 'If-Match': ETAG }, 200],
  ['another tag to match', { 'If-Match': '"x"' }, 412],
  ['a weak tag to match', { 'If-Match': `W/${ETAG}` }, 412],
  ['unmodified since then', { 'If-Unmodified-Since': DATE }, 200],
  ['modified since then', { 'If-Unmodified-Since': 'Sat, 08 Sep 2001 01:46:40 GMT' }, 412],
];
test('conditions of a request are compared with the file', async (t) => {
  const srv = await site();
  for (const [what, headers, status, path = '/page.html'] of CONDITIONS) {
    const response = await get(srv.port('web'), path, { headers });
    t.is(response.status, status, what);
    if (status !== 304) continue;
    t.deepEqual([response.body, response.headers['content-type'], response.headers['content-length']], ['', undefined, undefined], what);
    t.is(response.headers['last-modified'], DATE, what);
  }
});

const TYPES: readonly (readonly [path: string, type: string | undefined])[] = [
  ['/page.html', 'text/html'],
  ['/sub/NAME.JPG', 'image/jpeg'],
  ['/empty.txt', 'text/plain'],
  ['/binary/empty.txt', 'application/octet-stream'],
  ['/binary/page.html', 'text/html'],
  ['/untyped/empty.txt', undefined],
];
test('types and default_type give the content type', async (t) => {
  const srv = await site();
  for (const [path, type] of TYPES) t.is((await get(srv.port('web'), path)).headers['content-type'], type, path);
});

test('other threads read with aio threads', async (t) => {
  const srv = await site();
  const large = await get(srv.port('web'), '/threads/large.bin');
  t.true(large.body === FILES['html/large.bin']);
  const range = await get(srv.port('web'), '/threads/large.bin', { headers: { Range: 'bytes=900001-900003' } });
  t.deepEqual([range.status, range.body], [206, '123']);
  t.is((await get(srv.port('web'), '/threads/empty.txt')).status, 200);
});

/** Asks for a file of 50 MB, and reads nothing of it but its beginning. */
async function askSlowly(t: ExecutionContext, srv: Srv, path: string): Promise<RawConnection> {
  const connection = await connectRaw(t, srv.port('web'));
  connection.socket.pause();
  connection.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await waitFor('the beginning', () => connection.socket.readableLength > 0);
  return connection;
}

test('a file that grows while it is sent is sent as long as it was', async (t) => {
  const srv = await start(t);
  const path = join(srv.prefix, 'html/large.bin');
  truncateSync(path, 50_000_000);
  const connection = await askSlowly(t, srv, '/large.bin');
  truncateSync(path, 60_000_000);
  connection.socket.resume();
  const received = await connection.receiveAll();
  t.is(received.length - received.indexOf('\r\n\r\n') - 4, 50_000_000);
});

for (const path of ['/large.bin', '/threads/large.bin', '/sendfile/large.bin']) {
  test(`a file that shrinks while it is sent cuts the response off: ${path}`, async (t) => {
    // That is an alert in the log, as with nginx.
    const srv = await start(t, true);
    const file = join(srv.prefix, 'html/large.bin');
    truncateSync(file, 50_000_000);
    const connection = await askSlowly(t, srv, path);
    truncateSync(file, 1_000);
    connection.socket.resume();
    const received = await connection.receiveAll();
    t.regex(received, /Content-Length: 50000000\r\n/);
    t.true(received.length < 50_000_000);
    await srv.waitForLog(/\[alert\].*pread\(\) read only 0 of \d+ bytes at \d+ from ".*large\.bin".*GET .*\/large\.bin/);
  });
}
