import { existsSync } from 'node:fs';
import test from 'ava';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { errorOf } from './api-client.js';
import { sharedNode, startNode, type Node } from './node.js';

const MODULES = 'load_module modules/srv_http_location_module.so;';
const API = 'load_module modules/srv_http_location_api_module.so;';
const SERVERS = ['add', 'nested', 'body', 'patch', 'static', 'list', 'twice', 'version', 'dry']
  .map(
    (name) => `server { listen 127.0.0.1:%%PORT_web%%; server_name ${name}.example www.${name}.example; location / { return 200 "old"; } }`,
  )
  .join('\n');
const shared = sharedNode({ main: MODULES, controlMain: API, http: SERVERS, server: 'return 204;' });

/** Calls of the location API for one server, and requests to it. */
class Site {
  constructor(
    readonly node: Node,
    readonly name: string,
  ) {}

  get place() {
    return { addr_port: `127.0.0.1:${this.node.srv.port('web')}`, server_name: `${this.name}.example` };
  }

  call(method: string, fields: object, query = '', headers: Readonly<Record<string, string>> = {}) {
    return this.node.call(method, `/dyn_loc${query}`, { ...this.place, ...fields }, headers);
  }

  add(...locations: readonly object[]) {
    return this.call('POST', { type: 'add', locations });
  }

  async list(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { addr_port: address, server_name: name } = this.place;
    return (await this.node.call('GET', `/dyn_loc?addr_port=${address}&server_name=${name}`)).json as never;
  }

  async body(path: string): Promise<string> {
    return (await get(this.node.srv.port('web'), path, { headers: { host: `${this.name}.example` } })).body;
  }
}

const site = async (name: string): Promise<Site> => new Site(await shared(), name);

test('a location is added, serves in every worker, and is removed', async (t) => {
  const add = await site('add');
  const added = await add.add(
    { location_rule: '^~', location_name: '/img', location_body: 'add_header X-Kind image; return 200 "img"' },
    { location_rule: '~*', location_name: String.raw`\.(php|cgi){1}$`, location_body: 'return 200 "script";' },
    { location_rule: '=', location_name: '/exact; }', location_body: 'return 200 "exact"' },
  );
  t.is(added.status, 200, added.body);
  t.deepEqual(added.json, { code: 0, msg: 'success.' });
  for (let n = 0; n < 8; n++) t.is(await add.body('/img/x.php'), 'img');
  t.is(await add.body('/x.PHP'), 'script');
  t.is(await add.body('/exact;%20}'), 'exact');
  t.is(await add.body('/else'), 'old');
  const removed = await add.call('PUT', { type: 'del', location_rule: '^~', location_name: '/img' });
  t.is(removed.status, 200, removed.body);
  for (let n = 0; n < 8; n++) t.is(await add.body('/img/x.php'), 'script');
});

test('proxy_pass has a field of its own; locations may be nested, and changed in their place', async (t) => {
  const nested = await site('nested');
  const port = nested.node.srv.port('web');
  const inner = { location_rule: '=', location_name: '/a/b', location_body: 'return 200 "inner"' };
  const outer = {
    location_rule: '',
    location_name: '/a',
    location_body: 'proxy_set_header Host www.list.example',
    proxy_pass: `http://127.0.0.1:${port}/`,
  };
  t.is((await nested.add({ ...outer, locations: [inner] })).status, 200);
  t.is(await nested.body('/a/b'), 'inner');
  t.is(await nested.body('/a/c'), 'old');
  const within = [{ location_rule: '', location_name: '/a' }];
  t.is(
    (await nested.call('POST', { within, locations: [{ ...inner, location_name: '/a/d', location_body: 'return 200 "d"' }] })).status,
    200,
  );
  t.is(await nested.body('/a/d'), 'd');
  t.is((await nested.call('PATCH', { within, ...inner, location_body: 'return 200 "changed"' })).status, 200);
  t.is(await nested.body('/a/b'), 'changed');
  t.is((await nested.call('PUT', { type: 'del', within, location_rule: '=', location_name: '/a/b' })).status, 200);
  t.is(await nested.body('/a/b'), 'old');
});

