/** `autoindex` and `random_index`: each list is the one of nginx, byte for byte. */
import { mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { connectRaw, get } from '../harness/client.js';
import { startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
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
  'ü'.repeat(20),
  'ü'.repeat(26),
  'ü'.repeat(50),
  `${'ü'.repeat(46)}<ü${'x'.repeat(9)}`,
];

/** A folder with the files, below a folder with other ones. */
function files(t: Scope): string {
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
  location /utf/ { alias ${root}/; charset utf-8; }
  location /rounded/ { alias ${root}/list/; autoindex_exact_size off; autoindex_localtime on; }
  location /xml/ { alias ${root}/; autoindex_format xml; }
  location /json/ { alias ${root}/; autoindex_format json; }
  location /jsonp/ { alias ${root}/; autoindex_format jsonp; }
  location /off/ { alias ${root}/; autoindex off; }
  location /random/ { alias ${root}/; random_index on; }
}`;

const PATHS = [
  '/utf/list/',
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

const site = shared(async (scope): Promise<{ srv: Srv; port: number }> => {
  const port = await freePort(scope);
  return { srv: await startSrv(scope, `events {} http { ${conf(files(scope), port)} }`), port };
});

for (const [what, pattern] of [
  [
    'title and heading',
    /^<html>\r\n<head><title>Index of \/list\/<\/title><\/head>\r\n<body>\r\n<h1>Index of \/list\/<\/h1><hr><pre><a href="\.\.\/">\.\.\/<\/a>\r\n/,
  ],
  ['a link to a folder', /<a href="link-to-folder\/">link-to-folder\/<\/a> {36}\d\d-\w{3}-\d{4} \d\d:\d\d {19}-\r\n/],
  [
    'a name that has to be escaped',
    /<a href="a%26b%3Cc%3E%22d%27e">a&amp;b&lt;c&gt;&quot;d'e<\/a> {41}\d\d-\w{3}-\d{4} \d\d:\d\d {18}10\r\n/,
  ],
  ['folders before files', /sub\/[^]*plain\.txt/],
] as const) {
  test(`a list has ${what}`, async (t) => {
    const { body, headers } = await get((await site()).port, '/list/');
    t.is(headers['content-type'], 'text/html');
    t.regex(body, pattern);
    t.notRegex(body, /hidden/);
  });
}

test('a list in JSON has the sizes of files', async (t) => {
  const list = JSON.parse((await get((await site()).port, '/json/list/')).body) as { name: string; size?: number }[];
  const sized = list.filter(({ size }) => size !== undefined).map(({ name }) => name);
  t.deepEqual(sized.toSorted(), [...NAMES, 'link-to-file', ...SIZES.map((size) => `size-${size}`)].toSorted());
});

for (const [what, method, path, expected] of [
  ['an index is served in place of the list', 'GET', '/indexed/', { status: 200, body: 'the index' }],
  ['a random file', 'GET', '/random/one/', { status: 200, body: 'chosen' }],
  ['without a file to choose from it is the list', 'GET', '/random/none/', { status: 200 }],
  ['a callback that is no name', 'GET', '/jsonp/list/?callback=alert(1)', { status: 400 }],
  ['a folder that does not exist', 'GET', '/nowhere/', { status: 404 }],
  ['another method', 'POST', '/list/', { status: 403 }],
] as const) {
  test(what, async (t) => {
    t.like(await get((await site()).port, path, { method }), expected);
  });
}

test('where there are no lists, a folder is forbidden, and the log says why', async (t) => {
  const { srv, port } = await site();
  t.is((await get(port, '/off/list/')).status, 403);
  await t.notThrowsAsync(srv.waitForLog(/directory index of "\S+\/list\/" is forbidden, client: /));
});

test('HEAD has no list', async (t) => {
  const client = await connectRaw(t, (await site()).port);
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
