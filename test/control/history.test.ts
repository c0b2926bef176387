import test, { type ExecutionContext } from 'ava';
import { defaultNodeName } from '../../core/kernel/node-name.js';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { sharedNode, startNode, upstreams, type Node } from './node.js';
import { RandomChanges } from './random-changes.js';

const SETTINGS = 'load_module modules/srv_http_dyn_header_module.so; load_module modules/srv_http_dyn_proxy_pass_module.so;';
const MODULES = {
  main: `load_module modules/srv_http_config_module.so; load_module modules/srv_http_location_module.so; ${SETTINGS}`,
  controlMain: `load_module modules/srv_http_config_api_module.so; load_module modules/srv_http_transactions_api_module.so; load_module modules/srv_http_history_api_module.so;
    load_module modules/srv_http_location_api_module.so; ${SETTINGS}`,
};
const RANDOM = `
  upstream order { zone order 64k; server 10.0.0.1; server 10.0.0.2; server 10.0.0.3; keepalive 32; }
  server {
    listen 127.0.0.1:%%PORT_random%%; server_name random.example;
    location /p { proxy_pass http://order; add_header F 1; proxy_set_header X 1; }
    location /q { add_header A 1; }
    return 204;
  }
  server { listen 127.0.0.1:%%PORT_other%%; location /p { proxy_pass http://order; } }
  server { listen 127.0.0.1:%%PORT_key%%; return 200 "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"; }`;
const shared = sharedNode({
  ...MODULES,
  http: `${upstreams('demo', 'back', 'dry', 'list')} ${RANDOM}`,
  server: 'location / { return 200 "file"; }',
});

async function version(node: Node): Promise<number> {
  const { etag = '' } = (await node.call('GET', '/history?limit=1')).headers;
  return Number(etag.replaceAll('"', ''));
}

async function effective(node: Node): Promise<string> {
  return (await get(node.srv.port('api'), '/api/v1/config/effective?format=text')).body;
}

async function reload({ srv }: Node): Promise<void> {
  const done = (): number => srv.log().split('reconfigured').length;
  const before = done();
  srv.signal('SIGHUP');
  await waitFor('the reload', () => done() > before);
}

/** Calls that have to succeed, for the location of the API `/api-location` on port `random`. */
function location(t: ExecutionContext, node: Node) {
  const address = `127.0.0.1:${node.srv.port('random')}`;
  const call = async (method: string, path: string, body: object): Promise<void> => {
    const response = await node.call(method, path, body);
    t.is(response.status, 200, response.body);
  };
  const place = { location_rule: '', location_name: '/api-location' };
  return {
    add: (fields: object) => call('POST', '/dyn_loc', { addr_port: address, locations: [{ ...place, ...fields }] }),
    patch: (fields: object) => call('PATCH', '/dyn_loc', { addr_port: address, ...place, ...fields }),
    remove: () => call('PUT', '/dyn_loc', { type: 'del', addr_port: address, ...place }),
    set: (key: string, fields: object) =>
      call('PUT', `/config/${key}`, { servers: [{ listens: [address], locations: [{ location: '/api-location', ...fields }] }] }),
  };
}

/** What a dry run of a rollback says. */
async function way(node: Node, to: number): Promise<readonly string[]> {
  return ((await rollback(node, to, '?dry_run=1')).json as { diff: readonly string[] }).diff;
}

function rollback(node: Node, to: number | string, query = '') {
  return node.call('POST', `/history/${to}/rollback${query}`, {});
}

test.serial('the configuration in force is shown as text and as JSON, with what the API changed', async (t) => {
  const node = await shared();
  const added = await node.upstreams('POST', '/list/servers', { server: '10.0.0.9' });
  t.is(added.status, 201);
  const text = await get(node.srv.port('api'), '/api/v1/config/effective?format=text');
  t.regex(String(text.headers['content-type']), /^text\/plain/);
  t.regex(text.body, /upstream list \{\n[^}]* server 10\.0\.0\.9:80;\n/);
  const json = (await node.call('GET', '/config/effective')).json as { directive: string; args: string[] }[];
  t.like(
    json.find(({ directive }) => directive === 'worker_processes'),
    { args: ['2'] },
  );
  const { diff } = (await node.call('GET', '/config/drift')).json as { diff: string[] };
  t.deepEqual(diff, ['http / upstream list', '+ server 10.0.0.9:80;']);
});

