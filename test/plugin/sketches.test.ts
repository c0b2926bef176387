/** The modules in docs/modules.md and docs/module-recipes.md, built and used. */
import { execFile } from 'node:child_process';
import type { OutgoingHttpHeaders } from 'node:http';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import type { Scope } from '../../core/contract/http.js';
import { FakeLog } from '../../testing/log.js';
import { fakeScope } from '../../testing/scope.js';
import { FakeServerInfo } from '../../testing/server-info.js';
import { FakeTasks } from '../../testing/tasks.js';
import { FakeZones } from '../../testing/zones.js';
import { httpBackend } from '../harness/backends.js';
import { connectRaw, exchange, get, json, type HttpResponse, type JsonResponse, type RequestOptions } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { memcached } from './memcached.js';
import { ROOT, TEMPLATE } from './readme.js';

const run = promisify(execFile);

/** Name and source of the files on the pages. */
function sketches(): readonly (readonly [path: string, source: string])[] {
  const page = ['docs/modules.md', 'docs/module-recipes.md'].map((file) => readFileSync(join(ROOT, file), 'utf8')).join('\n');
  return [...page.matchAll(/^```ts\n\/\/ (?<path>\S+)\n(?<source>[^]*?)^```/gm)].map(
    ({ groups }) => [groups?.['path'] ?? '', groups?.['source'] ?? ''] as const,
  );
}

/** Builds the sketches in a folder like that of the template, once for all tests: their JavaScript by path. */
const build = shared(async (scope): Promise<Readonly<Record<string, string>>> => {
  const folder = tempFolder(scope, Object.fromEntries(sketches()));
  for (const file of ['package.json', 'tsconfig.json']) copyFileSync(join(TEMPLATE, file), join(folder, file));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/srv'));
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder, '--checkers', '1']).catch((error: { stdout: string }) => {
    throw new Error(error.stdout);
  });
  const built = sketches().map(([path]) => path.replace(/\.mts$/, '.mjs'));
  return Object.fromEntries(built.map((path) => [path, readFileSync(join(folder, 'dist', path), 'utf8')]));
});

const DATA = `
  load_module modules/acme_http_maintenance_module.mjs;
  load_module modules/acme_http_client_kind_module.mjs;
  load_module modules/acme_http_drain_module.mjs;
  load_module modules/acme_http_greeting_module.mjs;
  load_module modules/acme_http_visits_module.mjs;
  load_module modules/acme_http_hits_module.mjs;
  load_module modules/acme_http_trap_module.mjs;
  load_module modules/acme_http_two_choices_module.mjs;
  load_module modules/acme_http_probe_module.mjs;
  load_module modules/acme_http_cached_module.mjs;
  load_module modules/acme_stream_knock_module.mjs;
  load_module modules/acme_stream_gate_module.mjs;
  helper broker modules/srv_helper_broker_module.js conf/broker.conf;
  helper ctrl modules/srv_helper_ctrl_module.js conf/ctrl.conf;
  worker_processes 2;
  error_log logs/error.log notice;
  events {}
  stream {
    server { listen 127.0.0.1:%%PORT_knock%%; knock sesame; return "knocked: $knocked"; }
    server { listen 127.0.0.1:%%PORT_gate%%; gate 127.0.0.1:%%PORT_knock%% word=please; }
  }
  http {
    visits $binary_remote_addr zone=visits:1m;
    log_format lengths "$request_uri $status $upstream_response_length";
    upstream probed { zone probed 64k; probe 50ms; server 127.0.0.1:%%PORT_probed%% max_fails=0; server 127.0.0.1:%%PORT_one%% down; }
    upstream stored { server 127.0.0.1:%%PORT_unused%%; server 127.0.0.1:%%PORT_values%%; keepalive 2; }
    upstream pair { two_choices; server 127.0.0.1:%%PORT_one%%; server 127.0.0.1:%%PORT_two%%; }
    upstream shop { zone shop 64k; server 127.0.0.1:%%PORT_one%% weight=2; server 127.0.0.1:%%PORT_two%%; }
    server {
      listen 127.0.0.1:%%PORT_web%%;
      location / { return 200 $client_kind; }
      location /pair { add_header X-Visits $visits; proxy_pass http://pair; }
      location /trap { trap on; proxy_pass http://pair; }
      location /probed { proxy_pass http://probed; }
      location /values {
        access_log logs/values.log lengths;
        cached_type text/x-value;
        cached_pass stored;
        cached_intercept_errors on;
        error_page 404 = /missed;
        add_header X-Members "$upstream_addr $upstream_status";
      }
      location /missed { return 200 missed; }
      location /shop { maintenance closed retry=10m; proxy_pass http://shop; }
    }
    server { listen 127.0.0.1:%%PORT_one%%; listen 127.0.0.1:%%PORT_two%%; location / { return 200 "shop"; } }
  }`;
