import test from 'ava';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { errorOf } from './api-client.js';
import { sharedNode, startNode, upstreams, type Node } from './node.js';

const MODULES = {
  main: 'load_module modules/srv_http_config_module.so; load_module modules/srv_http_location_module.so;',
  controlMain: `load_module modules/srv_http_config_api_module.so; load_module modules/srv_http_history_api_module.so;
    load_module modules/srv_http_location_api_module.so;`,
};
const shared = sharedNode({ ...MODULES, http: upstreams('demo', 'back', 'dry', 'list'), server: 'location / { return 200 "file"; }' });

async function version(node: Node): Promise<number> {
  const [newest] = (await node.call('GET', '/history?limit=1')).json as { version: number }[];
  return newest?.version ?? 0;
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

test.serial('changes are listed, the newest first, with who made them', async (t) => {
  const node = await shared();
  await node.upstreams('POST', '/list/servers', { server: '10.0.0.7' });
  const changed = await node.upstreams('PATCH', '/list/servers/10.0.0.7', { weight: 3 });
  t.is(changed.status, 200);
  const page = await get(node.srv.port('api'), '/api/v1/history?limit=2');
  const [newest, older] = JSON.parse(page.body) as {
    changes: { place: string; before?: string; after?: string }[];
    origin: string;
    at: string;
  }[];
  t.regex(newest?.changes[0]?.place ?? '', /^http \/ upstream list \/ server@\d+$/);
  t.like(newest?.changes[0], { before: 'server 10.0.0.7:80;\n', after: 'server 10.0.0.7:80 weight=3;\n' });
  t.like(older?.changes[0], { after: 'server 10.0.0.7:80;\n' });
  t.regex(newest?.origin ?? '', /^[0-9a-f]{32}$/);
  t.regex(newest?.at ?? '', /^\d{4}-\d\d-\d\dT/);
  t.regex(String(page.headers['link']), /rel="next"/);
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

test.serial('a dry run shows the way back and does not go it; unknown versions are refused', async (t) => {
  const node = await shared();
  const start = await version(node);
  await node.upstreams('POST', '/dry/servers', { server: '10.0.0.1' });
  const dry = await rollback(node, start, '?dry_run=1');
  t.deepEqual(dry.json, { dry_run: true, diff: ['http / upstream dry', '- server 10.0.0.1:80;'] });
  t.is((await node.members('dry')).length, 3);
  t.is(errorOf(await rollback(node, 999_999)).code, 'VersionNotFound');
  t.is(errorOf(await rollback(node, 'x')).code, 'InvalidField');
});

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

test.serial('a rollback can be made to depend on what is in force', async (t) => {
  const node = await shared();
  const start = await version(node);
  await node.upstreams('POST', '/dry/servers', { server: '10.0.0.2' });
  const { etag = '' } = (await node.call('GET', '/history')).headers;
  t.is((await node.call('POST', `/history/${start}/rollback`, {}, { 'if-match': '"0"' })).status, 412);
  t.is((await node.call('POST', `/history/${start}/rollback`, {}, { 'if-match': etag })).status, 200);
});

test('a private key in the configuration is never shown', async (t) => {
  const node = await startNode(t, {
    ...MODULES,
    server: 'location / { return 200 "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----"; }',
  });
  t.notRegex((await node.call('GET', '/config/effective')).body, /abc/);
  t.notRegex((await get(node.srv.port('api'), '/api/v1/config/effective?format=text')).body, /abc/);
});
