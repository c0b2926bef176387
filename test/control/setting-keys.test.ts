/** The keys of `/v1/config/`: what each of them changes in traffic, and what it rejects. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { get } from '../harness/client.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { freePort } from '../harness/ports.js';
import { sharedNode, startNode, type Node } from './node.js';

const KEYS = ['bwlist', 'limit', 'fault_inject', 'map', 'split_clients', 'log', 'proxy_pass', 'auth'];
const LOADED = KEYS.map((name) => `load_module modules/srv_http_dyn_${name}_module.so;`).join('\n');
const EMPTY = 'alias /dev/; try_files /none =204;';
const PATHS = ['limit', 'conn', 'rate', 'fault', 'delay', 'log', 'auth', 'auth2']
  .map((name) => `location /${name} { ${EMPTY} }`)
  .join('\n');
const HTTP = `
  limit_req_zone $binary_remote_addr zone=slow:1m rate=1r/m;
  limit_req_zone $binary_remote_addr zone=other:1m rate=10r/s;
  limit_req_zone $uri zone=noted:1m rate=1r/m;
  limit_conn_zone $binary_remote_addr zone=conns:1m;
  api_log_folder logs;
  api_syslog central syslog:server=127.0.0.1:9,tag=api,tcp;
  api_user_file staff users;
  api_user_file missing no-such-file;
  map $arg_x $mapped { one 1; default none; }
  map $arg_x $kept { hostnames; volatile; *.example.org org; "" empty; }
  split_clients $remote_addr $variant { 100% a; }
  log_format kept '$uri';
  server { listen 127.0.0.1:%%PORT_one%%; return 200 "one"; }
  server { listen 127.0.0.1:%%PORT_two%%; return 200 "two"; }`;
const SERVER = `
  access_log logs/file.log kept;
  ${PATHS}
  location /log2 { ${EMPTY} limit_req zone=noted; limit_req_dry_run on; }
  location = /maps { return 200 "$mapped $kept $variant"; }
  location /pass { proxy_pass http://127.0.0.1:%%PORT_one%%; }
  location /vars { proxy_pass http://$arg_to; auth_basic_user_file /dev/null; access_log logs/other.log; }`;
const OPTIONS = {
  main: `load_module modules/srv_http_fault_inject_module.so; ${LOADED}`,
  controlMain: LOADED,
  http: HTTP,
  server: SERVER,
  api: 'api_limit_except http_dyn_bwlist GET { deny all; }',
  // secret, as "openssl passwd -apr1" has it.
  files: { 'conf/users': 'ada:$apr1$salt1234$0xDQEy2kXy9J0YvkrPtwZ1\nbob:{PLAIN}secret\n' },
};
const shared = sharedNode(OPTIONS);

/** Sets the fields of a location. */
function put(node: Node, key: string, location: string, fields: object) {
  const servers = [{ listens: [`127.0.0.1:${node.srv.port('web')}`], locations: [{ location, ...fields }] }];
  return node.call('PUT', `/config/${key}`, { servers });
}

/** What a location shows. */
async function shown(node: Node, key: string, location: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  type Shown = { readonly location: string };
  const { servers } = (await node.call('GET', `/config/${key}`)).json as { servers: { locations?: Shown[] }[] };
  return servers.flatMap(({ locations = [] }) => locations).find((one) => one.location === location);
}

test('each key has access rules of its own', async (t) => {
  const node = await shared();
  t.is((await node.call('GET', '/config/http_dyn_bwlist')).status, 200);
  t.is(errorOf(await put(node, 'http_dyn_bwlist', '/rate', { access: [] })).code, 'AccessDenied');
  t.is((await put(node, 'http_dyn_auth', '/rate', {})).status, 200);
});