const CONTROL = `
  load_module modules/srv_http_sendmsg_module.js;
  load_module modules/acme_http_drain_module.mjs;
  load_module modules/acme_http_greeting_module.mjs;
  load_module modules/srv_http_config_api_module.js;
  events {}
  http { server { listen 127.0.0.1:%%PORT_ctrl%%; location /api { dyn_module_api; } } }`;

/** A server with all the sketches loaded, and its API up. */
const sketched = shared(async (scope): Promise<Srv> => {
  const files = { 'conf/broker.conf': '', 'conf/ctrl.conf': CONTROL, ...(await build()) };
  const srv = await startSrv(scope, DATA, { files });
  await waitFor('the API', () =>
    json(srv.port('ctrl'), 'GET', '/api/v1/openapi.json').then(
      ({ status }) => status === 200,
      () => false,
    ),
  );
  return srv;
});

const sketch = async (path: string, headers: OutgoingHttpHeaders = {}, options: RequestOptions = {}): Promise<HttpResponse> =>
  get((await sketched()).port('web'), path, { headers, ...options });
const api = async (method: string, path: string, body?: unknown): Promise<JsonResponse> =>
  json((await sketched()).port('ctrl'), method, `/api/v1${path}`, body);

test.serial('the sketches do what the page says: a variable', async (t) => {
  t.is((await sketch('/', { 'user-agent': 'Examplebot/1.0' })).body, 'robot');
  t.is((await sketch('/')).body, 'person');
});

test.serial('the sketches do what the page says: visits are counted over all workers, whichever member responds', async (t) => {
  const before = Number((await sketch('/pair')).headers['x-visits']);
  for (let more = 1; more <= 5; more++) t.like(await sketch('/pair'), { body: 'shop', headers: { 'x-visits': String(before + more) } });
});

