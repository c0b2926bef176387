import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { fileScope } from '../harness/scope.js';
import { errorOf } from './api-client.js';
import { sharedNode, startNode } from './node.js';

const MODULES = {
  main: 'load_module modules/srv_http_dyn_upstream_module.so; load_module modules/srv_http_location_module.so;',
  controlMain: 'load_module modules/srv_http_dyn_upstream_api_module.so; load_module modules/srv_http_location_api_module.so;',
};
const shared = sharedNode({
  ...MODULES,
  files: { 'state/stated': 'server 127.0.0.1:1;\n' },
  http: 'upstream fixed { zone fixed 64k; server 127.0.0.1:1; } upstream used { zone used 64k; server 127.0.0.1:1; } upstream stated { zone stated 64k; state state/stated; }',
  server: 'server_name web; location / { proxy_pass http://$arg_to; } location /used { proxy_pass http://used; }',
});
const backend = httpBackend(fileScope(), (_, response) => response.end('hello'));
const member = async (): Promise<string> => `127.0.0.1:${(await backend).port}`;

test('an upstream is added, serves in every worker, takes members, and is removed', async (t) => {
  const node = await shared();
  const body = `zone shop 1m; least_conn; keepalive 16; server ${await member()} weight=2`;
  const added = await node.call('POST', '/dyn_ups', { type: 'add', upstream_name: 'shop', upstream_body: body });
  t.is(added.status, 200, added.body);
  t.deepEqual(added.json, { code: 0, msg: 'success.' });
  t.is((await node.web('/?to=SHOP')).body, 'hello', 'as in nginx, names have no case');
  for (let n = 0; n < 8; n++) t.is((await node.web('/?to=shop')).body, 'hello');
  t.is((await node.upstreams('POST', '/shop/servers', { server: '10.0.0.1', down: true })).status, 201);
  t.like((await node.call('GET', '/dyn_ups/shop')).json, {
    upstream_name: 'shop',
    algorithm: 'least_conn',
    zone: 'shop',
    keepalive: '16',
    keepalive_timeout: '60s',
    is_static: false,
    upstream_body: `zone shop 1m;\nleast_conn;\nkeepalive 16;\nserver ${await member()} weight=2;\nserver 10.0.0.1:80 down;\n`,
  });
  t.is((await node.call('PUT', '/dyn_ups', { type: 'del', upstream_name: 'shop' })).status, 200);
  t.is((await node.web('/?to=shop')).status, 502);
  t.is(errorOf(await node.call('GET', '/dyn_ups/shop')).code, 'UpstreamNotFound');
});

test('PATCH changes the directives and keeps the members with their ids and figures', async (t) => {
  const node = await shared();
  await node.call('POST', '/dyn_ups', { upstream_name: 'kept', upstream_body: `zone kept 64k; server ${await member()}` });
  await node.web('/?to=kept');
  const before = await node.members('kept');
  t.is((await node.call('PATCH', '/dyn_ups/kept', { upstream_body: 'zone kept 64k; random two least_conn' })).status, 200);
  t.deepEqual(await node.members('kept'), before);
  const [peer] = ((await node.upstreams('GET', '/kept')).json as { peers: { requests: number }[] }).peers;
  t.is(peer?.requests, 1);
  t.like((await node.call('GET', '/dyn_ups/kept')).json, { algorithm: 'random two least_conn' });
  t.is((await node.web('/?to=kept')).body, 'hello');
  const refused = await node.call('PATCH', '/dyn_ups/kept', { upstream_body: 'zone kept 64k; server 10.0.0.1' });
  t.like(errorOf(refused), { code: 'InvalidField', details: [{ pointer: '/upstream_body' }] });
});

