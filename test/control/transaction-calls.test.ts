/** `POST /v1/transactions`: several calls as one change. */
import test, { type ExecutionContext } from 'ava';
import { get, json } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { freePort } from '../harness/ports.js';
import { errorOf } from './api-client.js';
import { COUNTING } from './counting-module.js';
import { sharedNode, upstreams, type Node } from './node.js';

const DATA = ['upstream_member', 'dyn_upstream', 'dyn_server', 'location', 'config', 'kv'];
const CONTROL = ['dyn_upstream', 'dyn_server', 'location', 'config', 'history', 'transactions'];

/** A directive that one worker rejects. */
const REFUSED = plugin('refused', {
  imports: `import { ServerInfo } from 'srv/module/server-info.js'; import { number } from 'srv/module/args.js';`,
  manifest: `directives: { refused_by: directive({ in: ['location'], args: number({ min: 0 }) }) }`,
  body: `
    static services = [ServerInfo];
    constructor(info) { this.info = info; }
    compile(scope) { if (scope.own('refused_by') && scope.conf.refused_by === this.info.worker) scope.fail('this worker refuses'); }`,
});

const shared = sharedNode({
  files: { 'modules/refused.js': REFUSED, 'modules/counting.js': COUNTING },
  main: DATA.filter((name) => name !== 'upstream_member' && name !== 'kv')
    .map((name) => `load_module modules/srv_http_${name}_module.so;`)
    .join(' ')
    .concat(' load_module modules/refused.js; load_module modules/counting.js;'),
  controlMain: `${CONTROL.map((name) => `load_module modules/srv_http_${name}_api_module.so;`).join(' ')} load_module modules/counting.js;`,
  http: `${upstreams('demo', 'back', 'list')} server { listen 127.0.0.1:%%PORT_a%%; server_name a; return 200 a; }`,
  server: 'location / { return 200 "file"; }',
  control: `server { listen 127.0.0.1:%%PORT_strict%%; location /api { dyn_module_api; api_limit_except dyn_ups GET { deny all; } } }`,
});

interface CarriedCall {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly ifMatch?: string;
}
interface Results {
  readonly version: number;
  readonly results: readonly {
    readonly status: number;
    readonly headers: Record<string, string>;
    readonly body: Record<string, unknown>;
  }[];
}
interface Failure {
  readonly index: number;
  readonly path: string;
  readonly error: { readonly status: number; readonly code: string; readonly text: string; readonly details: readonly object[] };
}

const call = (method: string, path: string, body?: unknown, ifMatch?: string): CarriedCall => ({
  method,
  path,
  ...(body !== undefined && { body }),
  ...(ifMatch !== undefined && { ifMatch }),
});
const addUpstream = (name: string, body = `zone ${name} 64k`): CarriedCall =>
  call('POST', '/v1/dyn_ups', { upstream_name: name, upstream_body: body });
const addMember = (upstream: string, server: string): CarriedCall =>
  call('POST', `/v1/upstream_api/http/upstreams/${upstream}/servers`, { server });
const addLocation = (port: number, name: string, body: string): CarriedCall =>
  call('POST', '/v1/dyn_loc', {
    addr_port: `127.0.0.1:${port}`,
    locations: [{ location_rule: '', location_name: name, location_body: body }],
  });

const addServer = (port: number): CarriedCall =>
  call('POST', '/v1/dyn_srv', { addr_port: `127.0.0.1:${port}`, server_name: 'n', server_body: 'return 200' });

function transact(node: Node, calls: readonly CarriedCall[], query = '', headers: Record<string, string> = {}) {
  return node.call('POST', `/transactions${query}`, { calls }, headers);
}

async function applied(t: ExecutionContext, node: Node, calls: readonly CarriedCall[]): Promise<Results> {
  const response = await transact(node, calls);
  t.is(response.status, 200, response.body);
  return response.json as Results;
}

/** The calls that failed, and whether nothing has changed. */
async function refused(t: ExecutionContext, node: Node, calls: readonly CarriedCall[], headers: Record<string, string> = {}) {
  const before = await node.call('GET', '/config/effective');
  const response = await transact(node, calls, '', headers);
  const after = await node.call('GET', '/config/effective');
  t.is(after.headers['etag'], before.headers['etag']);
  t.is(after.body, before.body);
  const error = errorOf(response);
  t.is(error.status, response.status);
  if (error.status === 503) t.log(response.body);
  return { error, failures: error.details as unknown as readonly Failure[] };
}