test.serial('changes are listed, the newest first, with node and caller', async (t) => {
  const node = await shared();
  await node.upstreams('POST', '/list/servers', { server: '10.0.0.7' });
  const changed = await node.upstreams('PATCH', '/list/servers/10.0.0.7', { weight: 3 });
  t.is(changed.status, 200);
  const page = await get(node.srv.port('api'), '/api/v1/history?limit=2');
  const [newest, older] = JSON.parse(page.body) as {
    changes: { place: string; before?: string; after?: string }[];
    node: string;
    origin: string;
    at: string;
  }[];
  t.regex(newest?.changes[0]?.place ?? '', /^http \/ upstream list \/ server@\d+$/);
  t.like(newest?.changes[0], { before: 'server 10.0.0.7:80;\n', after: 'server 10.0.0.7:80 weight=3;\n' });
  t.like(older?.changes[0], { after: 'server 10.0.0.7:80;\n' });
  t.is(newest?.node, defaultNodeName());
  t.regex(newest?.origin ?? '', /^[0-9a-f]{32}$/);
  t.regex(newest?.at ?? '', /^\d{4}-\d\d-\d\dT/);
  t.regex(String(page.headers['link']), /rel="next"/);
});

test.serial('a change has the message of its caller, also a transaction and a rollback', async (t) => {
  const node = await shared();
  const message = 'Lager für März: größer 😀';
  // Header fields are bytes.
  const headers = { 'change-message': Buffer.from(message).toString('latin1') };
  const latest = async () => ((await node.call('GET', '/history?limit=1')).json as { message?: string; version: number }[])[0];
  const path = '/upstream_api/http/upstreams/list/servers';
  t.is((await node.call('POST', path, { server: '10.0.0.6' }, headers)).status, 201);
  const first = await latest();
  t.is(first?.message, message);
  const calls = [{ method: 'PATCH', path: `/v1${path}/10.0.0.6`, body: { weight: 2 } }];
  t.is((await node.call('POST', '/transactions', { calls }, { 'change-message': 'both' })).status, 200);
  t.is((await latest())?.message, 'both');
  t.is((await node.call('POST', `/history/${first?.version}/rollback`, undefined, { 'change-message': 'back' })).status, 200);
  t.is((await latest())?.message, 'back');
  t.is((await node.call('DELETE', `${path}/10.0.0.6`, undefined, { 'change-message': '' })).status, 200);
  t.false('message' in ((await latest()) ?? {}));
});

test.serial('a message that is long or more than one line is rejected, and nothing is changed', async (t) => {
  const node = await shared();
  const before = await version(node);
  for (const [message, said] of [
    ['x'.repeat(201), 'must not have more than 200 characters'],
    ['a\tb', 'must be one line without control characters'],
    [Buffer.from('a\u2028b').toString('latin1'), 'must be one line without control characters'],
    [Buffer.from('a\u202eb').toString('latin1'), 'must be one line without control characters'],
    [Buffer.from('\u0085').toString('latin1'), 'must be one line without control characters'],
    ['gr\u00fcn', 'must be UTF-8'],
  ] as const) {
    const rejected = await node.upstreams('POST', '/list/servers', { server: '10.0.0.5', weight: 0 }, { 'change-message': message });
    t.deepEqual(errorOf(rejected).details, [
      { pointer: 'Change-Message', message: said },
      { pointer: '/weight', message: 'must be >= 1' },
    ]);
  }
  t.is(await version(node), before);
  const longest = { 'change-message': Buffer.from('ü'.repeat(200)).toString('latin1') };
  t.is((await node.upstreams('POST', '/list/servers?dry_run=1', { server: '10.0.0.5' }, longest)).status, 200);
});

