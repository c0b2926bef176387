import type { RequestListener } from 'node:http';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { shared as sharedInFile } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { sharedNode, upstreams, type Node } from './node.js';

/** Upstreams whose members tests send requests to. */
const USED = ['figures', 'everywhere', 'leaving', 'replaced'];

/** An upstream for each of the tests. */
const shared = sharedNode({
  workers: 3,
  server: USED.map((name) => `location /${name} { proxy_pass http://${name}; }`).join('\n'),
  http: `${upstreams('demo', 'added', 'versions', 'dry')}
    ${USED.map((name) => `upstream ${name} { zone ${name} 256k; server 127.0.0.1:%%PORT_${name}%%; keepalive 4; }`).join('\n')}
    upstream wrong { zone wrong 256k; server 127.0.0.1; server [::1]:80; server unix:/tmp/s.sock; }
    upstream twice { zone twice 256k; server 10.0.0.1 weight=2; server 10.0.0.1 weight=3; }
    upstream named { zone named 256k; server localhost:1; server 10.0.0.1:1; }
    upstream full { zone full 32k; server 127.0.0.1:1; }
    upstream both { zone shared 32k; server 127.0.0.1:1; }
    upstream other { zone shared; server 127.0.0.1:1; }`,
});

const FIRST = {
  id: 0,
  server: '127.0.0.1:1',
  weight: 1,
  max_conns: 0,
  max_fails: 1,
  fail_timeout: '10s',
  slow_start: '0s',
  route: '',
  backup: false,
  down: false,
  drain: false,
};

/** What is only read. */
const read = sharedNode({
  http: `upstream demo { zone demo 256k; server 127.0.0.1:1; server 127.0.0.1:2 weight=2 fail_timeout=90s slow_start=1m30s backup drain; }
      upstream other { zone other 64k; server 127.0.0.1:1; }
      upstream static { server 127.0.0.1:1; }`,
});

test('the list of upstreams has those with a zone', async (t) => {
  const { status, json } = await (await read()).upstreams('GET', '/');
  t.is(status, 200);
  t.deepEqual(
    (json as { name: string }[]).map(({ name }) => name),
    ['demo', 'other'],
  );
});

