import { connect } from 'node:net';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ConfigTree } from '../../core/config/tree.js';
import { ServerChanges } from '../../core/toolkit/server-changes.js';
import type { Transactions } from '../../core/contract/transactions.js';
import type { StreamServers, StreamUpstreams } from '../../core/contract/stream-servers.js';
import type { Block } from '../../core/contract/tree.js';
import { UpstreamChanges } from '../../core/toolkit/upstream-changes.js';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRawTls } from '../harness/client.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { freePort } from '../harness/ports.js';
import { shared, type Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { startNode, upstreams, type Node, type NodeOptions } from './node.js';

const MODULES = ['srv_stream_dyn_upstream', 'srv_stream_dyn_server'];
const MEMBERS = '/upstream_api/stream/upstreams/static/servers/';
const OPTIONS: NodeOptions = {
  http: upstreams('demo', 'only_http'),
  main: `api_folders conf; ${[...MODULES, 'srv_http_config'].map((name) => `load_module modules/${name}_module.so;`).join(' ')}
    stream {
      upstream static { zone static 64k; server 127.0.0.1:9; }
      upstream stated { zone stated 64k; state data/stated.state; }
      server { listen 127.0.0.1:%%PORT_file%%; proxy_pass static; }
    }`,
  controlMain: ['srv_http_transactions', 'srv_http_config', 'srv_http_history', ...MODULES]
    .map((name) => `load_module modules/${name}_api_module.so;`)
    .join(' '),
  workers: 2,
};

/** A node that was killed after some changes, and is there again. */
const survivor = shared(async (scope) => {
  const member = await datagramBackend(scope, echo);
  const port = await freePort(scope);
  const node = await startNode(scope, { ...OPTIONS, workers: 1, allowCrashes: true });
  await done(node, 'POST', '/dyn_stream_ups', { upstream_name: 'kept', upstream_body: `zone kept 64k; server 127.0.0.1:${member.port}` });
  const added = await Promise.all([
    node.call('POST', MEMBERS, { server: '127.0.0.1:7', down: true }),
    node.call('POST', MEMBERS.replace('static', 'stated'), { server: '127.0.0.1:8', weight: 3 }),
  ]);
  const { etag } = (await node.call('GET', '/history?limit=1')).headers;
  await done(node, 'POST', '/stream_srv', { addr_port: `127.0.0.1:${port} udp`, server_body: 'proxy_pass kept' });
  await node.srv.waitForLog(/^server 127\.0\.0\.1:8 weight=3;$/m, 'data/stated.state');
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  await waitFor('its helpers to end', () => !node.srv.hasProcesses());
  const again = await startNode(scope, { ...OPTIONS, prefix: node.srv.prefix });
  return { node: again, port, statuses: added.map(({ status }) => status), version: String(etag).replaceAll('"', '') };
});
const theNode = async (): Promise<Node> => (await survivor()).node;

/** A call of a transaction. */
const call = (path: string, body: object): object => ({ method: 'POST', path: `/v1/${path}`, body });

/** A member over TCP that says who it is. */
const tcpMember = async (t: Scope, text: string): Promise<number> => (await rawBackend(t, (socket) => socket.end(text))).port;

/** What a server over TCP sends; undefined: nobody listens. */
async function read(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  try {
    await once(socket, 'close');
    return text;
  } catch {
    return undefined;
  }
}

async function done(node: Node, method: string, path: string, body: unknown): Promise<void> {
  const { status, body: text } = await node.call(method, path, body);
  if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
}

const refusal = async (node: Node, method: string, path: string, body: unknown): Promise<string> => {
  const refused = await node.call(method, path, body);
  return `${refused.status} ${errorOf(refused).code}`;
};

test.serial('changes survive kill -9, are shown as drift, taken back and saved', async (t) => {
  const { node, port, statuses, version } = await survivor();
  const addr_port = `127.0.0.1:${port} udp`;
  t.deepEqual(statuses, [201, 201]);
  t.is(await (await datagramClient(t, port)).ask('x'), 'x');
  t.like((await node.call('GET', MEMBERS.replace('static', 'stated'))).json, [{ id: 0, server: '127.0.0.1:8', weight: 3 }]);
  const { diff } = (await node.call('GET', '/config/drift')).json as { diff: string[] };
  t.true(diff.includes('+ server {') && diff.includes('+ upstream kept {') && diff.includes('+ server 127.0.0.1:7 down;'), diff.join('\n'));
  const back = await node.call('POST', `/history/${version}/rollback`);
  t.is(back.status, 200, back.body);
  t.is(await refusal(node, 'PUT', '/stream_srv', { type: 'del', addr_port }), '404 ServerNotFound');
  await done(node, 'POST', '/stream_srv', { addr_port, server_body: 'proxy_pass kept' });
  const saved = await node.call('POST', '/config/save');
  t.is(saved.status, 200, saved.body);
  t.regex(node.srv.read('conf/srv.conf'), /stream \{[^]*server 127.0.0.1:7 down;[^]*upstream kept \{[^]*listen 127.0.0.1:\d+ udp;\n/);
  t.deepEqual(((await node.call('GET', '/config/drift')).json as { diff: string[] }).diff, []);
  t.is(await (await datagramClient(t, port)).ask('y'), 'y');
});

test('an upstream and servers over TCP and UDP on one port number: open at once, changed, and closed', async (t) => {
  const node = await theNode();
  const member = await datagramBackend(t, echo);
  const port = await freePort(t);
  const [tcp, udp] = [`127.0.0.1:${port}`, `127.0.0.1:${port} udp`];
  await done(node, 'POST', '/dyn_stream_ups', {
    upstream_name: 'life',
    upstream_body: `zone life 64k; server 127.0.0.1:${await tcpMember(t, 'first')}`,
  });
  await done(node, 'POST', '/stream_srv', { type: 'add', addr_port: tcp, server_body: 'proxy_pass life' });
  for (const text of await Promise.all(Array.from({ length: 8 }, () => read(port)))) t.is(text, 'first');

  await done(node, 'POST', '/stream_srv', { addr_port: udp, server_body: `proxy_pass 127.0.0.1:${member.port}` });
  const clients = await Promise.all(Array.from({ length: 8 }, () => datagramClient(t, port)));
  for (const [i, client] of clients.entries()) t.is(await client.ask(`a${i}`), `a${i}`);
  const listed = (await node.call('GET', '/stream_srv')).json as { listens: string[]; is_static: boolean }[];
  const places = new Set(listed.map(({ listens, is_static: isStatic }) => `${listens.join()} ${isStatic}`));
  for (const place of [`127.0.0.1:${node.srv.port('file')} true`, `${tcp} false`, `${udp} false`]) t.true(places.has(place), place);

  await done(node, 'PATCH', '/stream_srv', { addr_port: tcp, server_body: `proxy_pass 127.0.0.1:${await tcpMember(t, 'second')}` });
  t.is(await read(port), 'second');
  await done(node, 'PUT', '/stream_srv', { type: 'del', addr_port: tcp });
  await waitFor('the port to be closed', async () => (await read(port)) === undefined);
  await done(node, 'PUT', '/dyn_stream_ups', { type: 'del', upstream_name: 'life' });

  await done(node, 'PUT', '/stream_srv', { type: 'del', addr_port: udp });
  const [old] = clients;
  t.is(await old?.ask('still'), 'still');
  const stranger = await datagramClient(t, port);
  stranger.send('nobody');
  // It comes back while sessions that began there are still open.
  await done(node, 'POST', '/stream_srv', { addr_port: udp, server_body: `proxy_pass 127.0.0.1:${member.port}` });
  t.is(await (await datagramClient(t, port)).ask('again'), 'again');
  t.is(await old?.ask('even now'), 'even now');
  t.false(member.received.some(({ text }) => text === 'nobody'));
  await done(node, 'PUT', '/stream_srv', { type: 'del', addr_port: udp });
});

test('an upstream of stream: read, changed and kept apart from that of http with its name', async (t) => {
  const node = await theNode();
  await done(node, 'POST', '/dyn_stream_ups', { upstream_name: 'demo', upstream_body: 'zone sdemo 64k; server 127.0.0.1:9' });
  const { json, headers } = await node.call('GET', '/dyn_stream_ups/demo');
  t.deepEqual(json, {
    upstream_name: 'demo',
    algorithm: 'round_robin',
    zone: 'sdemo',
    is_static: false,
    upstream_body: 'zone sdemo 64k;\nserver 127.0.0.1:9;\n',
  });
  const change = { upstream_body: 'zone sdemo 64k; hash $remote_addr' };
  t.is((await node.call('PATCH', '/dyn_stream_ups/demo', change, { 'If-Match': '"0"' })).status, 412);
  t.is((await node.call('PATCH', '/dyn_stream_ups/demo', change, { 'If-Match': String(headers['etag']) })).status, 200);
  t.like((await node.call('GET', '/dyn_stream_ups/demo')).json, { algorithm: 'hash $remote_addr' });
  const all = (await node.call('GET', '/dyn_stream_ups')).json as { upstream_name: string; is_static: boolean }[];
  t.deepEqual(all.map(({ upstream_name: name, is_static: isStatic }) => `${name} ${isStatic}`).slice(0, 2), ['static true', 'stated true']);
  t.is((await node.members()).length, 2);
  const port = await freePort(t);
  await done(node, 'POST', '/stream_srv', { addr_port: `127.0.0.1:${port}`, server_body: 'proxy_pass demo' });
  t.is(await refusal(node, 'PUT', '/dyn_stream_ups', { type: 'del', upstream_name: 'demo' }), '409 UpstreamInUse');
  await done(node, 'PUT', '/stream_srv', { type: 'del', addr_port: `127.0.0.1:${port}` });
  await done(node, 'PUT', '/dyn_stream_ups', { type: 'del', upstream_name: 'demo' });
  t.is((await node.call('GET', '/dyn_stream_ups/demo')).status, 404);
});

test('servers with TLS: chosen by the name that the client asks for', async (t) => {
  const { cert, key } = selfSigned('localhost');
  const node = await theNode();
  for (const [name, text] of [
    ['c.pem', cert],
    ['k.pem', key],
  ] as const)
    writeFileSync(join(node.srv.prefix, 'conf', name), text);
  const place = { addr_port: `127.0.0.1:${await freePort(t)}`, listen_option: 'ssl' };
  const body = 'ssl_certificate c.pem; ssl_certificate_key k.pem; return';
  await done(node, 'POST', '/stream_srv', { ...place, server_name: 'a.org', server_body: `${body} "a"` });
  await done(node, 'POST', '/stream_srv', { ...place, server_name: 'b.org', server_body: `${body} "b"` });
  const port = Number(place.addr_port.split(':')[1]);
  for (const [servername, text] of [
    ['a.org', 'a'],
    ['b.org', 'b'],
    ['c.org', 'a'],
  ] as const) {
    const client = await connectRawTls(t, port, { rejectUnauthorized: false, servername });
    t.truthy(await client.receive(new RegExp(`^${text}$`)), servername);
  }
});

for (const [what, method, path, body, expected] of [
  [
    'an upstream without a zone',
    'POST',
    '/dyn_stream_ups',
    { upstream_name: 'x', upstream_body: 'server 127.0.0.1:9' },
    '400 InvalidField',
  ],
  [
    'a member without a port',
    'POST',
    '/dyn_stream_ups',
    { upstream_name: 'x', upstream_body: 'zone x 64k; server 127.0.0.1' },
    '400 ConfigError',
  ],
  ['a directive of http', 'POST', '/dyn_stream_ups', { upstream_name: 'x', upstream_body: 'zone x 64k; keepalive 4' }, '400 ConfigError'],
  ['an upstream that is there', 'POST', '/dyn_stream_ups', { upstream_name: 'static', upstream_body: 'zone x 64k' }, '409 EntryExists'],
  ['one of the file', 'PUT', '/dyn_stream_ups', { type: 'del', upstream_name: 'static' }, '409 UpstreamStatic'],
  ['one of http', 'PUT', '/dyn_stream_ups', { type: 'del', upstream_name: 'only_http' }, '404 UpstreamNotFound'],
  ['a server without content', 'POST', '/stream_srv', { addr_port: '127.0.0.1:1', server_body: '' }, '400 ConfigError'],
  ['a server with a location', 'POST', '/stream_srv', { addr_port: '127.0.0.1:1', server_body: 'location / { }' }, '400 ConfigError'],
  ['an address without a port', 'POST', '/stream_srv', { addr_port: '127.0.0.1', server_body: 'proxy_pass static' }, '400 InvalidField'],
  [
    'TLS over UDP',
    'POST',
    '/stream_srv',
    { addr_port: '127.0.0.1:1 udp', listen_option: 'ssl', server_body: 'proxy_pass static' },
    '400 ConfigError',
  ],
  ['a server that is not there', 'PUT', '/stream_srv', { type: 'del', addr_port: '127.0.0.1:1 udp' }, '404 ServerNotFound'],
] as const) {
  test(`rejected: ${what}`, async (t) => {
    t.is(await refusal(await theNode(), method, path, body), expected);
  });
}

test('rejected: a directive of http is told to be one', async (t) => {
  const body = { upstream_name: 'x', upstream_body: 'zone x 64k; server 127.0.0.1:9; keepalive 4' };
  const { body: text } = await (await theNode()).call('POST', '/dyn_stream_ups', body);
  t.regex(text, /"keepalive\\?" directive is not allowed here.*it may stand in: upstream of http"/);
});

test('rejected: udp as an option, which is a part of the address', async (t) => {
  const node = await theNode();
  for (const addr_port of ['127.0.0.1:1', '127.0.0.1:1 udp']) {
    const body = { addr_port, listen_option: 'reuseport udp', server_body: 'proxy_pass static' };
    const response = await node.call('POST', '/stream_srv', body);
    t.is(errorOf(response).code, 'InvalidField');
    t.like(errorOf(response).details[0], { pointer: '/listen_option', message: '"udp" is a part of the address: "127.0.0.1:1 udp"' });
  }
});

test('rejected: a server of the file, and one that is there', async (t) => {
  const node = await theNode();
  const addr_port = `127.0.0.1:${node.srv.port('file')}`;
  t.is(await refusal(node, 'PUT', '/stream_srv', { type: 'del', addr_port }), '409 ServerStatic');
  t.is(await refusal(node, 'POST', '/stream_srv', { addr_port, server_body: 'proxy_pass static' }), '409 EntryExists');
});

test('a UDP port that another program has is a 409 with the reason, and changes nothing; so does a dry run', async (t) => {
  const node = await theNode();
  const other = createSocket('udp4').bind(0, '127.0.0.1');
  t.teardown(() => other.close());
  await once(other, 'listening');
  const addr_port = `127.0.0.1:${other.address().port} udp`;
  const refused = await node.call('POST', '/stream_srv', { addr_port, server_body: 'proxy_pass static' });
  t.is(`${refused.status} ${errorOf(refused).code}`, '409 ListenFailed', refused.body);
  t.regex(errorOf(refused).text, /bind\(\) to .* failed \(98: Address already in use\)/);
  const tried = `127.0.0.1:${await freePort(t)} udp`;
  t.like((await node.call('POST', '/stream_srv?dry_run=1', { addr_port: tried, server_body: 'proxy_pass static' })).json, {
    dry_run: true,
  });
  const listed = ((await node.call('GET', '/stream_srv')).json as { listens: string[] }[]).flatMap(({ listens }) => listens);
  t.deepEqual(
    listed.filter((address) => address === addr_port || address === tried),
    [],
  );
});

test('members of an upstream of stream: added, read, changed, replaced and removed while sessions run', async (t) => {
  const node = await theNode();
  const port = node.srv.port('file');
  const [first, second] = [await tcpMember(t, 'first'), await tcpMember(t, 'second')];
  const added = await node.call('POST', MEMBERS, { server: `127.0.0.1:${first}`, weight: 5 });
  t.is(added.status, 201, added.body);
  const { id } = added.json as { id: number };
  t.is(added.headers['location'], `/api/v1${MEMBERS}${id}`);
  t.deepEqual(added.json, {
    id,
    server: `127.0.0.1:${first}`,
    weight: 5,
    max_conns: 0,
    max_fails: 1,
    fail_timeout: '10s',
    slow_start: '0s',
    backup: false,
    down: false,
    drain: false,
  });
  t.deepEqual((await node.call('GET', `${MEMBERS}127.0.0.1:${first}`)).json, added.json);
  t.is((await node.call('DELETE', `${MEMBERS}127.0.0.1:9`)).status, 200);
  t.is(await read(port), 'first');
  t.is((await node.call('PATCH', `${MEMBERS}${id}`, { server: `127.0.0.1:${second}`, max_conns: 3 })).status, 200);
  t.is(await read(port), 'second');

  const upstream = (await node.call('GET', '/upstream_api/stream/upstreams/static')).json as { peers: { id: number }[] };
  const peer = upstream.peers.find((one) => one.id === id);
  t.like(upstream, { name: 'static', zone: 'static', zombies: 0, keepalive: undefined });
  t.is(upstream.peers.length, 2);
  t.like(peer, { id, state: 'up', connections: 1, received: 6, fails: 0, requests: undefined, responses: undefined });
  t.true(['connect_time', 'first_byte_time', 'response_time'].every((name) => name in (peer ?? {})));
  t.is((await node.call('POST', '/upstream_api/stream/upstreams/static/reset')).status, 204);

  const list = (await node.call('GET', MEMBERS)).json as object[];
  const replaced = await node.call('PUT', MEMBERS, [...list, { server: '127.0.0.1:9', down: true }]);
  t.is(replaced.status, 200, replaced.body);
  t.like(
    (replaced.json as { id: number }[]).find((one) => one.id === id),
    { max_conns: 3 },
  );
  t.is((replaced.json as object[]).length, 3);
  const both = (await node.call('GET', '/upstream_api/stream/upstreams/')).json as { name: string }[];
  t.true(both.some(({ name }) => name === 'static') && both.every(({ name }) => name !== 'only_http'));
  t.like((await node.call('GET', '/upstream_api/http/upstreams/demo')).json, { name: 'demo' });
});

for (const [what, method, path, body, expected] of [
  ['a member without a port', 'POST', '', { server: '127.0.0.1' }, '400 UpstreamBadAddress'],
  ['a member with a route', 'POST', '', { server: '127.0.0.1:7', route: 'a' }, '400 InvalidField'],
  ['a member that is there', 'POST', '', { server: '127.0.0.1:9' }, '409 EntryExists'],
  ['a name without a resolver', 'POST', '', { server: 'name.example:53' }, '400 UpstreamConfNoResolver'],
  ['a member that is not there', 'PATCH', '99', { weight: 2 }, '404 UpstreamServerNotFound'],
  ['an id that is none', 'GET', 'x', undefined, '400 UpstreamBadServerId'],
] as const) {
  test(`members: rejected: ${what}`, async (t) => {
    const node = await theNode();
    if (expected.endsWith('EntryExists')) await node.call('POST', MEMBERS, { server: '127.0.0.1:9', down: true });
    t.is(await refusal(node, method, `${MEMBERS}${path}`, body), expected);
  });
}

test('members: an upstream of http is not one of stream, and a dry run changes nothing', async (t) => {
  const node = await theNode();
  t.is(await refusal(node, 'GET', '/upstream_api/stream/upstreams/only_http', undefined), '404 UpstreamNotFound');
  const dry = await node.call('POST', `${MEMBERS}?dry_run=1`, { server: '127.0.0.1:77' });
  t.like(dry.json, { dry_run: true });
  t.is((await node.call('GET', `${MEMBERS}127.0.0.1:77`)).status, 404);
});

test('one transaction makes an upstream and servers that pass to it; all or nothing', async (t) => {
  const node = await theNode();
  const member = await datagramBackend(t, echo);
  const port = await freePort(t);
  const calls = [
    call('dyn_stream_ups', { upstream_name: 'both', upstream_body: `zone both 64k; server 127.0.0.1:${member.port}` }),
    call('stream_srv', { addr_port: `127.0.0.1:${port} udp`, server_body: 'proxy_pass both' }),
  ];
  const wrong = await node.call('POST', '/transactions', { calls: [...calls, calls[1]] });
  t.is(wrong.status, 409, wrong.body);
  t.is((await node.call('GET', '/dyn_stream_ups/both')).status, 404);
  const made = await node.call('POST', '/transactions', { calls });
  t.is(made.status, 200, made.body);
  t.is(await (await datagramClient(t, port)).ask('x'), 'x');
});

test('without a stream block there is nothing to list, and additions are rejected', async (t) => {
  const { root: tree } = ConfigTree.empty;
  const fake = { tree, version: 1, apply: async (build: (before: Block) => unknown) => build(tree), read: () => ({}) };
  const transactions = fake as unknown as Transactions;
  const nothing = { get: () => undefined, find: () => undefined, at: () => [] } as unknown as StreamUpstreams & StreamServers;
  const context = { dryRun: false, requestId: '' };
  const upstreams = new UpstreamChanges('stream', nothing, nothing, transactions);
  t.deepEqual(upstreams.list({}).value, []);
  const servers = new ServerChanges('stream', nothing, transactions);
  await t.throwsAsync(servers.add({ addr_port: '1' }, context), { message: /no "stream" block: add "stream { }" and reload/ });
});