/** The current configuration. */
async function text(node: Node): Promise<string> {
  return (await get(node.srv.port('api'), '/api/v1/config/effective?format=text')).body;
}

async function versionOf(node: Node): Promise<number> {
  return Number(String((await node.call('GET', '/config/drift')).headers['etag']).replaceAll('"', ''));
}

test.serial('later calls see what earlier ones made; all take effect as one version', async (t) => {
  const node = await shared();
  const before = await versionOf(node);
  const backend = node.srv.port('a');
  const { version, results } = await applied(t, node, [
    addUpstream('shop'),
    addMember('shop', `127.0.0.1:${backend}`),
    addMember('shop', '127.0.0.1:1'),
    call('PATCH', '/v1/upstream_api/http/upstreams/shop/servers/1', { down: true }),
    addLocation(node.srv.port('web'), '/shop', 'proxy_pass http://shop; proxy_set_header Host a'),
  ]);
  t.is(version, before + 1);
  t.deepEqual(
    results.map(({ status }) => status),
    [200, 201, 201, 200, 200],
  );
  t.like(results[1]?.body, { id: 0, server: `127.0.0.1:${backend}` });
  t.is(results[2]?.headers['Location'], '/api/v1/upstream_api/http/upstreams/shop/servers/1');
  t.is((await node.web('/shop')).body, 'a');
  const members = await node.upstreams('GET', '/shop/servers/1');
  t.like(members.json, { id: 1, down: true });
  t.is(members.headers['etag'], results[3]?.headers['ETag']);
  const [entry] = (await node.call('GET', '/history?limit=1')).json as { version: number; changes: unknown[] }[];
  t.is(entry?.version, version);
  t.is(entry?.changes.length, 5);
});

test.serial('a call that fails is named with the error that it would have had alone, and nothing is changed', async (t) => {
  const node = await shared();
  const wrong = addLocation(node.srv.port('web'), '/x', 'expires 1d;\n  retrun 200');
  const alone = errorOf(await node.call('POST', '/dyn_loc', wrong.body));
  const { error, failures } = await refused(t, node, [
    addUpstream('never'),
    wrong,
    addMember('nobody', '10.0.0.1'),
    addMember('never', '10.0.0.1'),
  ]);
  t.is(error.code, 'UpstreamNotFound');
  t.deepEqual(
    failures.map(({ index, error: { code } }) => [index, code]),
    [[2, 'UpstreamNotFound']],
  );
  const second = await refused(t, node, [addUpstream('never'), wrong, addMember('never', '10.0.0.1')]);
  t.is(second.error.text, `/calls/1: ${alone.text}`);
  t.like(second.failures[0], { index: 1, method: 'POST', path: '/v1/dyn_loc' });
  t.deepEqual(second.failures[0]?.error, { ...alone, details: alone.details });
  t.like(second.failures[0]?.error.details[0], { pointer: '/locations/0/location_body', line: 2, column: 3 });
});

test.serial('every call that fails is named: by its schema, by what it is about, by its text', async (t) => {
  const node = await shared();
  const web = node.srv.port('web');
  const schema = await refused(t, node, [
    addMember('list', ''),
    call('POST', '/v1/nothing', {}),
    call('PUT', '/v1/upstream_api/http/upstreams'),
    addUpstream('ok'),
  ]);
  t.deepEqual(
    schema.failures.map(({ index, error }) => [index, error.status]),
    [
      [0, 400],
      [1, 404],
      [2, 405],
    ],
  );
  const data = await refused(t, node, [
    addMember('a1', '10.0.0.1'),
    addMember('list', '10.0.0.1'),
    addMember('list', '10.0.0.1'),
    addMember('a2', '10.0.0.1'),
  ]);
  t.deepEqual(
    data.failures.map(({ index, error }) => [index, error.code]),
    [
      [0, 'UpstreamNotFound'],
      [2, 'EntryExists'],
      [3, 'UpstreamNotFound'],
    ],
  );
  const text = await refused(t, node, [
    addLocation(web, '/1', 'nonsense'),
    addLocation(web, '/2', 'return 200'),
    addLocation(web, '/3', 'return 99999'),
  ]);
  t.deepEqual(
    text.failures.map(({ index, error }) => [index, error.code]),
    [
      [0, 'ConfigError'],
      [2, 'ConfigError'],
    ],
  );
});

