/** `autoindex` and `random_index`: each list is the one of nginx, byte for byte. */
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const SIZES = [
  0, 1, 9999, 10_000, 10_239, 10_240, 10_752, 1_048_575, 1_048_576, 1_572_863, 1_572_864, 1_073_741_823, 1_073_741_824, 5_000_000_000,
];
const NAMES = [
  'plain.txt',
  'two words',
  `a&b<c>"d'e`,
  'q?a#b%c:d;e+f=g@h!i$j(k)l*m,n[o]p{q}r|s~t^u`v',
  'tab\tline\nreturn\rbell\x07back\bfeed\fdel\x7f',
  'back\\slash',
  'ünï',
  'x'.repeat(49),
  'x'.repeat(50),
  'x'.repeat(51),
  '&'.repeat(60),
];

/** A folder with the files, below a folder with other ones. */
function files(t: ExecutionContext): string {
  const root = tempFolder(t, { 'indexed/index.html': 'the index', 'one/only.txt': 'chosen', 'none/sub/x': '' });
  const folder = join(root, 'list');
  mkdirSync(join(folder, 'sub'), { recursive: true });
  mkdirSync(join(folder, 'Sub & "co"'));
  mkdirSync(join(folder, `long${'y'.repeat(60)}`));
  mkdirSync(join(root, 'empty'));
  for (const name of NAMES) writeFileSync(join(folder, name), name);
  writeFileSync(join(folder, '.hidden'), '');
  for (const size of SIZES) {
    writeFileSync(join(folder, `size-${size}`), '');
    truncateSync(join(folder, `size-${size}`), size);
  }
  symlinkSync('sub', join(folder, 'link-to-folder'));
  symlinkSync('plain.txt', join(folder, 'link-to-file'));
  for (const name of [...NAMES, 'sub', 'Sub & "co"', ...SIZES.map((size) => `size-${size}`)])
    utimesSync(join(folder, name), 1_577_934_245, 1_577_934_245 + name.length * 86_400 * 40);
  return root;
}

const conf = (root: string, port: number): string => `server {
  listen 127.0.0.1:${port};
  root ${root};
  autoindex on;
  location / { }
  location /rounded/ { alias ${root}/list/; autoindex_exact_size off; autoindex_localtime on; }
  location /xml/ { alias ${root}/; autoindex_format xml; }
  location /json/ { alias ${root}/; autoindex_format json; }
  location /jsonp/ { alias ${root}/; autoindex_format jsonp; }
  location /off/ { alias ${root}/; autoindex off; }
  location /random/ { alias ${root}/; random_index on; }
}`;

const PATHS = [
  '/list/',
  '/empty/',
  '/list/Sub%20&%20%22co%22/',
  '/indexed/',
  '/rounded/',
  '/xml/list/',
  '/xml/empty/',
  '/json/list/',
  '/json/list/?callback=x',
  '/json/empty/',
  '/jsonp/list/?callback=my.fun_1',
  '/jsonp/empty/?callback=f',
  '/jsonp/list/',
  '/jsonp/empty/?callback=',
];

test('lists of folders', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(t, `events {} http { ${conf(files(t), port)} }`);
  const html = await get(port, '/list/');
  t.is(html.headers['content-type'], 'text/html');
  t.regex(
    html.body,
    /^<html>\r\n<head><title>Index of \/list\/<\/title><\/head>\r\n<body>\r\n<h1>Index of \/list\/<\/h1><hr><pre><a href="\.\.\/">\.\.\/<\/a>\r\n/,
  );
  t.regex(html.body, /<a href="link-to-folder\/">link-to-folder\/<\/a> {36}\d\d-\w{3}-\d{4} \d\d:\d\d {19}-\r\n/);
  t.regex(html.body, /<a href="a%26b%3Cc%3E%22d%27e">a&amp;b&lt;c&gt;&quot;d'e<\/a> {41}\d\d-\w{3}-\d{4} \d\d:\d\d {18}10\r\n/);
  t.true(html.body.indexOf('sub/') < html.body.indexOf('plain.txt'), 'folders come first');
  t.notRegex(html.body, /hidden/);
  const list = JSON.parse((await get(port, '/json/list/')).body) as { name: string; size?: number }[];
  const sized = list.filter(({ size }) => size !== undefined).map(({ name }) => name);
  t.deepEqual(sized.toSorted(), [...NAMES, 'link-to-file', ...SIZES.map((size) => `size-${size}`)].toSorted());
  t.is((await get(port, '/indexed/')).body, 'the index');
  t.is((await get(port, '/random/one/')).body, 'chosen');
  t.is((await get(port, '/random/none/')).status, 200, 'without files, the list');
  t.is((await get(port, '/jsonp/list/?callback=alert(1)')).status, 400);
  t.is((await get(port, '/nowhere/')).status, 404);
  t.is((await get(port, '/list/', { method: 'POST' })).status, 403);
  t.is((await get(port, '/off/list/')).status, 403);
  await srv.waitForLog(/directory index of "\S+\/list\/" is forbidden, client: /);
  const client = await connectRaw(t, port);
  client.send('HEAD /list/ HTTP/1.1\r\nHost: a\r\n\r\nGET /one/only.txt HTTP/1.1\r\nHost: a\r\n\r\n');
  await client.receive(/chosen$/);
  t.notRegex(client.received, /<html>/);
});

test('a file comes from each random choice', async (t) => {
  const port = await freePort(t);
  const root = tempFolder(t, { 'a.txt': 'a', 'b.txt': 'b', '.c': 'c', 'd/e': '' });
  await startSrv(t, `events {} http { ${conf(root, port)} }`);
  const seen = new Set<string>();
  await waitFor('both files', async () => seen.add((await get(port, '/random/')).body).size === 2);
  t.deepEqual([...seen].toSorted(), ['a', 'b']);
});

testWith('nginx')('nginx sends the same lists, byte for byte', async (t) => {
  const [port, nginx] = [await freePort(t), await freePort(t)];
  const root = files(t);
  await startSrv(t, `events {} http { ${conf(root, port)} }`);
  await startNginx(t, conf(root, nginx));
  for (const path of PATHS) {
    const [ours, theirs] = [await get(port, path), await get(nginx, path)];
    t.is(ours.body, theirs.body, path);
    t.is(ours.headers['content-type'], theirs.headers['content-type'], path);
  }
  for (const path of [
    '/jsonp/list/?callback=a-b',
    '/jsonp/list/?callback=a%41',
    '/nowhere/',
    '/list/plain.txt/',
    '/off/list/',
    '/random/none/',
    '/random/one/',
  ]) {
    t.is((await get(port, path)).status, (await get(nginx, path)).status, path);
  }
});