test('http_dyn_limit: requests are limited by a zone of the file, with a status of their own, or only counted', async (t) => {
  const node = await shared();
  const limits = { limit_reqs: [{ zone: 'slow', burst: 1, delay: 'nodelay' }], limit_req_status: '429', limit_req_log_level: 'info' };
  const set = await put(node, 'http_dyn_limit', '/limit', limits);
  t.is(set.status, 200, set.body);
  const statuses = [];
  for (let n = 0; n < 4; n++) statuses.push((await node.web('/limit')).status);
  t.deepEqual(statuses, [204, 204, 429, 429]);
  t.deepEqual(await shown(node, 'http_dyn_limit', '/limit'), { location: '/limit', ...limits, limit_req_status: 429 });
  t.is((await put(node, 'http_dyn_limit', '/limit', { limit_req_dry_run: true })).status, 200);
  t.is((await node.web('/limit')).status, 204);
  t.is((await put(node, 'http_dyn_limit', '/limit', { limit_req_dry_run: null })).status, 200);
  t.is((await node.web('/limit')).status, 429);
  const rate = await node.call('PUT', '/config/http_dyn_limit', { limit_rps: [{ zone: 'slow', rate: '100000r/s' }] });
  t.is(rate.status, 200, rate.body);
  await waitFor('the requests of the past to be forgotten', async () => (await node.web('/limit')).status === 204);
  const { limit_rps: rates } = (await node.call('GET', '/config/http_dyn_limit')).json as { limit_rps: unknown };
  t.deepEqual(rates, [
    { zone: 'slow', rate: '100000r/s' },
    { zone: 'other', rate: '10r/s' },
    { zone: 'noted', rate: '1r/m' },
  ]);
});

test('http_dyn_limit: connections and bytes a second', async (t) => {
  const node = await shared();
  const fields = { limit_conns: [{ zone: 'conns', conn: 1 }], limit_conn_status: 444 };
  t.is((await put(node, 'http_dyn_limit', '/conn', fields)).status, 200);
  t.is((await put(node, 'http_dyn_fault_inject', '/conn', { fault_inject_type: 'delay', delay_duration: '300ms' })).status, 200);
  const statuses = await Promise.all(
    [1, 2].map(() =>
      node.web('/conn').then(
        ({ status }) => status,
        () => 'closed',
      ),
    ),
  );
  t.deepEqual(statuses.map(String).toSorted(), ['204', 'closed']);
  t.is((await put(node, 'http_dyn_limit', '/rate', { limit_rate: 10_240, limit_rate_after: '1m' })).status, 200);
  t.deepEqual(await shown(node, 'http_dyn_limit', '/rate'), { location: '/rate', limit_rate: '10k', limit_rate_after: '1m' });
});

test('http_dyn_limit: zones that are not declared, and values that are none, are rejected with their places', async (t) => {
  const node = await shared();
  const zone = await put(node, 'http_dyn_limit', '/rate', { limit_reqs: [{ zone: 'other' }, { zone: 'none' }] });
  t.is(`${zone.status} ${errorOf(zone).code}`, '400 ConfigError', zone.body);
  t.like(errorOf(zone).details[0], { pointer: '/servers/0/locations/0/limit_reqs/1' });
  const values = await put(node, 'http_dyn_limit', '/rate', { limit_rate: '$arg_r', limit_conn_status: 200, limit_rate_after: '1x' });
  t.is(errorOf(values).code, 'InvalidField', values.body);
  const rate = await node.call('PUT', '/config/http_dyn_limit', { limit_rps: [{ zone: 'none', rate: '1r/s' }] });
  t.like(errorOf(rate).details[0], { pointer: '/limit_rps/0', message: 'there is no zone "none"' });
  const variable = await put(node, 'http_dyn_limit', '/rate', { limit_rate: '$arg_r' });
  t.like(errorOf(variable).details[0], { pointer: '/servers/0/locations/0/limit_rate' });
});