test.serial('what only the workers or the system reject is named as well', async (t) => {
  const node = await shared();
  const free = await freePort(t);
  // The control plane listens there.
  const { failures } = await refused(t, node, [addServer(free), addServer(node.srv.port('api'))]);
  t.deepEqual(
    failures.map(({ index, error }) => [index, error.code]),
    [[1, 'ListenFailed']],
  );
  const host = await refused(t, node, [addServer(free), addLocation(node.srv.port('web'), '/h', 'proxy_pass http://no-such-host.invalid')]);
  t.deepEqual(
    host.failures.map(({ index }) => index),
    [1],
  );
  const full = await refused(t, node, [
    addMember('list', '10.0.0.1'),
    addUpstream('full', `zone full 32k; ${Array.from({ length: 500 }, (_, i) => `server 10.1.${i >> 8}.${i & 255};`).join('')}`),
  ]);
  t.deepEqual(
    full.failures.map(({ index, error }) => [index, error.code]),
    [[1, 'ZoneFull']],
  );
});

test.serial('what one worker rejects is active in none', async (t) => {
  const node = await shared();
  for (const worker of [0, 1]) {
    const calls = [addMember('list', '10.5.0.1'), addLocation(node.srv.port('web'), '/refused', `refused_by ${worker}; return 200`)];
    const { error, failures } = await refused(t, node, calls);
    t.is(error.code, 'ConfigError');
    t.deepEqual(
      failures.map(({ index, error: { text: message } }) => [index, message]),
      [[1, 'this worker refuses']],
    );
    t.is((await node.web('/refused')).body, 'file');
  }
  t.is((await transact(node, [addMember('list', '10.5.0.1')])).status, 200);
});

test.serial('of two writers with If-Match none overwrites what the other one wrote', async (t) => {
  const node = await shared();
  await applied(t, node, [addMember('list', '10.6.0.1')]);
  const increase = async (): Promise<number> => {
    const { headers, json: member } = await node.upstreams('GET', '/list/servers/10.6.0.1:80');
    const weight = (member as { weight: number }).weight + 1;
    const change = call('PATCH', '/v1/upstream_api/http/upstreams/list/servers/10.6.0.1:80', { weight }, String(headers['etag']));
    const { status } = await transact(node, [change]);
    t.true(status === 200 || status === 412, String(status));
    return status;
  };
  const write = async (): Promise<number> => {
    let lost = 0;
    for (let done = 0; done < 10;)
      if ((await increase()) === 200) done++;
      else lost++;
    return lost;
  };
  await Promise.all([write(), write()]);
  t.like((await node.upstreams('GET', '/list/servers/10.6.0.1:80')).json, { weight: 21 });
});

test.serial('a dry run shows the diff of all, and changes nothing', async (t) => {
  const node = await shared();
  const before = await node.call('GET', '/config/effective');
  const calls = [
    addUpstream('dry'),
    addMember('dry', '10.0.0.5'),
    addMember('list', '10.0.0.5'),
    call('DELETE', '/v1/upstream_api/http/upstreams/back/servers/0'),
  ];
  const { status, json } = await transact(node, calls, '?dry_run=1');
  t.is(status, 200);
  t.deepEqual(json, {
    dry_run: true,
    diff: [
      'http',
      '+ upstream dry {',
      '+     zone dry 64k;',
      '+     server 10.0.0.5:80;',
      '+ }',
      'http / upstream list',
      '+ server 10.0.0.5:80;',
      'http / upstream back',
      '- server 127.0.0.1:1;',
    ],
  });
  t.is((await node.call('GET', '/config/effective')).body, before.body);
  const wrong = errorOf(await transact(node, [...calls, addUpstream('dry')], '?dry_run=1'));
  t.like(wrong, { status: 409, code: 'EntryExists' });
});

test.serial('access rules hold for each call as if it came alone', async (t) => {
  const node = await shared();
  const before = await text(node);
  const send = (calls: readonly CarriedCall[]) => json(node.srv.port('strict'), 'POST', '/api/v1/transactions', { calls });
  const response = await send([addMember('list', '10.4.0.1'), addUpstream('denied')]);
  const { code, details } = errorOf(response);
  t.is(code, 'AccessDenied');
  t.like(details, [{ index: 1, path: '/v1/dyn_ups', error: { status: 403 } }]);
  t.is(await text(node), before);
  t.is((await send([addMember('list', '10.4.0.1')])).status, 200);
});