const ZONE = 'zone wrong 64k; server 127.0.0.1:1;';
for (const [what, call, expected] of [
  ['a name that is taken', ['POST', '', { upstream_name: 'fixed', upstream_body: ZONE }], '409 EntryExists'],
  ['a name that is taken in lower case', ['POST', '', { upstream_name: 'FIXED', upstream_body: ZONE }], '409 EntryExists'],
  ['one in use, in upper case', ['PUT', '?force=1', { type: 'del', upstream_name: 'USED' }], '409 UpstreamInUse'],
  ['no zone', ['POST', '', { upstream_name: 'wrong', upstream_body: 'server 127.0.0.1:1' }], '400 InvalidField'],
  ['a state file', ['POST', '', { upstream_name: 'wrong', upstream_body: `${ZONE} state /tmp/state` }], '400 InvalidField'],
  ['a state file later', ['PATCH', '/fixed?force=1', { upstream_body: 'zone fixed 64k; state /tmp/state' }], '400 InvalidField'],
  ['an upstream with a state file', ['PATCH', '/stated?force=1', { upstream_body: 'zone stated 64k' }], '409 UpstreamStatic'],
  ['removal of one with a state file', ['PUT', '?force=1', { type: 'del', upstream_name: 'stated' }], '409 UpstreamStatic'],
  ['backup servers alone', ['POST', '', { upstream_name: 'wrong', upstream_body: `${ZONE.slice(0, -1)} backup` }], '400 InvalidField'],
  ['no members and no zone', ['POST', '', { upstream_name: 'wrong', upstream_body: '' }], '400 InvalidField'],
  ['an unknown directive', ['POST', '', { upstream_name: 'wrong', upstream_body: `${ZONE} foo on` }], '400 ConfigError'],
  ['the end of its block', ['POST', '', { upstream_name: 'wrong', upstream_body: `${ZONE} } upstream evil { ${ZONE}` }], '400 ConfigError'],
  ['a file', ['POST', '', { upstream_name: 'wrong', upstream_body: `${ZONE} include /etc/passwd` }], '400 ConfigError'],
  [
    'a zone of another upstream',
    ['POST', '', { upstream_name: 'wrong', upstream_body: 'zone fixed 128k; server 127.0.0.1:1' }],
    '400 InvalidField',
  ],
  [
    'a zone of another upstream, without a size',
    ['POST', '', { upstream_name: 'wrong', upstream_body: 'zone fixed; server 127.0.0.1:1' }],
    '400 InvalidField',
  ],
  ['a zone of another upstream later', ['PATCH', '/used?force=1', { upstream_body: 'zone fixed 64k' }], '400 InvalidField'],
  ['no name', ['POST', '', { upstream_name: '', upstream_body: ZONE }], '400 InvalidField'],
  ['a name that is a step of a path', ['POST', '', { upstream_name: '..', upstream_body: ZONE }], '400 InvalidField'],
  ['the same of one part', ['POST', '', { upstream_name: '.', upstream_body: ZONE }], '400 InvalidField'],
  ['one of the file', ['PUT', '', { type: 'del', upstream_name: 'fixed' }], '409 UpstreamStatic'],
  ['a change of one of the file', ['PATCH', '/fixed', { upstream_body: 'zone fixed 64k; least_conn' }], '409 UpstreamStatic'],
  ['an unknown one', ['PUT', '', { type: 'del', upstream_name: 'nobody' }], '404 UpstreamNotFound'],
  ['one in use', ['PUT', '?force=1', { type: 'del', upstream_name: 'used' }], '409 UpstreamInUse'],
  [
    'more memory than the pool has',
    ['POST', '', { upstream_name: 'wrong', upstream_body: 'zone wrong 1g; server 127.0.0.1:1' }],
    '507 SharedPoolExhausted',
  ],
  [
    'a larger zone of one of the file than the pool has',
    ['PATCH', '/fixed?force=1', { upstream_body: 'zone fixed 1g;' }],
    '507 SharedPoolExhausted',
  ],
] as const) {
  test(`rejected: ${what}`, async (t) => {
    const node = await shared();
    const [method, path, body] = call;
    const response = await node.call(method, `/dyn_ups${path}`, body);
    t.is(`${response.status} ${errorOf(response).code}`, expected, response.body);
    t.is((await node.call('GET', '/dyn_ups/wrong')).status, 404);
  });
}