test.serial('a rollback takes back members that came, went and changed, and itself', async (t) => {
  const node = await shared();
  const before = await node.members('back');
  const start = await version(node);
  await node.upstreams('POST', '/back/servers', { server: '10.0.0.1' });
  await node.upstreams('PATCH', '/back/servers/0', { weight: 5 });
  await node.upstreams('DELETE', '/back/servers/1');
  const changed = await node.members('back');
  const middle = await version(node);
  const done = await rollback(node, start);
  t.is(done.status, 200, done.body);
  t.is((done.json as { version: number }).version, middle + 1);
  t.deepEqual(new Set(await node.members('back')), new Set(before));
  t.is((await rollback(node, middle)).status, 200);
  t.deepEqual(new Set(await node.members('back')), new Set(changed));
});

test.serial('locations come back with what was changed in them', async (t) => {
  const node = await shared();
  const place = { addr_port: `127.0.0.1:${node.srv.port('web')}` };
  const outer = { location_rule: '', location_name: '/a' };
  const inner = { location_rule: '', location_name: '/a/b', location_body: 'return 200 "one"' };
  await node.call('POST', '/dyn_loc', { ...place, locations: [{ ...outer, locations: [inner] }] });
  const first = await version(node);
  await node.call('PATCH', '/dyn_loc', { ...place, within: [outer], ...inner, location_body: 'return 200 "two"' });
  await node.call('PATCH', '/dyn_loc?force=1', { ...place, location_rule: '', location_name: '/', location_body: 'return 200 "changed"' });
  await node.call('PUT', '/dyn_loc', { type: 'del', ...place, ...outer });
  t.is((await node.web('/a/b')).body, 'changed');
  t.is((await rollback(node, first)).status, 200);
  for (let n = 0; n < 6; n++) t.is((await node.web('/a/b')).body, 'one');
  t.is((await node.web('/')).body, 'file');
});

test.serial('a dry run shows the way back and does not go it; unknown versions are rejected', async (t) => {
  const node = await shared();
  const start = await version(node);
  await node.upstreams('POST', '/dry/servers', { server: '10.0.0.1' });
  const dry = await rollback(node, start, '?dry_run=1');
  t.deepEqual(dry.json, { dry_run: true, diff: ['http / upstream dry', '- server 10.0.0.1:80;'] });
  t.is((await node.members('dry')).length, 3);
  for (const unknown of [999_999, 0]) t.is(errorOf(await rollback(node, unknown)).code, 'VersionNotFound');
  t.is(errorOf(await rollback(node, 'x')).code, 'InvalidField');
});

test.serial('a location of the API goes, whatever was changed in it', async (t) => {
  const node = await shared();
  const start = await version(node);
  const before = await effective(node);
  const own = location(t, node);
  await own.add({ location_body: 'add_header X 1', proxy_pass: 'http://order/' });
  await own.set('proxy_pass', { proxy_pass: 'http://order/x' });
  await own.set('http_dyn_header', { headers: [{ key: 'A', value: '5' }] });
  const done = await rollback(node, start);
  t.is(done.status, 200, done.body);
  t.is(await effective(node), before);
});

test.serial('the dry run of a rollback over several versions is what happens', async (t) => {
  const node = await shared();
  const place = `http / server listen 127.0.0.1:${node.srv.port('random')}; server_name random.example`;
  const start = await version(node);
  const own = location(t, node);
  await own.add({ location_body: 'add_header X 1', proxy_pass: 'http://order/' });
  const added = await version(node);
  const text = await effective(node);
  await own.set('proxy_pass', { proxy_pass: 'http://order/x' });
  await own.set('http_dyn_header', { headers: [{ key: 'A', value: '5' }] });
  await own.patch({ proxy_pass: 'http://order/z' });
  t.deepEqual(await way(node, start), [
    place,
    '- location /api-location {',
    '-     proxy_pass http://order/z;',
    '-     add_header A 5;',
    '- }',
  ]);
  await own.remove();
  t.deepEqual(await way(node, added), [
    place,
    '+ location /api-location {',
    '+     proxy_pass http://order/;',
    '+     add_header X 1;',
    '+ }',
  ]);
  t.deepEqual(await way(node, start), []);
  t.is((await rollback(node, added)).status, 200);
  t.is(await effective(node), text);
  await own.set('http_dyn_header', { headers: [] });
  await reload(node);
  t.false((await effective(node)).includes('add_header X 1'), 'nothing of what came back is left behind');
  t.is((await rollback(node, start)).status, 200);
});