test('http_dyn_fault_inject: aborts and delays begin, change and end', async (t) => {
  const node = await shared();
  const abort = { fault_inject_type: 'abort', status_code: 418, abort_percentage: 100 };
  t.is((await put(node, 'http_dyn_fault_inject', '/fault', abort)).status, 200);
  for (let n = 0; n < 4; n++) t.is((await node.web('/fault')).status, 418);
  t.deepEqual(await shown(node, 'http_dyn_fault_inject', '/fault'), { location: '/fault', ...abort });
  t.is((await put(node, 'http_dyn_fault_inject', '/fault', { abort_percentage: '0', delay_duration: 1.5 })).status, 200);
  t.is((await node.web('/fault')).status, 204);
  t.like(await shown(node, 'http_dyn_fault_inject', '/fault'), { abort_percentage: 0, delay_duration: '1500ms' });
  t.is((await put(node, 'http_dyn_fault_inject', '/fault', { fault_inject_type: null })).status, 200);
  t.is(await shown(node, 'http_dyn_fault_inject', '/fault'), undefined);
  const refused = await put(node, 'http_dyn_fault_inject', '/fault', { status_code: 500 });
  t.like(errorOf(refused).details[0], { pointer: '/servers/0/locations/0/fault_inject_type', message: 'is required' });
  const incomplete = await put(node, 'http_dyn_fault_inject', '/fault', { fault_inject_type: 'delay' });
  t.is(errorOf(incomplete).code, 'ConfigError');
});

const text = async (node: Node, x: string): Promise<string> => (await node.web(`/maps?x=${x}`)).body;

test.serial('http_dyn_map: maps are shown, changed, added and removed; those that are not named stay', async (t) => {
  const node = await shared();
  const maps = async (): Promise<unknown> => ((await node.call('GET', '/config/http_dyn_map')).json as { maps: unknown }).maps;
  const kept = {
    keyFrom: '$arg_x',
    keyTo: '$kept',
    values: [
      { valueFrom: '*.example.org', valueTo: 'org' },
      { valueFrom: '', valueTo: 'empty' },
    ],
    isVolatile: true,
    hostnames: true,
  };
  const mapped = {
    keyFrom: '$arg_x',
    keyTo: '$mapped',
    values: [
      { valueFrom: 'one', valueTo: '1' },
      { valueFrom: 'default', valueTo: 'none' },
    ],
    isVolatile: false,
    hostnames: false,
  };
  t.deepEqual(await maps(), [mapped, kept]);
  t.is(await text(node, 'one'), '1  a');
  const values = [
    { valueFrom: '~^(?<letter>[a-z])\\d{1,2};$', valueTo: 'letter $letter' },
    { valueFrom: String.raw`\include`, valueTo: '}' },
    { valueFrom: '};', valueTo: 'left "block"; {' },
    { valueFrom: 'default', valueTo: '$kept' },
  ];
  const put = await node.call('PUT', '/config/http_dyn_map', { maps: [{ ...mapped, values }] });
  t.is(put.status, 200, put.body);
  const asserts = async (): Promise<void> => {
    t.is(await text(node, 'b12;'), 'letter b  a');
    t.is(await text(node, 'include'), '}  a');
    t.is(await text(node, '};'), 'left "block"; {  a');
    t.is(await text(node, 'www.example.org'), 'org org a');
  };
  await asserts();
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  await asserts();
  t.deepEqual(await maps(), [{ ...mapped, values }, kept]);
  const added = { type: 'add', keyFrom: '$uri', keyTo: '$fresh', values: [] };
  t.is((await node.call('PUT', '/config/http_dyn_map', { maps: [added] })).status, 200);
  t.is(((await maps()) as unknown[]).length, 3);
  const again = await node.call('PUT', '/config/http_dyn_map', {
    maps: [
      added,
      { type: 'del', keyFrom: '', keyTo: '$none' },
      { keyFrom: 'a\nb', keyTo: 'x;', values: [{ valueFrom: 'include', valueTo: '/etc/passwd' }] },
    ],
  });
  t.deepEqual(
    errorOf(again).details.map((detail) => `${(detail as { pointer?: string }).pointer} ${detail.message}`),
    [
      '/maps/0 map "$fresh" exists',
      '/maps/1 there is no map "$none"',
      '/maps/2/keyTo must be a variable: $name',
      '/maps/2/keyFrom must be text without control characters',
      String.raw`/maps/2/values/0/valueFrom the text itself is written "\include"`,
    ],
  );
  const used = await node.call('PUT', '/config/http_dyn_map', { maps: [{ type: 'del', keyFrom: '', keyTo: '$mapped' }] });
  t.is(errorOf(used).code, 'ConfigError');
  t.is((await node.call('PUT', '/config/http_dyn_map', { maps: [{ type: 'del', keyFrom: '', keyTo: '$fresh' }] })).status, 200);
  const unnamed = { keyTo: '$mapped', values: [{ valueFrom: 'default', valueTo: 'new' }] };
  const short = await node.call('PUT', '/config/http_dyn_map', { maps: [unnamed] });
  t.is(short.status, 200, short.body);
  t.like(await maps(), [{ ...unnamed, keyFrom: '$arg_x' }]);
  await node.call('PUT', '/config/http_dyn_map', { maps: [added] });
  t.is((await node.call('PUT', '/config/http_dyn_map', { maps: [{ keyTo: '$fresh', type: 'del' }] })).status, 200);
  const missing = await node.call('PUT', '/config/http_dyn_map', { maps: [{ keyTo: '$fresh', values: [] }] });
  t.like(errorOf(missing).details, [{ pointer: '/maps/0/keyFrom', message: 'is required' }]);
  const part = { keyTo: '$variant', values: [{ percent: '100%', value: 'a' }] };
  const parts = await node.call('PUT', '/config/http_split_clients', { splits: [part] });
  t.is(parts.status, 200, parts.body);
  const pattern = await node.call('PUT', '/config/http_dyn_map', {
    maps: [{ keyFrom: '$uri', keyTo: '$bad', values: [{ valueFrom: '~(', valueTo: '' }] }],
  });
  t.like(errorOf(pattern).details[0], { pointer: '/maps/0/values/0' });
});