test.serial('If-Match holds for the transaction as a whole, and for each of its calls', async (t) => {
  const node = await shared();
  const version = await versionOf(node);
  const list = await node.upstreams('GET', '/list');
  const etag = String(list.headers['etag']);
  const stale = await refused(t, node, [addMember('list', '10.0.0.8')], { 'If-Match': `"${version - 1}"` });
  t.is(stale.error.code, 'VersionMismatch');
  const member = addMember('list', '10.0.0.8');
  const second = await refused(t, node, [
    { ...member, ifMatch: etag },
    { ...addMember('list', '10.0.0.9'), ifMatch: etag },
  ]);
  t.deepEqual(
    second.failures.map(({ index, error }) => [index, error.code]),
    [[1, 'VersionMismatch']],
  );
  const right = await transact(node, [{ ...member, ifMatch: etag }], '', { 'If-Match': `"${version}"` });
  t.is(right.status, 200);
  t.is(right.headers['etag'], `"${version + 1}"`);
});

test.serial('servers and locations of one list build on each other, with a port that opens and one that closes', async (t) => {
  const node = await shared();
  const [one, two] = [await freePort(t), await freePort(t)];
  const server = (port: number, name: string, body: string, type = 'add'): CarriedCall =>
    call(type === 'add' ? 'POST' : 'PUT', '/v1/dyn_srv', {
      type,
      addr_port: `127.0.0.1:${port}`,
      server_name: name,
      ...(type === 'add' && { server_body: body }),
    });
  await applied(t, node, [
    server(one, 'x', 'return 200 x'),
    server(one, 'y z', 'location / { return 200 y; }'),
    call('POST', '/v1/dyn_loc', {
      addr_port: `127.0.0.1:${one}`,
      server_name: 'z',
      locations: [{ location_rule: '=', location_name: '/new', location_body: 'return 200 new' }],
    }),
    call('PATCH', '/v1/dyn_loc', {
      addr_port: `127.0.0.1:${one}`,
      server_name: 'y',
      location_rule: '',
      location_name: '/',
      location_body: 'return 200 changed',
    }),
    server(two, 'gone', 'return 200'),
    server(two, 'gone', '', 'del'),
  ]);
  t.is((await get(one, '/new', { headers: { Host: 'y' } })).body, 'new');
  t.is((await get(one, '/', { headers: { Host: 'z' } })).body, 'changed');
  t.is((await get(one, '/', { headers: { Host: 'nobody' } })).body, 'x');
  await t.throwsAsync(get(two, '/'));
  const { failures } = await refused(t, node, [
    server(one, 'z', 'return 200'),
    server(one, 'x', '', 'del'),
    server(one, 'x', 'return 200 again'),
    server(one, 'x', 'return 200 twice'),
  ]);
  t.deepEqual(
    failures.map(({ index, error }) => [index, error.code]),
    [
      [0, 'EntryExists'],
      [3, 'EntryExists'],
    ],
  );
});

test.serial('an upstream goes in the transaction that takes its users away', async (t) => {
  const node = await shared();
  const web = node.srv.port('web');
  await applied(t, node, [addUpstream('used', 'zone used 64k; server 127.0.0.1:1'), addLocation(web, '/used', 'proxy_pass http://used')]);
  const removeUpstream = call('PUT', '/v1/dyn_ups', { type: 'del', upstream_name: 'used' });
  const removeLocation = call('PUT', '/v1/dyn_loc', {
    type: 'del',
    addr_port: `127.0.0.1:${web}`,
    location_rule: '',
    location_name: '/used',
  });
  const early = await refused(t, node, [removeUpstream, removeLocation]);
  t.deepEqual(
    early.failures.map(({ index, error }) => [index, error.code]),
    [[0, 'UpstreamInUse']],
  );
  const again = await refused(t, node, [removeLocation, addLocation(web, '/other', 'proxy_pass http://used/x'), removeUpstream]);
  t.deepEqual(
    again.failures.map(({ index, error }) => [index, error.code]),
    [[2, 'UpstreamInUse']],
  );
  await applied(t, node, [removeLocation, removeUpstream]);
  t.is((await node.call('GET', '/dyn_ups/used')).status, 404);
});

test.serial('a list that comes to nothing changes nothing but the version', async (t) => {
  const node = await shared();
  const before = await text(node);
  const version = await versionOf(node);
  const result = await applied(t, node, [
    addUpstream('brief'),
    addMember('brief', '10.0.0.1'),
    call('PUT', '/v1/dyn_ups', { type: 'del', upstream_name: 'brief' }),
  ]);
  t.is(result.version, version + 1);
  t.is(await text(node), before);
  t.deepEqual(
    ((await node.call('GET', '/config/drift')).json as { diff: string[] }).diff.filter((line) => line.includes('brief')),
    [],
  );
});

