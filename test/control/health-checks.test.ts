import test from 'ava';
import { httpsBackend, rawBackend, type Backend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { dnsServer } from '../harness/dns-server.js';
import { shared as started } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { checksOf, member, peers, responders, states, udpBackend, type Member } from './checked-members.js';
import { followEvents } from './event-client.js';
import { nodeConf, startNode, type Node, type NodeOptions } from './node.js';
import { exchange } from '../harness/client.js';

const MODULE = 'load_module modules/srv_http_health_check_module.so;';

const NAMES = ['flip', 'gate', 'kept', 'match', 'quiet', 'many', 'slow', 'late', 'port', 'visited', 'located'] as const;
type Name = (typeof NAMES)[number];
const PING = 'health_check_http interval=50ms { uri /ping; }';
const LINES: Partial<Record<Name, string>> = {
  flip: 'health_check_http interval=50ms passes=2 fails=2 { uri /ping?flip; }',
  gate: `health_check mandatory; ${PING}`,
  kept: PING,
  many: PING,
  slow: PING,
  match:
    'health_check_http interval=50ms { uri /ping; host checked.example; status 200-299 301; header X-Kind = "a member"; header ! X-Down; body ~ "^p[ao]ng$"; }',
  visited: 'health_check_http interval=50ms visit_interval=1h { uri /ping; }',
};

/** nginx's form. */
const LOCATED = 'health_check interval=50ms uri=/ping match=good mandatory;';

interface Site {
  readonly options: NodeOptions;
  readonly node: Node;
  readonly members: Readonly<Record<Name, readonly [Member, Member]>>;
  readonly stream: { readonly echo: Backend; readonly admin: Member };
}

/** An upstream of two members for each name, and a location that passes to it. */
const site = started(async (t): Promise<Site> => {
  const entries = NAMES.map(async (name) => [name, [await member(t, 'one'), await member(t, 'two')]] as const);
  const members = Object.fromEntries(await Promise.all(entries)) as Site['members'];
  const upstreams = NAMES.map((name) => {
    const servers = members[name].map(({ port }) => `server 127.0.0.1:${port};`);
    return `upstream ${name} { zone ${name} 256k; ${servers.join(' ')} ${LINES[name] ?? ''} }`;
  });
  const echo = await rawBackend(t, (socket) => socket.end('hello'));
  const admin = await member(t, 'admin');
  admin.status = 500;
  const server = `server 127.0.0.1:${echo.port};`;
  const options = {
    stream: `upstream db { zone db 64k; ${server} health_check mandatory; health_check_http interval=50ms port=${admin.port} { uri /ping; } }
      upstream both { zone both_stream 64k; ${server} }
      server { listen 127.0.0.1:%%PORT_db%%; proxy_pass db; }`,
    main: `${MODULE} load_module modules/srv_http_events_module.so; load_module modules/srv_http_dyn_upstream_module.so;`,
    controlMain: `${MODULE} load_module modules/srv_http_events_api_module.so; load_module modules/srv_http_dyn_upstream_api_module.so;`,
    http: `match good { status 200; body ~ pong; } ${upstreams.join('\n')} upstream both { zone both 64k; server 127.0.0.1:1; }`,
    server: NAMES.map((name) => `location /${name} { proxy_pass http://${name}; ${name === 'located' ? LOCATED : ''} }`).join('\n'),
  };
  const node = await startNode(t, options);
  return { node, members, stream: { echo, admin }, options };
});

// Before the others, which ask the API all the time.
test.serial('downstart is when the member failed, also if nobody asks the API meanwhile', async (t) => {
  const { node, members } = await site();
  const [one] = members.slow;
  await waitFor('checks', () => one.checks >= 5);
  const before = Date.now();
  one.status = 500;
  await waitFor('the other member alone', async () => (await responders(node, 'slow')) === 'two');
  const [peer] = await peers(node, 'slow');
  t.is(peer?.state, 'unhealthy');
  const failedAt = Date.parse(peer?.downstart ?? '');
  t.true(failedAt >= before && failedAt <= Date.now(), `${before} ${failedAt}`);
  one.status = 200;
  await states(node, 'slow', 'up', 'up');
});

test('a member that fails its checks gets no request in any worker, and is back when it passes them', async (t) => {
  const { node, members } = await site();
  const [one] = members.flip;
  const client = await followEvents(t, node.srv.port('api'));
  await waitFor('checks', () => one.checks >= 3);
  t.like(one.last, { host: 'flip', url: '/ping?flip', connection: 'close' });
  t.is(await responders(node, 'flip'), 'one,two');

  one.status = 500;
  const [bad] = await states(node, 'flip', 'unhealthy', 'up');
  t.like(bad?.health_checks, { unhealthy: 1, last_passed: false, last_error: 'status 500 while checking status code' });
  t.true(bad!.health_checks.fails >= 2 && bad!.health_checks.checks > bad!.health_checks.fails);
  t.true(Date.now() - Date.parse(bad!.downstart!) < 60_000);
  t.true(Date.now() - Date.parse(bad!.health_checks.last_at!) < 60_000);
  t.is(await responders(node, 'flip'), 'two');
  const told = await client.event('member.state', { upstream: 'flip', state: 'unhealthy' });
  t.like(told.data, {
    previous: 'up',
    server: `127.0.0.1:${one.port}`,
    reason: 'health check "http": status 500 while checking status code',
  });
  await node.srv.waitForLog(
    new RegExp(
      `\\[warn\\].*peer is unhealthy while checking status code, health check "http" of peer 127.0.0.1:${one.port} in upstream "flip": status 500`,
    ),
  );

  one.status = 200;
  const [good] = await states(node, 'flip', 'up', 'up');
  t.is(good?.downstart, undefined);
  t.true(good!.downtime > 0);
  t.like(good?.health_checks, { last_passed: true, unhealthy: 1 });
  t.is(await responders(node, 'flip'), 'one,two');
  await client.event('member.state', { upstream: 'flip', state: 'up', previous: 'unhealthy' });
  await node.srv.waitForLog(/\[notice\].*peer is healthy, health check "http" of peer .* in upstream "flip"/);
});

test('mandatory: a new member gets its first request after it has passed', async (t) => {
  const { node } = await site();
  await states(node, 'gate', 'up', 'up');
  const late = await member(t, 'late');
  late.status = 503;
  const { json } = await node.upstreams('POST', '/gate/servers', { server: `127.0.0.1:${late.port}` });
  const { id } = json as { id: number };
  t.not((await peers(node, 'gate')).find((peer) => peer.id === id)?.state, 'up');
  await states(node, 'gate', 'up', 'up', 'unhealthy');
  t.is(await responders(node, 'gate'), 'one,two');
  t.is((await peers(node, 'gate'))[2]?.requests, 0);
  late.status = 200;
  await states(node, 'gate', 'up', 'up', 'up');
  t.is(await responders(node, 'gate'), 'late,one,two');
  await node.upstreams('DELETE', `/gate/servers/${id}`);
});

test('mandatory: a member that hangs is checking, and gets nothing', async (t) => {
  const { node } = await site();
  const silent = await rawBackend(t, () => undefined);
  const server = `127.0.0.1:${silent.port}`;
  await node.call('POST', '/dyn_ups', {
    upstream_name: 'silent',
    upstream_body: `zone silent 64k; health_check mandatory; server ${server}; health_check_http interval=50ms timeout=1h {}`,
  });
  await waitFor('a check', () => silent.connections > 0);
  t.deepEqual(
    (await peers(node, 'silent')).map(({ state, health_checks: { checks } }) => `${state} ${checks}`),
    ['checking 0'],
  );
  // With a time limit it is over.
  await node.call('PUT', '/hc/http/silent', { interval: '50ms', timeout: '50ms' });
  await node.call('DELETE', '/hc/http/silent');
  await states(node, 'silent', 'up');
  await node.call('POST', '/hc/http/silent', { interval: '50ms', timeout: '50ms' });
  const [peer] = await states(node, 'silent', 'unhealthy');
  t.is(peer?.health_checks.last_error, 'timed out while reading response header from upstream');
  await node.call('PUT', '/dyn_ups', { type: 'del', upstream_name: 'silent' });
});

test('statuses, fields and bodies decide, and nobody is told what they are', async (t) => {
  const { node, members } = await site();
  const [one] = members.match;
  await waitFor('checks', () => one.checks >= 2);
  t.is(one.last['host'], 'checked.example');
  await states(node, 'match', 'up', 'up');
  one.body = 'secret: p4ss';
  t.is((await states(node, 'match', 'unhealthy', 'up'))[0]?.health_checks.last_error, 'body does not match while checking body');
  one.body = 'pang';
  await states(node, 'match', 'up', 'up');
  one.status = 301;
  one.body = 'pong';
  await waitFor('checks of another status', async () => (await peers(node, 'match'))[0]?.state === 'up' && one.checks > 5);
  one.status = 302;
  t.is((await states(node, 'match', 'unhealthy', 'up'))[0]?.health_checks.last_error, 'status 302 while checking status code');
  await node.call('PUT', '/hc/http/match', { interval: '50ms', http: { uri: '/ping', status: '302', header: ['X-Kind = other'] } });
  await waitFor('another reason', async () => {
    const { last_error: error } = (await peers(node, 'match'))[0]!.health_checks;
    return error === 'field "x-kind" does not match while checking header';
  });
  t.false(node.srv.log().includes('p4ss'));
});

test('what is known of a member outlives changes of members, of the upstream and of the configuration', async (t) => {
  const { node, members } = await site();
  const [one] = members.kept;
  one.status = 500;
  await states(node, 'kept', 'unhealthy', 'up');
  one.checks = 0;
  // From here on no check says anything new of it.
  t.is((await node.call('PUT', '/hc/http/kept', { interval: '1h', http: { uri: '/ping' } })).status, 200);
  await node.upstreams('PATCH', '/kept/servers/0', { weight: 3 });
  await node.upstreams('POST', '/kept/servers', { server: '127.0.0.1:1', down: true });
  await states(node, 'kept', 'unhealthy', 'up', 'down');
  t.is((await node.call('PUT', '/hc/stcp/kept', { interval: '1h' })).status, 201);
  t.is((await node.call('DELETE', '/hc/stcp/kept')).status, 204);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  const { json } = await node.call('GET', '/dyn_ups/kept');
  const { upstream_body: body } = json as { upstream_body: string };
  const lines = body.split('\n').filter((line) => !line.startsWith('server'));
  t.is((await node.call('PATCH', '/dyn_ups/kept?force=1', { upstream_body: `${lines.join('\n')} least_conn;` })).status, 200);
  await states(node, 'kept', 'unhealthy', 'up', 'down');
  t.is(await responders(node, 'kept'), 'two');
  // In another zone it is another upstream, which takes over what is known.
  const moved = lines.join('\n').replace('256k', '512k');
  t.is((await node.call('PATCH', '/dyn_ups/kept?force=1', { upstream_body: moved })).status, 200);
  await states(node, 'kept', 'unhealthy', 'up', 'down');
  t.is((await node.call('DELETE', '/hc/http/kept')).status, 204);
  t.is((await peers(node, 'kept'))[0]?.state, 'up', 'a removed check gives its members back at once');
  t.is(await responders(node, 'kept'), 'one,two');
});

test('a member that is down is not checked, and is at once when it is not any more', async (t) => {
  const { node, members } = await site();
  const [one, two] = members.quiet;
  await node.upstreams('PATCH', '/quiet/servers/0', { down: true });
  t.is((await node.call('POST', '/hc/http/quiet', { interval: '50ms', http: { uri: '/ping' } })).status, 201);
  await waitFor('checks', () => two.checks >= 5);
  t.is(one.checks, 0);
  await node.call('PUT', '/hc/http/quiet', { interval: '1h', http: { uri: '/ping' } });
  await node.upstreams('PATCH', '/quiet/servers/0', { down: false });
  await waitFor('a check', () => one.checks > 0);
});

test('a member that serves requests is not checked within visit_interval', async (t) => {
  const { node, members } = await site();
  const [one] = members.visited;
  await waitFor('checks without requests', () => one.checks >= 2);
  const skipped = await waitFor('a time of requests without checks', async () => {
    const before = one.checks;
    for (let n = 0; n < 60; n++) await node.web('/visited');
    return one.checks - before <= 1;
  });
  t.true(skipped);
});

test('several checks: a member is up if it passes all of them', async (t) => {
  const { node, members } = await site();
  const [one, two] = members.many;
  t.is((await node.call('POST', '/hc/stcp/many', { interval: '50ms' })).status, 201);
  await states(node, 'many', 'up', 'up');
  one.status = 404;
  await states(node, 'many', 'unhealthy', 'up');
  one.status = 200;
  await states(node, 'many', 'up', 'up');
  // Only the connection is checked now.
  await node.call('DELETE', '/hc/http/many');
  await two.close();
  const [, closed] = await states(node, 'many', 'up', 'unhealthy');
  t.is(closed?.health_checks.last_error, 'connect() failed (111: Connection refused) while connecting to upstream');
});

test('the checked port may be another one', async (t) => {
  const { node } = await site();
  const admin = await member(t, 'admin');
  admin.status = 500;
  await node.call('POST', '/hc/http/port', { interval: '50ms', port: admin.port, http: { uri: '/ping' } });
  await states(node, 'port', 'unhealthy', 'unhealthy');
  t.is((await node.web('/port')).status, 502);
  admin.status = 200;
  await states(node, 'port', 'up', 'up');
});

test('a member that is healthy again starts slowly', async (t) => {
  const { node, members } = await site();
  const [one] = members.slow;
  await node.upstreams('PATCH', '/slow/servers/0', { slow_start: '1h' });
  one.status = 500;
  await states(node, 'slow', 'unhealthy', 'up');
  one.status = 200;
  await states(node, 'slow', 'up', 'up');
  t.is(await responders(node, 'slow'), 'two');
});

test('TCP and UDP, with data to send and to wait for, and TLS', async (t) => {
  const { node } = await site();
  let reply = '+PONG\r\n';
  const redis = await rawBackend(t, (socket) => socket.on('data', (data) => socket.write(data.toString() === 'PING\r\n\0' ? reply : '?')));
  const udp = await udpBackend(t, (data) => (data.equals(Buffer.from([1, 2])) ? reply : undefined));
  const tls = selfSigned('checked.example');
  const secure = await httpsBackend(t, tls, (_, response) => response.end('ok'));
  const servers = [redis.port, udp.port, secure.port];
  for (const [at, name] of ['redis', 'udp', 'secure'].entries())
    await node.call('POST', '/dyn_ups', { upstream_name: name, upstream_body: `zone ${name} 64k; server 127.0.0.1:${servers[at]}` });
  const put = (path: string, body: object) => node.call('PUT', `/hc/${path}`, { interval: '50ms', ...body });

  t.like((await put('stcp/redis', { stream: { send: 'PING\r\n\\x00', expect: '+PONG' } })).json, {
    stream: { send: String.raw`PING\x0d\x0a\x00`, expect: '+PONG' },
  });
  t.is((await put('sudp/udp', { stream: { send: String.raw`\x01\x02`, expect: '~ ^.P.NG' } })).status, 201);
  await waitFor('passed checks', async () => (await checksOf(node, 'redis')) > 1 && (await checksOf(node, 'udp')) > 1);
  reply = '-ERR';
  t.is((await states(node, 'redis', 'unhealthy'))[0]?.health_checks.last_error, 'response does not match while checking response');
  t.is((await states(node, 'udp', 'unhealthy'))[0]?.health_checks.last_error, 'response does not match while checking response');
  reply = '+PONG';
  await states(node, 'redis', 'up');
  await states(node, 'udp', 'up');
  await udp.close();
  // Without an expectation it is enough that nothing says it is unreachable.
  await put('sudp/udp', { timeout: '50ms' });
  await waitFor('a refused datagram', async () =>
    (await peers(node, 'udp'))[0]?.health_checks.last_error?.startsWith('recv() failed (111'),
  );
  const again = await udpBackend(t, () => undefined, udp.port);
  await states(node, 'udp', 'up');
  t.true(again.port > 0);

  const error = async () => (await states(node, 'secure', 'unhealthy'))[0]?.health_checks.last_error;
  t.is((await put('http/secure', {})).status, 201);
  await waitFor('a response without TLS', async () => (await error())?.length);
  await put('http/secure', { ssl: {} });
  await states(node, 'secure', 'up');
  const trusted = { verify: true, trusted_certificate: `data:${tls.cert}` };
  await put('http/secure', { ssl: { server_name: 'other.example', ...trusted } });
  t.is(await error(), 'SSL certificate does not match the name while SSL handshaking to upstream');
  await put('http/secure', { ssl: { server_name: 'checked.example', ...trusted } });
  await states(node, 'secure', 'up');
  const other = selfSigned('checked.example');
  await put('http/secure', { ssl: { server_name: 'checked.example', verify: true, trusted_certificate: `data:${other.cert}` } });
  t.regex((await error()) ?? '', /^SSL certificate verify error/);
});

test('a location with health_check and match, as NGINX Plus has them', async (t) => {
  const { node, members, options } = await site();
  const [one] = members.located;
  const passed = await states(node, 'located', 'up', 'up');
  t.true(
    passed.every(({ health_checks: { checks } }) => checks > 0),
    'mandatory: none is up that was not checked',
  );
  one.body = 'ping';
  await states(node, 'located', 'unhealthy', 'up');
  await node.srv.waitForLog(
    /peer is unhealthy while checking body, health check "good" of peer .* in upstream "located": body does not match/,
  );
  t.is(await responders(node, 'located'), 'two');
  await node.srv.configure(nodeConf({ ...options, server: options.server!.replace(LOCATED, '') }));
  node.srv.signal('SIGHUP');
  await states(node, 'located', 'up', 'up');
  t.is(await responders(node, 'located'), 'one,two');
});

test('addresses that a name is resolved to are members that are checked', async (t) => {
  const { node } = await site();
  const dns = await dnsServer(t);
  const one = await member(t, 'one');
  dns.a('checked.test', ['127.0.0.1'], 1);
  const lines = `zone names 64k; resolver 127.0.0.1:${dns.port} ipv6=off; health_check mandatory; health_check_http interval=50ms { uri /ping; }`;
  await node.call('POST', '/dyn_ups', { upstream_name: 'names', upstream_body: `${lines} server checked.test:${one.port} resolve;` });
  await states(node, 'names', 'up');
  // Nobody listens at the other address.
  dns.a('checked.test', ['127.0.0.1', '127.0.0.9'], 1);
  const [, other] = await states(node, 'names', 'up', 'unhealthy');
  t.like(other, { server: `127.0.0.9:${one.port}`, requests: 0 });
  await node.call('PUT', '/dyn_ups', { type: 'del', upstream_name: 'names' });
});

test('members of a stream upstream are checked as well', async (t) => {
  const { node, stream } = await site();
  const { echo, admin } = stream;
  const session = (): Promise<string> => exchange(t, node.srv.port('db'), '');
  const logged = (pattern: RegExp) => node.srv.waitForLog(pattern);
  await logged(/peer is unhealthy while checking status code, health check "http" of peer .* in upstream "db": status 500/);
  t.is(await session(), '');
  t.is(echo.connections, 0);
  admin.status = 200;
  await logged(/peer is healthy, .* in upstream "db"/);
  t.is(await session(), 'hello');
  // Of two upstreams of one name, stcp means that of stream.
  const added = await node.call('POST', '/hc/stcp/both', { interval: '50ms', stream: { expect: 'goodbye' } });
  t.like(added.json, { upstream: 'both', type: 'stcp', engine: 'stream' });
  await logged(/peer is unhealthy while checking response, health check "tcp" of peer .* in upstream "both"/);
  t.like((await node.call('POST', '/hc/http/both', { interval: '1h' })).json, { engine: 'http' });
  t.is(errorOf(await node.call('PUT', '/hc/stcp/both', { engine: 'http' })).code, 'InvalidField');
  const all = (await node.call('GET', '/hc')).json as { upstream: string; type: string; engine: string }[];
  t.deepEqual(
    all.filter(({ upstream }) => upstream === 'both').map(({ type, engine }) => `${type} ${engine}`),
    ['http http', 'stcp stream'],
  );
  t.is((await node.call('DELETE', '/hc/stcp/both')).status, 204);
});

test('checks survive kill -9, with what they know begun again', async (t) => {
  const backend = await member(t, 'one');
  const options = {
    main: MODULE,
    controlMain: MODULE,
    http: `upstream demo { zone demo 256k; server 127.0.0.1:${backend.port}; server 127.0.0.2:${backend.port} backup; }`,
    workers: 1,
    allowCrashes: true,
  };
  const node = await startNode(t, options);
  await node.call('POST', '/hc/http/demo', { interval: '50ms', fails: 2, http: { uri: '/ping' } });
  backend.status = 500;
  await states(node, 'demo', 'unhealthy', 'unhealthy');
  t.is((await node.web()).status, 502);
  node.srv.signal('SIGKILL');
  await node.srv.exited;
  backend.status = 200;
  backend.checks = 0;
  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.like((await again.call('GET', '/hc/http/demo')).json, { interval: '50ms', fails: 2 });
  await waitFor('checks', () => backend.checks > 0);
  t.is((await again.web()).status, 200);
});