test.serial('a dry run names the servers', async (t) => {
  const node = await shared();
  const ports = ['random', 'other'].map((name) => node.srv.port(name));
  const servers = ports.map((port) => ({ listens: [`127.0.0.1:${port}`], locations: [{ location: '/p', proxy_pass: 'http://demo' }] }));
  const { diff } = (await node.call('PUT', '/config/proxy_pass?dry_run=1', { servers })).json as { diff: readonly string[] };
  t.deepEqual(
    diff.filter((line) => line.startsWith('http')),
    [
      `http / server listen 127.0.0.1:${ports[0]}; server_name random.example / location /p`,
      `http / server listen 127.0.0.1:${ports[1]} / location /p`,
    ],
  );
});

test.serial('members come back in their places', async (t) => {
  const node = await shared();
  const start = await version(node);
  const before = await effective(node);
  t.is((await node.upstreams('DELETE', '/order/servers/1')).status, 200);
  t.is((await node.upstreams('DELETE', '/order/servers/0')).status, 200);
  t.is((await rollback(node, start)).status, 200);
  t.is(await effective(node), before);
});

test.serial('after random changes each version is reached again, as the dry run says, and a reload keeps it', async (t) => {
  const node = await shared();
  const random = new RandomChanges(Number(process.env['SEED'] ?? 7), {
    address: `127.0.0.1:${node.srv.port('random')}`,
    upstream: 'order',
  });
  const start = await version(node);
  const states = new Map([[start, await effective(node)]]);
  for (let round = 0; round < ROUNDS; round++) {
    for (let n = 0; n < CHANGES; n++) {
      const { method, path, body } = random.call();
      const { status, body: text } = await node.call(method, path, body);
      t.true(status < 500, text);
      states.set(await version(node), await effective(node));
    }
    const [to, wanted] = [...states][random.below(states.size)] ?? [start, ''];
    const now = await effective(node);
    const diff = await way(node, to);
    const done = await rollback(node, to);
    t.is(done.status, 200, done.body);
    const reached = await effective(node);
    t.is(reached, wanted);
    t.deepEqual(difference(diff), lineDifference(now, reached));
    if (round % 3 === 0) {
      await reload(node);
      t.is(await effective(node), reached, 'file and journal make what was in force');
    }
    states.set(await version(node), reached);
  }
  t.is((await rollback(node, start)).status, 200);
});

const ROUNDS = 9;
const CHANGES = 6;