/** Bodies that are rejected, and what is said of them. */
const REFUSED: readonly (readonly [what: string, body: string, message: RegExp, place?: object])[] = [
  ['the end of its block', 'return 200; } location /evil { return 200', /unexpected "\}"/, { line: 1, column: 13 }],
  ['a block of another level', 'server { listen 1; }', /"server" directive is not allowed here/, { line: 1, column: 1 }],
  ['a module', 'load_module modules/x.so;', /"load_module" directive is not allowed here/, { line: 1 }],
  ['a file to include', 'include /etc/passwd;', /"include"/, { line: 1 }],
  ['an unknown directive', 'return 200;\n  no_such on;', /unknown directive "no_such"/, { line: 2, column: 3 }],
  ['a zone', 'limit_req_zone $uri zone=a:1m rate=1r/s;', /not allowed here/, { line: 1 }],
  ['a file that is missing', 'proxy_pass https://127.0.0.1:1; proxy_ssl_verify on; proxy_ssl_trusted_certificate no.pem;', /no\.pem/],
  ['an open quote', 'return 200 "a', /unexpected end|quote/],
  ['an open block', 'if ($uri) { return 200;', /unexpected end/],
];

for (const [what, location_body, message, place] of REFUSED) {
  test(`a body is rejected: ${what}`, async (t) => {
    const refused = await (await site('body')).add({ location_rule: '', location_name: '/x', location_body });
    t.is(`${refused.status} ${errorOf(refused).code}`, '400 ConfigError', refused.body);
    const [detail] = errorOf(refused).details;
    t.regex(detail?.message ?? '', message);
    t.like(detail, { pointer: '/locations/0/location_body', ...place });
    t.notRegex(refused.body, /srv-test-/);
    t.is(await (await site('body')).body('/x'), 'old');
  });
}

test('errors in fields other than a body name the field', async (t) => {
  const body = await site('body');
  const nested = {
    location_rule: '',
    location_name: '/2',
    locations: [{ location_rule: '~', location_name: '/2/[', proxy_pass: 'http://a' }],
  };
  for (const [location, pointer, message] of [
    [{ location_rule: '', location_name: '/1', proxy_pass: 'ftp://a' }, '/locations/1/proxy_pass', /^invalid URL prefix$/],
    [{ location_rule: '', location_name: '/1', proxy_pass: 'http://127.0.0.1:99999' }, '/locations/1/proxy_pass', /^invalid port/],
    [{ location_rule: '', location_name: '/1', proxy_pass: 'http://$no_such' }, '/locations/1/proxy_pass', /^unknown "no_such" variable$/],
    [{ location_rule: '~', location_name: '/1', proxy_pass: 'http://127.0.0.1/uri' }, '/locations/1/proxy_pass', /URI part/],
    [{ location_rule: '~', location_name: '/(1' }, '/locations/1/location_name', /^invalid regular expression/],
    [nested, '/locations/1/locations/0/location_name', /^invalid regular expression/],
  ] as const) {
    const refused = await body.add({ location_rule: '', location_name: '/0', location_body: 'return 200' }, location);
    t.is(`${refused.status} ${errorOf(refused).code}`, '400 ConfigError', refused.body);
    const [detail] = errorOf(refused).details;
    t.is(detail?.pointer, pointer, refused.body);
    t.regex(detail?.message ?? '', message);
  }
  const patched = await body.call('PATCH', { location_rule: '', location_name: '/', proxy_pass: 'ftp://a' }, '?force=1');
  t.is(errorOf(patched).details[0]?.pointer, '/proxy_pass', patched.body);
});

test('all errors of all locations are reported, and nothing is added', async (t) => {
  const body = await site('body');
  const refused = await body.add(
    { location_rule: '', location_name: '/1', location_body: 'foo;' },
    {
      location_rule: '',
      location_name: '/2',
      location_body: 'return 200',
      locations: [{ location_rule: '', location_name: '/2/a', location_body: 'bar' }],
    },
  );
  t.deepEqual(
    errorOf(refused).details.map(({ pointer }) => pointer),
    ['/locations/0/location_body', '/locations/1/locations/0/location_body'],
  );
  t.is((await body.list()).length, 1);
});