test.serial('a file of users is shown as soon as the configuration gives it a name', async (t) => {
  const node = await shared();
  t.is(await shown(node, 'http_dyn_auth', '/vars'), undefined, 'a file without a name is not shown');
  const before = String((await node.call('GET', '/config/http_dyn_auth')).headers['etag']);
  const file = join(node.srv.prefix, 'conf/srv.conf');
  const seen = node.srv.log().split('reconfigured').length;
  writeFileSync(file, readFileSync(file, 'utf8').replace('api_user_file staff', 'api_user_file nobody /dev/null; api_user_file staff'));
  node.srv.signal('SIGHUP');
  await waitFor('the reload', () => node.srv.log().split('reconfigured').length > seen);
  t.deepEqual(await shown(node, 'http_dyn_auth', '/vars'), { location: '/vars', auth_basic_user_file: 'nobody' });
  t.not(String((await node.call('GET', '/config/http_dyn_auth')).headers['etag']), before);
});

test.serial('http_split_clients: the parts of a split are changed', async (t) => {
  const node = await shared();
  const split = {
    keyFrom: '$remote_addr',
    keyTo: '$variant',
    values: [
      { percent: '0.5%', value: 'x' },
      { percent: '*', value: 'b; }' },
    ],
  };
  t.is((await node.call('PUT', '/config/http_split_clients', { splits: [split] })).status, 200);
  t.true((await text(node, '')).endsWith(' b; }'));
  t.deepEqual((await node.call('GET', '/config/http_split_clients')).json, { splits: [split] });
  const over = [
    { percent: '60%', value: '' },
    { percent: '50%', value: '' },
  ];
  const refused = await node.call('PUT', '/config/http_split_clients', { splits: [{ ...split, values: over }] });
  t.is(errorOf(refused).code, 'ConfigError');
  t.like(errorOf(refused).details[0], { pointer: '/splits/0/values/1' });
  t.is(
    (await node.call('PUT', '/config/http_split_clients', { splits: [{ ...split, values: [{ percent: '1e2%', value: '' }] }] })).status,
    400,
  );
  await node.call('PUT', '/config/http_split_clients', { splits: [{ ...split, values: [{ percent: '100%', value: 'a' }] }] });
});