/** How many more of each line there are; lines with none are left out. */
function difference(signed: readonly string[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const line of signed) {
    const sign = { '+': 1, '-': -1 }[line.slice(0, 1)];
    const text = line.slice(1).trim();
    if (sign !== undefined) counts.set(text, (counts.get(text) ?? 0) + sign);
  }
  return Object.fromEntries([...counts].filter(([, count]) => count !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const lines = (sign: string, text: string): string[] => text.split('\n').map((line) => `${sign} ${line}`);

function lineDifference(before: string, after: string) {
  return difference([...lines('-', before), ...lines('+', after)]);
}

test('a reload is in the history, and stays when calls before it are taken back; all of it survives kill -9', async (t) => {
  const port = await freePort(t);
  const conf = (text: string) => `server { listen 127.0.0.1:${port}; location / { return 200 "${text}"; } }`;
  const options = { ...MODULES, http: `${upstreams('demo')} ${conf('old')}`, server: 'return 204;', allowCrashes: true };
  const node = await startNode(t, options);
  const start = await version(node);
  await node.upstreams('POST', '/demo/servers', { server: '10.0.0.1' });
  const { srv } = node;
  await srv.configure(srv.read('conf/srv.conf').replace('"old"', '"new"'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  const [reload] = (await node.call('GET', '/history')).json as { origin: string; diff: string[] }[];
  t.is(reload?.origin, 'reload');
  t.true(reload?.diff.includes('+ return 200 "new";'), JSON.stringify(reload));
  srv.signal('SIGKILL');
  await srv.exited;
  const again = await startNode(t, { ...options, http: `${upstreams('demo')} ${conf('new')}`, prefix: srv.prefix });
  t.is((await again.members()).length, 3);
  const back = await rollback(again, start);
  t.is(back.status, 200, back.body);
  t.is((await again.members()).length, 2);
  t.is((await get(port, '/')).body, 'new');
  t.deepEqual((await again.call('GET', '/config/drift')).json, { diff: [] });
});

test('what is as the file has it again follows the file again', async (t) => {
  const port = await freePort(t);
  const http = `${upstreams('demo')} server { listen 127.0.0.1:${port}; location / { return 200 "root"; } location /st { return 200 "one"; } }`;
  const servers = 'load_module modules/srv_http_dyn_server_module.so;';
  const options = {
    ...MODULES,
    main: `${MODULES.main} ${servers}`,
    controlMain: `${MODULES.controlMain} load_module modules/srv_http_dyn_server_api_module.so;`,
    http,
    server: 'return 204;',
  };
  const node = await startNode(t, options);
  const { srv } = node;
  const place = { addr_port: `127.0.0.1:${port}` };
  const drift = async () => ((await node.call('GET', '/config/drift')).json as { diff: string[] }).diff;
  const back = async (to: number) => {
    const done = await rollback(node, to);
    t.is(done.status, 200, done.body);
  };
  const start = (await node.call('GET', '/history')).headers['etag'];
  const first = Number(String(start).replaceAll('"', ''));

  // Members, twice; a location; a server, and then a location in it.
  await node.upstreams('PATCH', '/demo/servers/0', { weight: 3 });
  await node.upstreams('PATCH', '/demo/servers/1', { weight: 9 });
  await back(first);
  await node.upstreams('DELETE', '/demo/servers/0');
  await back(first);
  t.deepEqual(await drift(), []);
  await node.call('PUT', '/dyn_loc?force=1', { type: 'del', ...place, location_rule: '', location_name: '/st' });
  t.is((await get(port, '/st')).body, 'root');
  await back(first);
  t.deepEqual(await drift(), []);
  await node.call('PUT', '/dyn_srv?force=1', { type: 'del', ...place });
  await back(first);
  t.is((await get(port, '/st')).body, 'one');
  const second = await version(node);
  await node.call('PATCH', '/dyn_loc?force=1', { ...place, location_rule: '', location_name: '/st', location_body: 'return 200 "two"' });
  t.is((await get(port, '/st')).body, 'two');
  await back(second);
  t.is((await get(port, '/st')).body, 'one');
  t.deepEqual(await drift(), []);

  await srv.configure(srv.read('conf/srv.conf').replace('"one"', '"three"').replace('127.0.0.1:2 weight=2', '127.0.0.1:2 weight=4'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is((await get(port, '/st')).body, 'three');
  t.like((await node.members())[1], { id: 1, weight: 4 });
  const newest = await version(node);
  await back(newest);
  t.is(await version(node), newest, 'nothing was changed');
});

test.serial('a rollback can be made to depend on the current configuration', async (t) => {
  const node = await shared();
  const start = await version(node);
  await node.upstreams('POST', '/dry/servers', { server: '10.0.0.2' });
  const { etag = '' } = (await node.call('GET', '/history')).headers;
  t.is((await node.call('POST', `/history/${start}/rollback`, {}, { 'if-match': '"0"' })).status, 412);
  t.is((await node.call('POST', `/history/${start}/rollback`, {}, { 'if-match': etag })).status, 200);
});

test.serial('a private key in the configuration is never shown', async (t) => {
  const node = await shared();
  t.regex((await get(node.srv.port('key'), '/')).body, /abc/);
  for (const body of [(await node.call('GET', '/config/effective')).body, await effective(node)]) {
    t.true(body.includes(String(node.srv.port('key'))));
    t.notRegex(body, /abc/);
  }
});