test('an upstream is read with the figures of its members', async (t) => {
  const { json } = await (await read()).upstreams('GET', '/demo');
  t.like(json, { name: 'demo', zone: 'demo', keepalive: 0, zombies: 0 });
  const [peer] = (json as { peers: unknown[] }).peers;
  t.like(peer, {
    id: 0,
    server: '127.0.0.1:1',
    name: '127.0.0.1:1',
    backup: false,
    weight: 1,
    state: 'up',
    active: 0,
    requests: 0,
    fails: 0,
    unavail: 0,
  });
  t.deepEqual((peer as { responses: unknown }).responses, { '1xx': 0, '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, codes: {}, total: 0 });
});

test('members are read with their parameters, all or one', async (t) => {
  const node = await read();
  t.deepEqual(await node.members(), [
    FIRST,
    { ...FIRST, id: 1, server: '127.0.0.1:2', weight: 2, fail_timeout: '90s', slow_start: '90s', backup: true, drain: true },
  ]);
  t.deepEqual((await node.upstreams('GET', '/demo/servers/0')).json, FIRST);
});

for (const [path, expected] of [
  [
    '/demo/servers?fields=id,server',
    [
      { id: 0, server: '127.0.0.1:1' },
      { id: 1, server: '127.0.0.1:2' },
    ],
  ],
  ['/demo/?fields=zone,name', { zone: 'demo', name: 'demo' }],
] as const) {
  test(`fields that are asked for: ${path}`, async (t) => {
    t.deepEqual((await (await read()).upstreams('GET', path)).json, expected);
  });
}

for (const [method, path, code, body] of [
  ['GET', '/none', '404 UpstreamNotFound'],
  ['GET', '/static', '400 UpstreamStatic'],
  ['GET', '/static/servers/', '400 UpstreamStatic'],
  ['POST', '/static/servers/', '400 UpstreamStatic', { server: '10.0.0.1' }],
  ['DELETE', '/none/', '404 UpstreamNotFound'],
  ['GET', '/demo/servers/7', '404 UpstreamServerNotFound'],
  ['PATCH', '/demo/servers/7', '404 UpstreamServerNotFound', { down: true }],
  ['DELETE', '/demo/servers/7', '404 UpstreamServerNotFound'],
  ['GET', '/demo/servers/x', '400 UpstreamBadServerId'],
  ['GET', '/demo/servers/-1', '400 UpstreamBadServerId'],
  ['GET', '/demo/servers/1.5', '400 UpstreamBadServerId'],
  ['GET', '/demo/servers/0x1', '400 UpstreamBadServerId'],
  ['GET', '/demo/servers/99999999999999999999', '404 UpstreamServerNotFound'],
  ['PUT', '/demo/servers/1', '405 MethodNotAllowed', {}],
  ['GET', '/demo/peers', '404 PathNotFound'],
] as const) {
  test(`${method} ${path} is ${code}`, async (t) => {
    const response = await (await read()).upstreams(method, path, body);
    t.is(`${response.status} ${errorOf(response).code}`, code);
    t.is(response.status, errorOf(response).status);
  });
}

test('a member is added, changed and removed', async (t) => {
  const node = await shared();
  const added = await node.upstreams('POST', '/added/servers/', { server: '127.0.0.1:3' });
  t.is(added.status, 201);
  t.is(added.headers['location'], '/api/v1/upstream_api/http/upstreams/added/servers/2');
  t.deepEqual(added.json, { ...FIRST, id: 2, server: '127.0.0.1:3' });

  const full = {
    server: '[0:0::1]:4',
    weight: '3',
    max_conns: 5,
    max_fails: 0,
    fail_timeout: '120s',
    slow_start: '1500ms',
    route: 'a "b"\\ $c;{}',
    backup: true,
    down: true,
    drain: true,
  };
  const second = await node.upstreams('POST', '/added/servers', full);
  t.deepEqual(second.json, { ...full, id: 3, server: '[::1]:4', weight: 3, fail_timeout: '120s' });

  const changed = await node.upstreams('PATCH', '/added/servers/3', {
    backup: false,
    down: false,
    drain: false,
    weight: 7,
    fail_timeout: 3600,
    route: '',
  });
  t.is(changed.status, 200);
  t.deepEqual(changed.json, {
    ...FIRST,
    id: 3,
    server: '[::1]:4',
    weight: 7,
    max_conns: 5,
    max_fails: 0,
    fail_timeout: '3600s',
    slow_start: '1500ms',
  });
  for (const flag of ['backup', 'down', 'drain']) {
    for (const value of [true, false]) {
      const { json } = await node.upstreams('PATCH', '/added/servers/2', { [flag]: value });
      t.is((json as Record<string, unknown>)[flag] ?? false, value, `${flag} ${value}`);
    }
  }
  t.deepEqual((await node.upstreams('PATCH', '/added/servers/2', {})).json, { ...FIRST, id: 2, server: '127.0.0.1:3' });
  t.deepEqual((await node.upstreams('PATCH', '/added/servers/2', { server: '127.0.0.1:33' })).json, {
    ...FIRST,
    id: 2,
    server: '127.0.0.1:33',
  });

  const left = await node.upstreams('DELETE', '/added/servers/2');
  t.is(left.status, 200);
  t.deepEqual(
    (left.json as { id: number }[]).map(({ id }) => id),
    [0, 1, 3],
  );
  t.is((await node.upstreams('DELETE', '/added/servers/2')).status, 404);
  const next = await node.upstreams('POST', '/added/servers/', { server: '127.0.0.1:3' });
  t.is((next.json as { id: number }).id, 4);
});

test('wrong members are rejected for every reason, with all reasons, and change nothing', async (t) => {
  const node = await shared();
  const before = await node.members('wrong');
  const post = async (body: unknown) => {
    const answer = await node.upstreams('POST', '/wrong/servers/', body);
    return answer.status === 201 ? '201' : `${answer.status} ${errorOf(answer).code}`;
  };
  for (const server of [
    '1.2.3.4:99999',
    '300.1.1.1',
    '1.2.3.4:0',
    '1.2.3.4:',
    '1.2.3.4:x',
    ':80',
    '[::1',
    '[::g]:80',
    '[1.2.3.4]:80',
    '::1',
    'unix:',
    'unix:rel',
    'a b:80',
    'a;b',
    '10.0.0.1;',
    'x_}:80',
    '[fe80::1%eth0]:80',
  ]) {
    t.is(await post({ server }), '400 UpstreamBadAddress', server);
  }
  t.is(await post({ server: 'backend.example:80' }), '400 UpstreamConfNoResolver');
  for (const server of ['127.0.0.1', '127.0.0.1:80', '[0:0:0:0:0:0:0:1]', '[::0001]:80', 'unix:/tmp/s.sock'])
    t.is(await post({ server }), '409 EntryExists', server);
  const same = await node.upstreams('POST', '/wrong/servers/', { server: '[::1]' });
  t.deepEqual(errorOf(same).details, [{ id: 1 }] as never);
  t.is(errorOf(await node.upstreams('PATCH', '/wrong/servers/0', { server: '[::1]:80' })).code, 'EntryExists');
  t.is((await node.upstreams('PATCH', '/wrong/servers/0', { server: '127.0.0.1:80' })).status, 200);

  const wrong = {
    weight: 0,
    max_conns: -1,
    max_fails: 1.5,
    fail_timeout: 'soon',
    slow_start: '1s2s',
    route: 'x'.repeat(33),
    backup: 'yes',
    down: 1,
    drain: null,
    service: 'a\nb',
    colour: 'red',
  };
  const answer = await node.upstreams('POST', '/wrong/servers/', wrong);
  t.is(answer.status, 400);
  t.deepEqual(
    errorOf(answer)
      .details.map(({ pointer }) => pointer?.slice(1))
      .sort((a = '', b = '') => (a < b ? -1 : 1)),
    ['server', ...Object.keys(wrong)].sort((a, b) => (a < b ? -1 : 1)),
  );
  t.is(await post({ server: '10.0.0.9', service: 'http' }), '400 InvalidField');
  t.is(await post([]), '400 InvalidField');
  t.is(await post(undefined), '400 JsonError');
  t.is(await post({ server: '10.0.0.9', route: 'a\u0000' }), '400 InvalidField');
  t.deepEqual(await node.members('wrong'), before);
});

/** An upstream that is replaced as a whole, step by step. */
const replaced = sharedInFile(async (scope): Promise<{ node: Node; one: string; two: string }> => {
  const node = await shared();
  const backend = async (name: string, port?: number): Promise<string> =>
    `127.0.0.1:${(await httpBackend(scope, (_, response) => response.end(name), port)).port}`;
  return { node, one: await backend('one', node.srv.port('replaced')), two: await backend('two') };
});

test.serial('the whole set is replaced by address: members that stay keep id and figures', async (t) => {
  const { node, one, two } = await replaced();
  for (let n = 0; n < 3; n++) t.is((await node.web('/replaced')).body, 'one');
  const put = await node.upstreams('PUT', '/replaced/servers/', [{ server: two, weight: 2 }, { server: one }]);
  t.is(put.status, 200);
  t.deepEqual(await node.list('replaced'), [`0 ${one}`, `1 ${two}`]);
  t.like(((await node.upstreams('GET', '/replaced')).json as { peers: { id: number; requests: number }[] }).peers, [
    { id: 0, requests: 3 },
    { id: 1, requests: 0 },
  ]);
});

test.serial('what GET returns can be sent back, and changes nothing', async (t) => {
  const { node } = await replaced();
  const version = (await node.upstreams('GET', '/replaced/servers/')).headers['etag'];
  t.truthy(version);
  t.is((await node.upstreams('PUT', '/replaced/servers/', await node.members('replaced'))).headers['etag'], version);
});

test.serial('settings that a replacement does not name have their defaults', async (t) => {
  const { node, two } = await replaced();
  await node.upstreams('PUT', '/replaced/servers/', [{ server: two }]);
  t.deepEqual(await node.members('replaced'), [{ ...FIRST, id: 1, server: two }]);
  t.is((await node.web('/replaced')).body, 'two');
});

test.serial('a replacement with errors is rejected with all of them, and changes nothing', async (t) => {
  const { node, two } = await replaced();
  const twice = await node.upstreams('PUT', '/replaced/servers/', [
    { server: '10.0.0.1' },
    { server: '10.0.0.2' },
    { server: '10.0.0.1:80' },
  ]);
  t.is(errorOf(twice).code, 'EntryExists');
  t.deepEqual(errorOf(twice).details, [{ pointers: ['/0', '/2'] }] as never);
  const bad = await node.upstreams('PUT', '/replaced/servers/', [
    { server: '10.0.0.1' },
    { server: 'nowhere:1:2' },
    { server: '10.0.0.2:99999' },
    { server: '10.0.0.3', parent: 1 },
  ]);
  t.is(bad.status, 400);
  t.deepEqual(
    errorOf(bad).details.map(({ pointer }) => pointer),
    ['/1/server', '/2/server', '/3/parent'],
  );
  t.deepEqual(await node.list('replaced'), [`1 ${two}`]);
});

test.serial('what counts is the address, not the id that is beside it', async (t) => {
  const { node } = await replaced();
  await node.upstreams('PUT', '/replaced/servers/', [{ id: 1, server: '10.0.0.9:80' }]);
  t.deepEqual(await node.list('replaced'), ['2 10.0.0.9:80']);
});

test.serial('an empty set is a set', async (t) => {
  const { node } = await replaced();
  t.deepEqual((await node.upstreams('PUT', '/replaced/servers/', [])).json, []);
  t.is((await node.web('/replaced')).status, 502);
});

test('an upstream whose file names an address twice can be changed', async (t) => {
  const node = await shared();
  t.is((await node.upstreams('PATCH', '/twice/servers/1', { weight: 50 })).status, 200);
  const members = await node.members('twice');
  t.deepEqual(
    members.map(({ id, weight }) => `${id} ${String(weight)}`),
    ['0 2', '1 50'],
  );
  t.deepEqual((await node.upstreams('PUT', '/twice/servers/', members)).json, members);
  t.is(errorOf(await node.upstreams('POST', '/twice/servers/', { server: '10.0.0.1' })).code, 'EntryExists');
  t.is(errorOf(await node.upstreams('PUT', '/twice/servers/', [...members, { server: '10.0.0.1' }])).code, 'EntryExists');
});

const findOrMiss: RequestListener = (request, response) => {
  response.statusCode = request.url === '/figures/missing' ? 404 : 200;
  response.end('hello');
};

test('figures are real, and are set to zero on demand while the members stay', async (t) => {
  const node = await shared();
  await httpBackend(t, findOrMiss, node.srv.port('figures'));
  for (const path of ['/', '/', '/missing']) await node.web(`/figures${path}`);
  const peer = async () => ((await node.upstreams('GET', '/figures')).json as { peers: Record<string, unknown>[] }).peers[0] ?? {};
  // A client may have its response a moment before its request is no longer counted.
  const before = await waitFor('the end of the requests', async () => {
    const figures = await peer();
    return figures['active'] === 0 && figures;
  });
  t.like(before, { requests: 3, state: 'up' });
  t.deepEqual(before['responses'], { '1xx': 0, '2xx': 2, '3xx': 0, '4xx': 1, '5xx': 0, codes: { 200: 2, 404: 1 }, total: 3 });
  t.true(Number(before['sent']) > 0 && Number(before['received']) > 0);
  t.regex(String(before['selected']), /^\d{4}-\d\d-\d\dT/);
  t.is((await node.upstreams('DELETE', '/figures/?dry_run=1')).status, 200);
  t.is((await peer())['requests'], 3);
  const reset = await node.upstreams('DELETE', '/figures/');
  t.is(reset.status, 204);
  t.is(reset.body, '');
  t.like(await peer(), { requests: 0, sent: 0, received: 0 });
  t.is((await node.members('figures')).length, 1);
});

test('a change is active in every worker when the API responds', async (t) => {
  const node = await shared();
  await httpBackend(t, (_, response) => response.end('one'), node.srv.port('everywhere'));
  const two = `127.0.0.1:${(await httpBackend(t, (_, response) => response.end('two'))).port}`;
  for (let round = 0; round < 5; round++) {
    const added = await node.upstreams('POST', '/everywhere/servers/', { server: two });
    const { id } = added.json as { id: number };
    await node.upstreams('PATCH', '/everywhere/servers/0', { down: true });
    for (const { body } of await Promise.all(Array.from({ length: 12 }, () => node.web('/everywhere')))) t.is(body, 'two');
    await node.upstreams('PATCH', '/everywhere/servers/0', { down: false });
    await node.upstreams('DELETE', `/everywhere/servers/${id}`);
    for (const { body } of await Promise.all(Array.from({ length: 12 }, () => node.web('/everywhere')))) t.is(body, 'one');
  }
});

test('a removed and a drained member finish the requests that they have', async (t) => {
  const waiting: (() => void)[] = [];
  const node = await shared();
  await httpBackend(t, (_, response) => waiting.push(() => response.end('slow')), node.srv.port('leaving'));
  const fast = await httpBackend(t, (_, response) => response.end('fast'));
  const first = node.web('/leaving');
  await waitFor('the request at the backend', () => waiting.length === 1);
  await node.upstreams('POST', '/leaving/servers/', { server: `127.0.0.1:${fast.port}` });
  t.is((await node.upstreams('PATCH', '/leaving/servers/0', { drain: true })).status, 200);
  const state = async () =>
    (await node.upstreams('GET', '/leaving')).json as { zombies: number; peers: { state: string; active: number }[] };
  t.like((await state()).peers[0], { state: 'draining', active: 1 });
  t.is((await node.web('/leaving')).body, 'fast');
  await node.upstreams('DELETE', '/leaving/servers/0');
  t.like(await state(), { zombies: 1 });
  t.is((await node.web('/leaving')).body, 'fast');
  for (const end of waiting) end();
  t.is((await first).body, 'slow');
  await waitFor('the removed member to be gone', async () => (await state()).zombies === 0);
});

test('versions: a write with an If-Match that does not hold any more is rejected', async (t) => {
  const node = await shared();
  const list = await node.upstreams('GET', '/versions/servers/');
  const first = await node.upstreams('GET', '/versions/servers/0');
  const ifMatch = (answer: typeof list) => ({ 'if-match': String(answer.headers['etag']) });
  const changed = await node.upstreams('PATCH', '/versions/servers/1', { weight: 5 });
  // Another member is not concerned, the group is.
  t.is((await node.upstreams('PATCH', '/versions/servers/0', { weight: 2 }, ifMatch(first))).status, 200);
  t.is(errorOf(await node.upstreams('PATCH', '/versions/servers/0', { weight: 3 }, ifMatch(first))).code, 'VersionMismatch');
  t.is((await node.upstreams('POST', '/versions/servers/', { server: '10.0.0.1' }, ifMatch(list))).status, 412);
  t.is((await node.upstreams('PUT', '/versions/servers/', [], ifMatch(list))).status, 412);
  t.is((await node.upstreams('DELETE', '/versions/servers/0', undefined, ifMatch(first))).status, 412);
  t.is((await node.upstreams('DELETE', '/versions/', undefined, ifMatch(list))).status, 412);
  t.is((await node.upstreams('PATCH', '/versions/servers/1', { weight: 6 }, ifMatch(changed))).status, 200);
  t.is((await node.upstreams('PATCH', '/versions/servers/1', { weight: 7 }, { 'if-match': '*' })).status, 200);
});

test('a dry run says what would change and changes nothing', async (t) => {
  const node = await shared();
  const before = await node.upstreams('GET', '/dry/servers/');
  const post = await node.upstreams('POST', '/dry/servers/?dry_run=1', { server: '10.0.0.1', weight: 3 });
  t.is(post.status, 200);
  t.deepEqual(post.json, { dry_run: true, diff: ['http / upstream dry', '+ server 10.0.0.1:80 weight=3;'] });
  const patch = await node.upstreams('PATCH', '/dry/servers/1?dry_run=1', { weight: 1 });
  t.deepEqual((patch.json as { diff: string[] }).diff, ['http / upstream dry', '- server 127.0.0.1:2 weight=2;', '+ server 127.0.0.1:2;']);
  t.is((await node.upstreams('DELETE', '/dry/servers/0?dry_run=1')).status, 200);
  t.is((await node.upstreams('PUT', '/dry/servers/?dry_run=1', [])).status, 200);
  t.is(errorOf(await node.upstreams('POST', '/dry/servers/?dry_run=1', { server: '127.0.0.1:1' })).code, 'EntryExists');
  const after = await node.upstreams('GET', '/dry/servers/');
  t.is(after.body, before.body);
  t.is(after.headers['etag'], before.headers['etag']);
});

test('a name with several addresses: settings for all, only the line itself can go', async (t) => {
  const node = await shared();
  const members = await node.members('named');
  const named = members.filter(({ host }) => host === 'localhost:1');
  t.true(named.length >= 1);
  t.is(named[0]?.id, 0);
  t.is((await node.upstreams('PATCH', '/named/servers/0', { weight: 4 })).status, 200);
  for (const { id, parent } of named.slice(1)) {
    t.is(parent, 0);
    t.is(errorOf(await node.upstreams('DELETE', `/named/servers/${id}`)).code, 'UpstreamServerImmutable');
    t.is(errorOf(await node.upstreams('PATCH', `/named/servers/${id}`, { server: '10.0.0.2' })).code, 'UpstreamServerImmutable');
    t.is(((await node.upstreams('GET', `/named/servers/${id}`)).json as { weight: number }).weight, 4);
  }
  // Sent back as it was read, nothing changes: the name needs no resolver to stay.
  t.is((await node.upstreams('PUT', '/named/servers/', await node.members('named'))).status, 200);
  t.deepEqual(
    (await node.members('named')).map(({ id }) => id),
    members.map(({ id }) => id),
  );
  await node.upstreams('DELETE', '/named/servers/0');
  t.deepEqual(await node.list('named'), ['1 10.0.0.1:1']);
});

test('a full zone is a 507 that changes nothing', async (t) => {
  const node = await shared();
  let last = await node.upstreams('GET', '/full');
  for (let n = 0; n < 400 && last.status < 300; n++)
    last = await node.upstreams('POST', '/full/servers/', { server: `10.0.${n >> 8}.${n & 255}:80` });
  t.is(last.status, 507);
  t.is(errorOf(last).code, 'ZoneFull');
  const { length } = await node.members('full');
  await node.upstreams('DELETE', '/full/servers/1');
  t.is((await node.upstreams('POST', '/full/servers/', { server: '10.9.9.9' })).status, 201);
  t.is((await node.members('full')).length, length);
});

test('what one upstream gave back, another upstream of the zone can use', async (t) => {
  const node = await shared();
  const servers = Array.from({ length: 90 }, (_, n) => ({ server: `10.0.0.${n}:80` }));
  t.is((await node.upstreams('PUT', '/both/servers/', servers.slice(0, 90))).status, 200);
  const full = await node.upstreams('PUT', '/other/servers/', servers.slice(0, 40));
  t.is(full.status, 507);
  const { text, details } = errorOf(full);
  t.regex(
    text,
    /^zone "shared" is too small: 1 member now and \d+ new of upstream "other", with what other upstreams have there, fill its 32768 bytes; \d+ more need 40k at least$/,
  );
  t.deepEqual(details, [{ message: text, hint: 'give the zone a larger size in the configuration, and reload' }]);

  t.is((await node.upstreams('PUT', '/both/servers/', servers.slice(0, 1))).status, 200);
  t.is((await node.upstreams('PUT', '/other/servers/', servers.slice(0, 40))).status, 200);
});