test('an error in text of an earlier call has its place, and no pointer into this one', async (t) => {
  const node = await shared();
  const place = { addr_port: `127.0.0.1:${node.srv.port('web')}`, server_name: 'web' };
  const location = { location_rule: '', location_name: '/earlier', location_body: 'proxy_pass https://127.0.0.1:1' };
  t.is((await node.call('POST', '/dyn_loc', { ...place, locations: [location] })).status, 200);
  const refused = await node.call('POST', '/dyn_ups', { upstream_name: '127.0.0.1', upstream_body: 'zone "127.0.0.1" 64k' });
  const { code, details } = errorOf(refused);
  t.is(code, 'ConfigError', refused.body);
  t.regex(JSON.stringify(details), /"place":"http \/ server[^"]* \/ location \/earlier/);
  t.notRegex(refused.body, /pointer/);
});

test('users of an upstream that cannot be removed are named', async (t) => {
  const node = await shared();
  const refused = await node.call('PUT', '/dyn_ups?force=1', { type: 'del', upstream_name: 'used' });
  t.deepEqual(errorOf(refused).details, [
    { addr_port: `127.0.0.1:${node.srv.port('web')}`, server_name: 'web', location: '/used' },
  ] as never);
});

test('upstreams are listed, also in pages', async (t) => {
  const node = await shared();
  await node.call('POST', '/dyn_ups', { upstream_name: 'listed', upstream_body: 'zone listed 64k; server 127.0.0.1:1' });
  const names = async (query: string) =>
    ((await node.call('GET', `/dyn_ups${query}`)).json as { upstream_name: string; is_static: boolean }[]).map(
      ({ upstream_name: name, is_static: isStatic }) => `${name} ${isStatic}`,
    );
  const all = await names('');
  t.deepEqual(all.slice(0, 2), ['fixed true', 'used true']);
  t.true(all.includes('listed false'));
  const first = await get(node.srv.port('api'), '/api/v1/dyn_ups?limit=1');
  t.regex(String(first.headers['link']), /limit=1&after=fixed>; rel="next"/);
});

test('a dry run and If-Match change nothing', async (t) => {
  const node = await shared();
  const body = { upstream_name: 'dry', upstream_body: 'zone dry 64k; server 127.0.0.1:1' };
  t.like((await node.call('POST', '/dyn_ups?dry_run=1', body)).json, { dry_run: true });
  t.is((await node.call('GET', '/dyn_ups/dry')).status, 404);
  const added = await node.call('POST', '/dyn_ups', body);
  const patch = { upstream_body: 'zone dry 64k; least_conn' };
  t.is((await node.call('PATCH', '/dyn_ups/dry', patch, { 'if-match': '"0"' })).status, 412);
  t.is((await node.call('PATCH', '/dyn_ups/dry', patch, { 'if-match': String(added.headers['etag']) })).status, 200);
});

test('upstreams survive kill -9, and their zones count again', async (t) => {
  const options = { ...MODULES, main: `${MODULES.main} shared_slab_pool_size 256k;`, allowCrashes: true };
  const node = await startNode(t, options);
  const add = (at: typeof node, name: string) =>
    at.call('POST', '/dyn_ups', { upstream_name: name, upstream_body: `zone ${name} 128k; server 127.0.0.1:1` });
  t.is((await add(node, 'one')).status, 200);
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.like((await again.call('GET', '/dyn_ups/one')).json, { is_static: false });
  t.is((await add(again, 'two')).status, 200);
  t.is(errorOf(await add(again, 'three')).code, 'SharedPoolExhausted');
  t.is((await again.call('PUT', '/dyn_ups', { type: 'del', upstream_name: 'one' })).status, 200);
  t.is((await add(again, 'three')).status, 200);
});