test('http_log: logs are written into the one folder, in formats of the API', async (t) => {
  const node = await shared();
  const format = { name: 'api', escape: 'json', format: '{"at":"$uri"} "; }' };
  const formats = await node.call('PUT', '/config/http_log', { accessLogFormats: [format] });
  t.is(formats.status, 200, formats.body);
  const set = await put(node, 'http_log', '/log', { accessLogs: [{ path: 'api-1.log', formatName: 'api' }, { path: 'api-2.log' }] });
  t.is(set.status, 200, set.body);
  await node.web('/log');
  const file = join(node.srv.prefix, 'logs/api-1.log');
  await waitFor('the line', () => readFileSync(file, 'utf8') === '{"at":"/log"} "; }\n');
  t.deepEqual(await shown(node, 'http_log', '/log'), {
    location: '/log',
    accessLogOn: true,
    accessLogs: [
      { path: 'api-1.log', formatName: 'api' },
      { path: 'api-2.log', formatName: 'combined' },
    ],
  });
  t.is((await put(node, 'http_log', '/log', { accessLogOn: false })).status, 200);
  await node.web('/log');
  t.like(await shown(node, 'http_log', '/log'), { accessLogOn: false });
  t.is((await put(node, 'http_log', '/log', { accessLogOn: true })).status, 200);
  await node.web('/log?again');
  await waitFor('the line', () => readFileSync(file, 'utf8').split('\n').length === 3);
  const { accessLogFormats: all } = (await node.call('GET', '/config/http_log')).json as { accessLogFormats: unknown };
  t.deepEqual(all, [{ name: 'kept', format: '$uri' }, format]);
  const used = await node.call('PUT', '/config/http_log', { accessLogFormats: [{ type: 'del', name: 'api' }] });
  t.regex(errorOf(used).details[0]?.message ?? '', /unknown log format "api"/);
});