test('PATCH replaces what it names and leaves the rest', async (t) => {
  const patch = await site('patch');
  const key = { location_rule: '', location_name: '/p' };
  await patch.add({
    ...key,
    location_body: 'add_header X-A 1; return 200 "one"',
    locations: [{ ...key, location_name: '/p/q', location_body: 'return 200 "q"' }],
  });
  t.is((await patch.call('PATCH', { ...key, location_body: 'return 200 "two"' })).status, 200);
  t.is(await patch.body('/p'), 'two');
  t.is(await patch.body('/p/q'), 'q');
  const dry = await patch.call('PATCH', { ...key, location_body: 'return 200 "three"' }, '?dry_run=1');
  t.like(dry.json, { dry_run: true });
  t.true((dry.json as { diff: string[] }).diff.includes('+ return 200 "three";'), dry.body);
  t.is(await patch.body('/p'), 'two');
  t.is(errorOf(await patch.call('PATCH', { ...key, location_name: '/none' })).code, 'LocationNotFound');
});

test('a body with proxy_pass takes the place of the one before, in PATCH as in POST', async (t) => {
  const patch = await site('patch');
  const passing = (path: string) =>
    `proxy_set_header Host www.list.example; proxy_pass http://127.0.0.1:${patch.node.srv.port('web')}${path}`;
  const key = { location_rule: '', location_name: '/passing' };
  t.is((await patch.add({ ...key, location_body: passing('/one') })).status, 200);
  const changed = await patch.call('PATCH', { ...key, location_body: passing('/two') });
  t.is(changed.status, 200, changed.body);
  const shown = (await patch.list()) as readonly { location_name?: string; proxy_pass?: string }[];
  t.regex(String(shown.find(({ location_name: name }) => name === '/passing')?.proxy_pass), /\/two$/);
  t.is((await patch.call('PATCH', { ...key, location_body: 'expires 1d' })).status, 200);
  t.is(await patch.body('/passing'), 'old', 'a body without one leaves it');
});

test('a location of the file is changed and removed only by force, and is back without its change', async (t) => {
  const name = await site('static');
  const key = { location_rule: '', location_name: '/' };
  const refused = await name.call('PUT', { type: 'del', ...key });
  t.is(`${refused.status} ${errorOf(refused).code}`, '409 LocationStatic');
  t.is(errorOf(await name.call('PATCH', { ...key, location_body: 'return 200 "new"' })).code, 'LocationStatic');
  t.is((await name.call('PATCH', { ...key, location_body: 'return 200 "new"' }, '?force=1')).status, 200);
  t.is(await name.body('/'), 'new');
  t.like((await name.list())[0], { is_static: true, location_body: 'return 200 "new";\n' });
  t.is((await name.call('PUT', { type: 'del', ...key }, '?force=1')).status, 200);
  t.deepEqual(await name.list(), []);
});

// Before the others, which change what all pages list.
test.serial('locations are listed with their text, of one server or in pages of all', async (t) => {
  const list = await site('list');
  await list.add({
    location_rule: '^~',
    location_name: '/l',
    location_body: 'expires 1d',
    proxy_pass: 'http://127.0.0.1:1',
    locations: [{ location_rule: '', location_name: '/l/m', location_body: 'return 204' }],
  });
  t.deepEqual((await list.list())[1], {
    ...list.place,
    server_name: 'list.example www.list.example',
    location_rule: '^~',
    location_name: '/l',
    location_body: 'expires 1d;\n',
    proxy_pass: 'http://127.0.0.1:1',
    is_static: false,
    locations: [{ location_rule: '', location_name: '/l/m', location_body: 'return 204;\n', is_static: false }],
  });
  const seen: unknown[] = [];
  let path: string | undefined = '/api/v1/dyn_loc?limit=3';
  while (path !== undefined) {
    const page = await get(list.node.srv.port('api'), path);
    const entries = JSON.parse(page.body) as unknown[];
    t.true(entries.length <= 3);
    seen.push(...entries);
    path = /^<(.*)>; rel="next"$/.exec(String(page.headers['link'] ?? ''))?.[1];
  }
  t.is(seen.length, ((await list.node.call('GET', '/dyn_loc')).json as unknown[]).length);
});