test.serial('the sketches do what the page says: members that accept no connection get no requests', async (t) => {
  const srv = await sketched();
  const isLeftOut = (): Promise<boolean> =>
    waitFor('a request that is sent to no member', async () => {
      const before = srv.log().length;
      return (await sketch('/probed')).status === 502 && srv.log().slice(before).includes('no live upstreams');
    });
  t.true(await isLeftOut());
  const backend = await httpBackend(t, (_, response) => response.end('probed'), srv.port('probed'));
  t.true(await waitFor('the member', async () => (await sketch('/probed')).body === 'probed'));
  await srv.configure(DATA.replace('probe 50ms', 'probe 40ms'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await backend.close();
  t.true(await isLeftOut(), 'a checker that has taken over is at work');
});

test.serial('the sketches do what the page says: another protocol with members, with repeats, kept connections and accounts', async (t) => {
  const large = 'x'.repeat(300_000);
  const values = new Map([
    ['/values/a', 'first'],
    ['/values/large', large],
    ['/values/slow', 'slow'],
  ]);
  const backend = await memcached(t, values, (await sketched()).port('values'));
  const first = await sketch('/values/a');
  t.like(first, { body: 'first', headers: { 'content-type': 'text/x-value' } });
  t.regex(String(first.headers['x-members']), /(?:^|, )(?:502, )?127\.0\.0\.1:\d+ (?:502, )?200$/);
  t.is((await sketch('/values/large')).body, large);
  t.is((await sketch('/values/slow')).body, 'slow', 'byte by byte');
  t.is((await sketch('/values/none')).body, 'missed');
  t.like(await sketch('/values/a', {}, { method: 'HEAD' }), { body: '', headers: { 'content-length': '5' } });
  t.is((await sketch('/values/new', {}, { method: 'PUT', body: large })).status, 201);
  t.is((await sketch('/values/new')).body, large);
  t.is((await sketch('/values/new', {}, { method: 'DELETE' })).status, 405);
  // Of values that come in pieces the end may still be on its way. These come whole: one for each worker at most, whatever was missed.
  const { connections } = backend;
  for (const path of ['/values/a', '/values/none', '/values/a', '/values/none', '/values/a', '/values/a'])
    t.regex((await sketch(path)).body, /^(?:first|missed)$/);
  t.true(backend.connections <= connections + 2);
  t.is((await sketch('/values/broken')).status, 502);
  const srv = await sketched();
  await srv.waitForLog(/upstream sent invalid response, .*upstream: "memcached:/);
  await srv.waitForLog(/broken 502/, 'logs/values.log');
  const lengths = srv.read('logs/values.log');
  for (const [line, length] of [
    ['a 200', 5],
    ['large 200', 300_000],
    ['slow 200', 4],
    ['new 200', 300_000],
    ['broken 502', 0],
  ] as const)
    t.regex(lengths, new RegExp(`^/values/${line} (0, )?${length}$`, 'm'));
});

test.serial('the recipes do what the page says: who asks for the trap is blocked by every worker', async (t) => {
  const port = (await sketched()).port('web');
  const asked = (path: string): Promise<HttpResponse> => get(port, path, { localAddress: '127.0.0.9' });
  t.is((await asked('/pair')).status, 200);
  t.is((await asked('/trap')).body, 'shop');
  await waitFor('both workers', async () => {
    const responses = await Promise.all(Array.from({ length: 8 }, () => asked('/pair')));
    return responses.every(({ status }) => status === 403);
  });
  t.is((await sketch('/pair')).status, 200);
});

test.serial('the sketches do what the page says: a session begins with a word', async (t) => {
  const port = (await sketched()).port('knock');
  const [friend, stranger] = [await connectRaw(t, port), await connectRaw(t, port)];
  friend.send('ses');
  stranger.send('sir');
  t.is(await stranger.receiveAll(), '');
  friend.send('ame');
  t.is(await friend.receiveAll(), 'knocked: yes');
});

test.serial('the recipes do what the page says: a client speaks with the module, and then with a member', async (t) => {
  const srv = await sketched();
  const client = await connectRaw(t, srv.port('gate'));
  client.send('PI');
  await client.receive(/^READY\r\n$/);
  client.send('NG\r\nPING\r\nAUTH please\r\nsesame');
  t.is(await client.receiveAll(), 'READY\r\nPONG\r\nPONG\r\nknocked: yes');
  t.is(await exchange(t, srv.port('gate'), 'AUTH no\r\n'), 'READY\r\nERROR\r\n');
});

test.serial('the sketches do what the page says: a key closes the site', async (t) => {
  t.is((await sketch('/shop')).status, 200);
  await api('POST', '/kv', { key: 'closed', value: 'on' });
  t.like(await sketch('/shop'), { status: 503, headers: { 'retry-after': '600' } });
  await api('DELETE', '/kv?key=closed');
  t.is((await sketch('/shop')).status, 200);
});

test.serial('the sketches do what the page says: a route that takes members out of service', async (t) => {
  t.like((await api('POST', '/acme_drain?dry_run=1', { upstream: 'shop' })).json, { dry_run: true });
  t.is((await sketch('/shop')).status, 200);
  t.deepEqual((await api('POST', '/acme_drain', { upstream: 'shop' })).json, { drained: 2 });
  t.is((await sketch('/shop')).status, 502, 'no member is left');
});

test.serial('the sketches do what the page says: what the schemas of a route do not allow is rejected', async (t) => {
  t.is((await api('POST', '/acme_drain', { upstream: 'none' })).status, 404);
  t.is((await api('POST', '/acme_drain', { upstream: 1 })).status, 400);
  t.regex((await api('GET', '/openapi.json')).body, /"\/v1\/acme_drain"/);
});

const RECIPES = `
  load_module modules/acme_http_html_note_module.mjs;
  load_module modules/acme_http_keys_module.mjs;
  load_module modules/acme_http_clock_module.mjs;
  load_module modules/acme_http_numbers_module.mjs;
  load_module modules/acme_http_sessions_module.mjs;
  load_module modules/acme_http_session_user_module.mjs;
  load_module modules/acme_http_visits_module.mjs;
  load_module modules/acme_http_two_choices_module.mjs;
  error_log logs/error.log notice;
  worker_processes 2;
  events {}
  http {
    visits $binary_remote_addr zone=visits:1m;
    upstream two { zone two 64k; two_choices; server 127.0.0.1:%%PORT_back%%; server 127.0.0.1:%%PORT_next%%; }
    server {
      listen 127.0.0.1:%%PORT_web%%;
      html_note "<!-- note -->";
      location /page { proxy_pass http://127.0.0.1:%%PORT_back%%; }
      location /text { default_type text/plain; return 200 "text"; }
      location /keys { api_keys keys.txt; proxy_pass http://127.0.0.1:%%PORT_back%%; }
      location /file { root %%PREFIX%%; }
      location /part { proxy_set_header Range bytes=0-2; proxy_pass http://127.0.0.1:%%PORT_back%%/file/page.html; }
      location /clock { clock 20ms; }
      location /numbers { numbers 1000; }
      location /two { proxy_pass http://two; }
      location /user { return 200 "$session_user"; }
      location /visits { add_header X-Visits $visits; proxy_pass http://127.0.0.1:%%PORT_back%%; }
    }
    server { listen 127.0.0.1:%%PORT_next%%; location / { return 200 "next"; } }
    server { listen 127.0.0.1:%%PORT_back%%; location /file { root %%PREFIX%%; } location / { default_type text/html; return 200 "<p>page</p>"; } }
  }`;

const recipes = shared(async (scope): Promise<Srv> => {
  const files = { ...(await build()), 'conf/keys.txt': 'one\ntwo\n', 'file/page.html': '<p>file</p>' };
  return startSrv(scope, RECIPES, { files });
});

const recipe = async (path: string, headers: OutgoingHttpHeaders = {}): Promise<HttpResponse> =>
  get((await recipes()).port('web'), path, { headers });
const keyed = (key: string): Promise<HttpResponse> => recipe('/keys', { 'x-api-key': key });

for (const [what, path, headers, expected] of [
  ['a note in a page', '/page', {}, { body: '<p>page</p><!-- note -->', headers: { 'content-length': '24' } }],
  ['other types are left alone', '/text', {}, { body: 'text' }],
  [
    'a file is sent whole, as its ranges are those of the file',
    '/file/page.html',
    { range: 'bytes=0-3' },
    { status: 200, body: '<p>file</p><!-- note -->', headers: { etag: undefined, 'last-modified': undefined } },
  ],
  ['a part of a page of a member is left alone', '/part', {}, { body: '<p>' }],
  ['the end of a source', '/numbers', { range: 'bytes=-3' }, { status: 206, body: '99\n' }],
  ['a service of another module', '/user', { cookie: 'session=5e55' }, { body: 'ada' }],
  ['a service that knows nothing of it', '/user', {}, { body: '' }],
] as const) {
  test.serial(`the recipes do what the page says: ${what}`, async (t) => {
    t.like(await recipe(path, headers), expected);
  });
}

test.serial('the recipes do what the page says: a source of its own', async (t) => {
  const { body } = await recipe('/numbers');
  t.is(body.length, 8000);
  t.true(body.endsWith('0000998\n0000999\n'));
});

test.serial('the recipes do what the page says: keys of a file that a reload changes', async (t) => {
  const srv = await recipes();
  t.is((await keyed('two')).status, 200);
  t.like(await recipe('/keys'), { status: 401, body: 'X-Api-Key is missing or unknown\n' });
  writeInto(srv.prefix, 'conf/keys.txt', 'two\nth ree\nf our\n');
  srv.signal('SIGHUP');
  await srv.waitForLog(/a key must not contain spaces in .*keys\.txt:2/);
  t.regex(srv.log(), /a key must not contain spaces in .*keys\.txt:3/);
  t.is((await keyed('one')).status, 200, 'the keys in force stay');
  writeInto(srv.prefix, 'conf/keys.txt', 'two\nthree\nschlüssel\n');
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.deepEqual([(await keyed('one')).status, (await keyed('three')).status], [401, 200]);
  t.is((await keyed(Buffer.from('schlüssel').toString('latin1'))).status, 200);
});

test.serial('the recipes do what the page says: both members of two choices', async (t) => {
  const members = await Promise.all(Array.from({ length: 40 }, () => recipe('/two').then(({ body }) => body)));
  t.is(new Set(members).size, 2);
});

test.serial('the recipes do what the page says: every request has a number of its own, whatever worker it came to', async (t) => {
  const counts = await Promise.all(Array.from({ length: 5 }, () => recipe('/visits').then(({ headers }) => Number(headers['x-visits']))));
  t.is(new Set(counts).size, 5);
});

/** Ends its worker soon after a request with the field `X-Crash` was sent to a member. */
const CRASHING = plugin('crashing', {
  manifest: '',
  body: `compile() {
    return { memberAttempt: (request, attempt, event) => {
      if (event === 'connected' && request.header('x-crash') !== undefined) setTimeout(() => process.exit(1), 500);
    } };
  }`,
});

/** The module of the recipe under another name, with room for a few hundred pages. */
function withLittleMemory(source: string): string {
  return source.replaceAll('_once', '_little').replaceAll("'pages'", "'little'").replace('1_048_576', '32_768');
}

test('the recipes do what the page says: one fetch for all workers, also if the worker that fetches dies', async (t) => {
  const large = 'x'.repeat(200_000);
  const backend = await httpBackend(t, ({ url, headers }, response) => {
    if (url === '/missing') response.statusCode = 404;
    response.setHeader('Content-Type', 'text/plain');
    // The worker that sends this one dies before a response.
    if (headers['x-crash'] === undefined) setTimeout(() => response.end(`${url} ${backend.requests.length} ${large}`), 100);
  });
  const small = await httpBackend(t, (_, response) => response.end('small'));
  const built = await build();
  const little = withLittleMemory(built['modules/acme_http_once_module.mjs'] ?? '');
  const srv = await startSrv(
    t,
    `load_module modules/acme_http_once_module.mjs; load_module modules/acme_http_little_module.mjs; load_module modules/crashing.js;
    worker_processes 2; error_log logs/error.log notice; events {}
    http { server {
      listen 127.0.0.1:%%PORT_web%%;
      location / { fetch_once 60s; proxy_pass http://127.0.0.1:${backend.port}; }
      location /little/ { fetch_little 60s; proxy_pass http://127.0.0.1:${small.port}; }
    } }`,
    {
      files: { ...built, 'modules/acme_http_little_module.mjs': little, 'modules/crashing.js': CRASHING },
      allowCrashes: true,
    },
  );
  const ask = (path: string): Promise<HttpResponse> => get(srv.port('web'), path, { timeoutMs: 60_000 });
  const beginnings = (bodies: readonly string[]): readonly string[] => {
    t.true(bodies.every((body) => body.endsWith(` ${large}`)));
    return [...new Set(bodies.map((body) => body.slice(0, -large.length - 1)))];
  };
  const fetches = (url: string): number => backend.requests.filter((request) => request.url === url).length;
  const all = async (path: string): Promise<readonly string[]> => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => ask(path)));
    for (const { headers } of responses) t.is(headers['content-type'], 'text/plain');
    return beginnings(responses.map(({ body }) => body));
  };
  t.deepEqual(await all('/page'), ['/page 1']);
  t.deepEqual(await all('/page'), ['/page 1']);
  t.is(fetches('/page'), 1);
  await Promise.all([ask('/missing'), ask('/missing')]);
  t.is(fetches('/missing'), 2, 'what is not stored is fetched by each');

  const files = (): readonly string[] => readdirSync(join(srv.prefix, 'little'));
  for (let page = 0; page < 400; page += 20) {
    const pages = await Promise.all(Array.from({ length: 20 }, (_, at) => ask(`/little/${page + at}`)));
    t.true(pages.every(({ body }) => body === 'small'));
  }
  t.is(small.requests.length, 400);
  await ask('/little/399');
  t.is(small.requests.length, 400, 'the last one is stored, and pages that were used longest ago are not');
  await waitFor('the files of dropped pages to be removed', () => files().length < 300);

  const first = await connectRaw(t, srv.port('web'));
  first.send(`GET /dying HTTP/1.1\r\nHost: 127.0.0.1:${srv.port('web')}\r\nX-Crash: yes\r\n\r\n`);
  await waitFor('the fetch', () => fetches('/dying') === 1);
  // Those of the same worker end with it.
  const waiting = await Promise.allSettled(Array.from({ length: 20 }, () => ask('/dying')));
  t.true(first.closed);
  const bodies = waiting.flatMap((result) => (result.status === 'fulfilled' ? [result.value.body] : []));
  t.deepEqual(beginnings(bodies), ['/dying 5']);
  t.is(fetches('/dying'), 2);
});