test.serial('keys, transactions and reads are not part of one, and the whole has its limits', async (t) => {
  const node = await shared();
  const { failures } = await refused(t, node, [
    addUpstream('kv'),
    call('POST', '/v1/kv', { key: 'a', value: 'b' }),
    call('POST', '/v1/transactions', { calls: [addUpstream('inner')] }),
  ]);
  t.deepEqual(
    failures.map(({ index, error }) => [index, error.code]),
    [[2, 'NotTransactional']],
  );
  const kv = await refused(t, node, [call('POST', '/v1/kv', { key: 'a', value: 'b' }), addUpstream('kv')]);
  t.deepEqual(
    kv.failures.map(({ index, error }) => [index, error.code]),
    [[0, 'NotTransactional']],
  );
  t.is((await node.call('GET', '/kv/keys/a')).status, 404);
  const read = await refused(t, node, [call('GET', '/v1/dyn_ups')]);
  t.like(read.error, { status: 400, code: 'InvalidField' });
  t.is(read.error.details[0]?.pointer, '/calls/0/method');
  const dry = await refused(t, node, [{ ...addUpstream('dry'), path: '/v1/dyn_ups?dry_run=1' }]);
  t.is(dry.error.details[0]?.pointer, '/calls/0/path');
  const short = await refused(t, node, [call('POST', 'v1/dyn_ups', {})]);
  t.is(short.error.text, '/calls/0/path: must be a path that begins with /v1/, with its query: /v1/dyn_loc?force=1');
  const codesOf = async (names: readonly string[]): Promise<readonly string[]> => {
    const calls = names.map((name) => call('POST', `/v1/upstream_api/http/upstreams/${name}/servers`, { server: '10.0.0.1' }));
    return (await refused(t, node, calls)).failures.map(({ error }) => error.code);
  };
  t.deepEqual(await codesOf(['x%2F..%2Fdemo']), ['UpstreamNotFound']);
  t.deepEqual(await codesOf(['../upstreams/demo', '%2e%2e/upstreams/demo', '%ff']), ['PathNotFound', 'PathNotFound', 'PathNotFound']);
  t.like((await refused(t, node, [])).error, { code: 'InvalidField' });
  const many = Array.from({ length: 10_001 }, () => addUpstream('many'));
  t.like((await refused(t, node, many)).error, { code: 'InvalidField' });
});

test.serial('a rollback takes a transaction back as a whole, and may be a call of one', async (t) => {
  const node = await shared();
  const version = await versionOf(node);
  const before = await text(node);
  await applied(t, node, [addUpstream('back1'), addMember('back1', '10.0.0.1'), addMember('list', '10.0.3.1')]);
  const back = await node.call('POST', `/history/${version}/rollback`, {});
  t.is(back.status, 200, back.body);
  t.is(await text(node), before);
  await applied(t, node, [addUpstream('back2')]);
  await applied(t, node, [call('POST', `/v1/history/${version}/rollback`), addUpstream('back3')]);
  t.is((await node.call('GET', '/dyn_ups/back2')).status, 404);
  t.is((await node.call('GET', '/dyn_ups/back3')).status, 200);
});

test.serial('actions of modules that are not for transactions are not carried out in one', async (t) => {
  const node = await shared();
  for (const query of ['', '?dry_run=1']) {
    const response = await transact(node, [addUpstream('counted'), call('POST', '/v1/counting')], query);
    t.like(errorOf(response), { status: 400, code: 'NotTransactional' });
  }
  t.is((await transact(node, [call('POST', '/v1/counting/dry')], '?dry_run=1')).status, 200);
  t.is((await transact(node, [call('POST', '/v1/counting/failed'), addMember('nobody', '10.0.0.1')])).status, 404);
  t.is((await transact(node, [call('POST', '/v1/counting/together'), addUpstream('counted')])).status, 200);
  t.is((await node.call('POST', '/counting/alone')).status, 200);
  await node.srv.waitForLog(/counted alone/);
  t.deepEqual(node.srv.log().match(/counted .*/g), ['counted together', 'counted alone']);
  t.is((await node.call('POST', '/counting')).status, 200);
  await node.srv.waitForLog(/counted at once/);
});