test('wrong places and duplicates have an error of their own', async (t) => {
  const twice = await site('twice');
  const one = { location_rule: '', location_name: '/one', location_body: 'return 204' };
  const codes = async (fields: object) => {
    const response = await twice.node.call('POST', '/dyn_loc', { ...twice.place, locations: [one], ...fields });
    return response.status === 200 ? '200' : `${response.status} ${errorOf(response).code}`;
  };
  t.is(await codes({}), '200');
  t.is(await codes({}), '409 EntryExists');
  t.is(await codes({ locations: [{ ...one, location_name: '=/glued' }] }), '400 InvalidField');
  t.is(await codes({ server_name: 'nobody.example' }), '404 ServerNotFound');
  t.is(await codes({ server_name: 'twice.example list.example' }), '404 ServerNotFound');
  t.is(await codes({ server_name: 'twice.example www.twice.example' }), '409 EntryExists');
  t.is(await codes({ addr_port: '127.0.0.1:1' }), '404 ServerNotFound');
  t.is(await codes({ addr_port: 'nonsense:x' }), '400 InvalidField');
  t.is(await codes({ within: [{ location_rule: '', location_name: '/none' }] }), '404 LocationNotFound');
  t.is(await codes({ locations: [] }), '400 InvalidField');
  t.is(await codes({ locations: [{ ...one, location_rule: '!' }] }), '400 InvalidField');
  t.is(
    await codes({
      locations: [
        { ...one, location_name: '/two' },
        { ...one, location_name: '/two' },
      ],
    }),
    '400 ConfigError',
  );
});

test('a dry run opens nothing: a log file that it names is not there afterwards', async (t) => {
  const dry = await site('dry');
  const location = { location_rule: '', location_name: '/logged', location_body: 'access_log logs/dry.log; return 204' };
  const add = (query: string) => dry.call('POST', { locations: [location] }, query);
  t.is((await add('?dry_run=1')).status, 200);
  t.false(existsSync(dry.node.srv.path('logs/dry.log')));
  t.is((await add('')).status, 200);
  t.true(existsSync(dry.node.srv.path('logs/dry.log')));
});

test('If-Match holds for the locations of a server', async (t) => {
  const version = await site('version');
  const path = `/api/v1/dyn_loc?addr_port=${version.place.addr_port}&server_name=${version.place.server_name}`;
  const etag = String((await get(version.node.srv.port('api'), path)).headers['etag']);
  const add = (name: string, match: string) =>
    version.call('POST', { locations: [{ location_rule: '', location_name: name, location_body: 'return 204' }] }, '', {
      'if-match': match,
    });
  const first = await add('/1', etag);
  t.is(first.status, 200);
  t.is((await add('/2', etag)).status, 412);
  t.is((await add('/2', String(first.headers['etag']))).status, 200);
});

test('locations survive kill -9 and a reload, and a restart knows which are of the file', async (t) => {
  const port = await freePort(t);
  const http = `server { listen 127.0.0.1:${port}; server_name a; location / { return 200 "file"; } }`;
  const options = { main: MODULES, controlMain: API, http, server: 'return 204;', allowCrashes: true };
  const node = await startNode(t, options);
  const place = { addr_port: `127.0.0.1:${port}`, server_name: 'a' };
  const locations = [{ location_rule: '', location_name: '/api', location_body: 'return 200 "api"' }];
  t.is((await node.call('POST', '/dyn_loc', { ...place, locations })).status, 200);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  t.is((await get(port, '/api')).body, 'api');
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.is((await get(port, '/api')).body, 'api');
  const list = (await again.call('GET', '/dyn_loc')).json as { location_name: string; is_static: boolean }[];
  t.deepEqual(
    list.map(({ location_name: name, is_static: isStatic }) => `${name} ${isStatic}`),
    ['/ true', '/api false'],
  );
});