test('http_log: targets, conditions, samples and levels of access logs and error logs, in files and at syslog servers with a name', async (t) => {
  const node = await shared();
  const objects = [
    {
      name: 'thing',
      keys: [
        { key: 'status', value: '$status' },
        { key: 'what; }', value: '$uri "x"' },
      ],
    },
  ];
  t.is((await node.call('PUT', '/config/http_log', { accessLogObjects: objects })).status, 200);
  const fields = {
    accessLogs: [
      { path: 'object.log', formatName: 'thing', condition: '$arg_log', sample: 2 },
      { syslog: 'central', formatName: 'combined' },
    ],
    errorLogs: [
      { path: 'all.log', level: 'info', json: true },
      { syslog: 'central', level: 'crit' },
    ],
  };
  const set = await put(node, 'http_log', '/log2', fields);
  t.is(set.status, 200, set.body);
  t.deepEqual(await shown(node, 'http_log', '/log2'), { location: '/log2', accessLogOn: true, ...fields });
  for (const query of ['', '?log=1', '?log=2', '?log=3']) await node.web(`/log2${query}`);
  const read = (name: string): string => readFileSync(join(node.srv.prefix, 'logs', name), 'utf8');
  await waitFor('two lines', () => read('object.log') === '{"status":204,"what; }":"/log2 \\"x\\""}\n'.repeat(2));
  t.regex(read('all.log'), /^\{"time":"[^"]+","level":"error",.*limiting requests, dry run/);
  t.is((await put(node, 'http_log', '/log2', { errorLogs: null })).status, 200);
  const { accessLogObjects: all } = (await node.call('GET', '/config/http_log')).json as { accessLogObjects: unknown };
  t.deepEqual(all, objects);
  for (const [wrong, place] of [
    [{ accessLogs: [{ syslog: 'other' }] }, 'accessLogs/0/syslog'],
    [{ accessLogs: [{}] }, 'accessLogs/0/path'],
    [{ accessLogs: [{ path: 'a.log', syslog: 'central' }] }, 'accessLogs/0/path'],
    [{ errorLogs: [{ path: '../x.log' }] }, 'errorLogs/0/path'],
    [{ errorLogs: [{ path: 'x.log', level: 'loud' }] }, 'errorLogs/0/level'],
    [{ accessLogs: [{ path: 'x.log', condition: 'a\nb' }] }, 'accessLogs/0/condition'],
  ] as const) {
    const rejected = await put(node, 'http_log', '/log2', wrong);
    t.is(rejected.status, 400, rejected.body);
    t.like(errorOf(rejected).details[0], { pointer: `/servers/0/locations/0/${place}` }, rejected.body);
  }
});

for (const path of [
  '../x.log',
  '/etc/cron.d/x',
  'a/b.log',
  '',
  '.',
  '..',
  '.hidden',
  '$uri.log',
  'a b',
  'x.log; }',
  'x\n.log',
  'syslog:server=1',
  'off/x',
]) {
  test(`http_log: no log is created at ${JSON.stringify(path)}`, async (t) => {
    const node = await shared();
    const refused = await put(node, 'http_log', '/rate', { accessLogs: [{ path }] });
    t.is(`${refused.status} ${errorOf(refused).code}`, '400 InvalidField', refused.body);
    t.like(errorOf(refused).details[0], { pointer: '/servers/0/locations/0/accessLogs/0/path' });
    t.false(existsSync(join(node.srv.prefix, 'x.log')));
  });
}

test('proxy_pass: a location gets another target; clients never name it, nor is it a socket of the machine', async (t) => {
  const node = await shared();
  t.is((await node.web('/pass')).body, 'one');
  const set = await put(node, 'proxy_pass', '/pass', { proxy_pass: `http://127.0.0.1:${node.srv.port('two')}/x$is_args$args` });
  t.is(set.status, 200, set.body);
  for (let n = 0; n < 4; n++) t.is((await node.web('/pass')).body, 'two');
  t.deepEqual(await shown(node, 'proxy_pass', '/vars'), { location: '/vars', proxy_pass: 'http://$arg_to' });
  t.is((await put(node, 'proxy_pass', '/vars', { proxy_pass: 'http://$arg_to' })).status, 200, 'what was shown can be sent back');
  for (const url of [
    'http://$arg_host',
    'http://unix:/var/run/docker.sock',
    'HTTP://UNIX:/x',
    'ftp://a',
    'http://',
    'http://a b',
    'http://a;',
    'a\nb',
    '',
  ]) {
    const refused = await put(node, 'proxy_pass', '/pass', { proxy_pass: url });
    t.is(refused.status, 400, `${url}: ${refused.body}`);
    t.like(errorOf(refused).details[0], { pointer: '/servers/0/locations/0/proxy_pass' }, url);
  }
  t.is((await node.web('/pass')).body, 'two');
});

test('http_dyn_auth: files of users have names, and are never shown', async (t) => {
  const node = await shared();
  const fields = { auth_basic: 'members "only"', auth_basic_user_file: 'staff' };
  const set = await put(node, 'http_dyn_auth', '/auth', fields);
  t.is(set.status, 200, set.body);
  const none = await node.web('/auth');
  t.is(none.status, 401);
  t.true(String(none.headers['www-authenticate']).startsWith(String.raw`Basic realm="members \"only\""`));
  const authorization = `Basic ${Buffer.from('bob:secret').toString('base64')}`;
  t.is((await get(node.srv.port('web'), '/auth', { headers: { authorization } })).status, 204);
  t.deepEqual(await shown(node, 'http_dyn_auth', '/auth'), { location: '/auth', ...fields });
  t.is((await put(node, 'http_dyn_auth', '/auth', { auth_basic: 'off' })).status, 200);
  t.is((await node.web('/auth')).status, 204);
  for (const [refused, field] of [
    [{ auth_basic: 'x', auth_basic_user_file: '/etc/passwd' }, 'auth_basic_user_file'],
    [{ auth_basic: 'x', auth_basic_user_file: 'missing' }, 'auth_basic_user_file'],
    [{ auth_basic: 'x' }, 'auth_basic_user_file'],
    [{ auth_basic: '$host', auth_basic_user_file: 'staff' }, 'auth_basic'],
    [{ auth_basic: 'a\r\nX-Evil: 1', auth_basic_user_file: 'staff' }, 'auth_basic'],
  ] as const) {
    const reply = await put(node, 'http_dyn_auth', '/auth2', refused);
    t.is(reply.status, 400, reply.body);
    t.like(errorOf(reply).details[0], { pointer: `/servers/0/locations/0/${field}` });
    t.notRegex(reply.body, /srv-test-|secret|apr1/);
  }
  t.is((await node.web('/auth2')).status, 204);
});

/** A change of each key: of the location `/`, or of the body itself. */
const CHANGES: Readonly<Record<string, { readonly location?: object; readonly global?: object }>> = {
  http_dyn_limit: {
    location: {
      limit_rate: '10k',
      limit_reqs: [{ zone: 'slow', burst: 5, delay: 2 }],
      limit_conns: [{ zone: 'conns', conn: 9 }],
      limit_conn_dry_run: true,
    },
    global: { limit_rps: [{ zone: 'slow', rate: '90r/m' }] },
  },
  http_dyn_fault_inject: { location: { fault_inject_type: 'delay_abort', delay_duration: '1ms', abort_percentage: 0.5, status_code: 499 } },
  http_dyn_map: {
    global: {
      maps: [
        { keyFrom: 'a "$arg_x"; }', keyTo: '$kept', values: [{ valueFrom: String.raw`~*^\\d{2};"'`, valueTo: '{$uri}' }] },
        { keyFrom: '$uri', keyTo: '$new', values: [{ valueFrom: '#', valueTo: '' }], isVolatile: true, hostnames: true },
      ],
    },
  },
  http_split_clients: { global: { splits: [{ keyFrom: '$uri $host', keyTo: '$variant', values: [{ percent: '12.5%', value: "'" }] }] } },
  http_log: {
    location: {
      accessLogs: [{ path: 'a.log', formatName: 'kept', condition: '$arg_a;', sample: 3 }],
      accessLogOn: false,
      errorLogs: [{ syslog: 'central', level: 'warn', json: true }],
    },
    global: {
      accessLogFormats: [{ name: 'kept', escape: 'none', format: String.raw`"\n$uri' {` }],
      accessLogObjects: [{ name: 'o', keys: [{ key: '"', value: '}' }] }],
    },
  },
  proxy_pass: { location: { proxy_pass: 'http://127.0.0.1:9/x;y{z}' } },
  http_dyn_auth: { location: { auth_basic: 'it\'s "us"; }', auth_basic_user_file: 'staff' } },
};

/** What all keys show. */
async function all(node: Node): Promise<readonly unknown[]> {
  const responses = await Promise.all(Object.keys(CHANGES).map((key) => node.call('GET', `/config/${key}`)));
  return responses.map(({ json, headers }) => ({ json, etag: headers['etag'] }));
}

test('changes of all keys survive kill -9, and are the same when they are saved into the file', async (t) => {
  const port = await freePort(t);
  const options = {
    ...OPTIONS,
    main: `load_module modules/srv_http_config_module.so; ${OPTIONS.main}`,
    controlMain: `load_module modules/srv_http_config_api_module.so; ${LOADED}`,
    http: `${HTTP} server { listen 127.0.0.1:${port}; location / { ${EMPTY} } }`,
    server: 'return 204;',
  };
  const node = await startNode(t, { ...options, allowCrashes: true });
  for (const [key, { location, global }] of Object.entries(CHANGES)) {
    const servers = [{ listens: [`127.0.0.1:${port}`], locations: [{ location: '/', ...location }] }];
    const put = await node.call('PUT', `/config/${key}`, { ...global, ...(location && { servers }) });
    t.is(put.status, 200, `${key}: ${put.body}`);
  }
  const before = await all(node);
  process.kill(node.srv.pid, 'SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.deepEqual(await all(again), before);
  const saved = await again.call('POST', '/config/save');
  t.is(saved.status, 200, saved.body);
  t.deepEqual((await again.call('GET', '/config/drift')).json, { diff: [] });
  t.deepEqual(await all(again), before);
  const seen = again.srv.log().split('reconfigured').length;
  again.srv.signal('SIGHUP');
  await waitFor('the reload', () => again.srv.log().split('reconfigured').length > seen);
  t.deepEqual(await all(again), before);
});