interface Once {
  compile(scope: Scope): void;
  start(role: string): Promise<void>;
}

test('the recipes do what the page says: files without a page are removed', async (t) => {
  const folder = tempFolder(t, await build());
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/srv'));
  const path = join(folder, 'modules/acme_http_once_module.mjs');
  const { FetchOnce } = (await import(path)) as { FetchOnce: new (...services: object[]) => Once };
  const [zones, tasks] = [new FakeZones(), new FakeTasks()];
  const once = new FetchOnce(zones, tasks, new FakeLog(), new FakeServerInfo({ prefix: folder, role: 'master' }));
  once.compile(fakeScope(FetchOnce, { fetch_once: 10_000 }));
  await once.start('master');
  for (const name of ['old', 'new']) writeInto(folder, `pages/${name}`, 'page');
  utimesSync(join(folder, 'pages/old'), 0, 0);
  await tasks.pass(60_000);
  t.deepEqual(readdirSync(join(folder, 'pages')), ['new']);
});

test.serial('the recipes do what the page says: a stream of events has an end when the server has', async (t) => {
  const srv = await recipes();
  const clock = await connectRaw(t, srv.port('web'));
  clock.send('GET /clock HTTP/1.1\r\nHost: a\r\n\r\n');
  t.regex((await clock.receive(/(data: \d{4}-[^]*){3}/)).input, /\r\nContent-Type: text\/event-stream\r\n/);
  t.is((await srv.stop('SIGQUIT')).code, 0);
  t.regex(await clock.receiveAll(), /\r\n0\r\n\r\n$/);
});
