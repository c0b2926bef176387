import test from 'ava';
import { check } from '../harness/check.js';
import { datagramBackend, datagramClient, echo, type DatagramBackend, type DatagramClient } from '../harness/datagrams.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const LARGEST = 65_507;

type Member = 'echo' | 'other' | 'silent' | 'twice' | 'six';

interface Site {
  readonly srv: Srv;
  readonly members: Readonly<Record<Member, DatagramBackend>>;
  readonly client: (name: string, host?: string) => Promise<DatagramClient>;
  /** The line of the access log about a server. */
  readonly logged: (name: string, rest: string) => Promise<unknown>;
}

const site = shared(async (scope): Promise<Site> => {
  const members = {
    echo: await datagramBackend(scope, echo),
    other: await datagramBackend(scope, (bytes, send) => send(`other ${String(bytes)}`)),
    silent: await datagramBackend(scope, () => undefined),
    twice: await datagramBackend(scope, (bytes, send) => [1, 2].forEach((n) => send(`${n} ${String(bytes)}`))),
    six: await datagramBackend(scope, echo, '::1'),
  };
  const srv = await startSrv(scope, configuration(members));
  return {
    srv,
    members,
    client: (name, host) => datagramClient(scope, srv.port(name), host),
    logged: (name, rest) => srv.waitForLog(new RegExp(`^${srv.port(name)} UDP ${rest}$`, 'm'), 'logs/access.log'),
  };
});

const server = (name: string, lines: string): string => `server { listen 127.0.0.1:%%PORT_${name}%% udp; ${lines} }`;

function configuration(members: Readonly<Record<Member, DatagramBackend>>): string {
  const at = (name: Member): string => `127.0.0.1:${members[name].port}`;
  return `
    worker_processes 1;
    error_log logs/error.log info;
    events { worker_connections 500; }
    stream {
      log_format udp '$server_port $protocol $status $bytes_received $bytes_sent $upstream_bytes_sent $upstream_bytes_received';
      access_log logs/access.log udp;
      upstream one { server ${at('echo')}; server ${at('other')}; }
      upstream two { server ${at('echo')}; server ${at('other')}; }
      upstream refusing { server 127.0.0.1:%%PORT_nobody%% fail_timeout=60s; server ${at('echo')} backup; }
      upstream mute { server ${at('silent')} fail_timeout=60s; server ${at('echo')} backup; }
      upstream unreachable { server 255.255.255.255:9 fail_timeout=60s; server ${at('echo')} backup; }
      ${server('echo', `proxy_pass ${at('echo')};`)}
      server { listen [::1]:%%PORT_six%% udp rcvbuf=256k; proxy_pass [::1]:${members.six.port}; }
      ${server('one', 'proxy_responses 1; proxy_pass one;')}
      ${server('none', `proxy_responses 0; proxy_pass ${at('echo')};`)}
      ${server('two', 'proxy_requests 2; proxy_pass two;')}
      ${server('batch', `proxy_requests 2; proxy_responses 1; proxy_pass ${at('echo')};`)}
      ${server('idle', `proxy_timeout 300ms; proxy_pass ${at('silent')};`)}
      ${server('mute', 'proxy_timeout 300ms; proxy_responses 1; proxy_pass mute;')}
      ${server('refused', 'proxy_pass refusing;')}
      ${server('unreachable', 'proxy_pass unreachable;')}
      ${server('bound', `proxy_bind 127.0.0.9; proxy_pass ${at('echo')};`)}
      ${server('paced', `proxy_download_rate 500; proxy_pass ${at('twice')};`)}
      limit_conn_zone $binary_remote_addr zone=clients:64k;
      map $protocol $chosen { UDP ${at('echo')}; default 127.0.0.1:9; }
      ${server('return', 'return "$protocol $status $bytes_received";')}
      ${server('nothing', 'return "";')}
      ${server('denied', `deny all; proxy_pass ${at('echo')};`)}
      ${server('passed', 'pass 127.0.0.1:9;')}
      ${server('limited', `limit_conn clients 1; proxy_pass ${at('echo')};`)}
      ${server('mapped', 'ssl_preread on; proxy_pass $chosen;')}
      ${server('variable', `proxy_responses 1; proxy_pass $server_addr:${members.echo.port};`)}
    }`;
}

/** Sessions that these datagrams came in: each has a port of its own. */
const sessionsOf = ({ received }: DatagramBackend, texts: readonly string[]): number =>
  new Set(received.filter(({ text }) => texts.includes(text)).map(({ port }) => port)).size;

test('datagrams of a client go to one member over one port, and responses come back', async (t) => {
  const { members, client } = await site();
  const [one, other] = [await client('echo'), await client('echo')];
  for (const text of ['one-a', 'one-b', 'one-c']) t.is(await one.ask(text), text);
  t.is(await other.ask('other-a'), 'other-a');
  t.is(sessionsOf(members.echo, ['one-a', 'one-b', 'one-c']), 1);
  t.is(sessionsOf(members.echo, ['one-a', 'other-a']), 2);
});

for (const [name, host] of [
  ['echo', '127.0.0.1'],
  ['six', '::1'],
] as const) {
  test(`the empty datagram and the largest one pass, ${host}`, async (t) => {
    const { client } = await site();
    const one = await client(name, host);
    const largest = Buffer.alloc(LARGEST, 'x');
    for (const bytes of [Buffer.alloc(0), largest, Buffer.from('end')]) {
      one.send(bytes);
      t.true((await one.next()).equals(bytes));
    }
  });
}

test('proxy_responses: the session ends with the last one, and the next datagram begins another', async (t) => {
  const { client, logged } = await site();
  const one = await client('one');
  const responses = [];
  for (const text of ['a', 'b', 'c', 'd']) responses.push(await one.ask(text));
  t.deepEqual(responses, ['a', 'other b', 'c', 'other d']);
  t.truthy(await logged('one', '200 1 1 1 1'));
  t.truthy(await logged('one', '200 1 7 1 7'));
});

test('proxy_responses 0: the session ends with the datagram, and no response comes back', async (t) => {
  const { members, client, logged } = await site();
  const one = await client('none');
  one.send('none-a');
  one.send('none-b');
  t.truthy(await logged('none', '200 6 0 6 0'));
  await waitFor('both', () => members.echo.received.filter(({ text }) => text.startsWith('none-')).length === 2);
  t.is(sessionsOf(members.echo, ['none-a', 'none-b']), 2);
  t.is(one.received.length, 0);
});

test('proxy_requests: after so many datagrams the next one begins another session, and the first still gets responses', async (t) => {
  const { members, client } = await site();
  const one = await client('two');
  const responses = [];
  for (const text of ['two-a', 'two-b', 'two-c', 'two-d']) responses.push(await one.ask(text));
  t.deepEqual(responses, ['two-a', 'two-b', 'other two-c', 'other two-d']);
  t.is(sessionsOf(members.echo, ['two-a', 'two-b']), 1);
  t.is(sessionsOf(members.other, ['two-c', 'two-d']), 1);
});

test('proxy_requests with proxy_responses: so many responses for each of the datagrams', async (t) => {
  const { client, logged } = await site();
  const one = await client('batch');
  one.send('x');
  one.send('y');
  t.truthy(await logged('batch', '200 2 2 2 2'));
});

test('proxy_timeout: a session that expects no certain responses ends well', async (t) => {
  const { srv, client, logged } = await site();
  (await client('idle')).send('x');
  t.truthy(await logged('idle', '200 1 0 1 0'));
  t.truthy(await srv.waitForLog(/udp timed out, packets from\/to client:1\/0, bytes from\/to client:1\/0, bytes from\/to upstream:0\/1$/m));
});

test('a member that owes a response for proxy_timeout has failed', async (t) => {
  const { srv, client, logged } = await site();
  const one = await client('mute');
  one.send('x');
  t.truthy(await logged('mute', '502 1 0 1 0'));
  const line = await srv.waitForLog(
    /\[error\] .*: \*\d+ upstream timed out \(110: Connection timed out\) while proxying connection, udp client: 127.0.0.1, server: 127.0.0.1:\d+, upstream: .*/,
  );
  t.regex(line[0], /bytes from\/to client:1\/0, bytes from\/to upstream:0\/1$/);
  t.is(await one.ask('y'), 'y');
});

test('a member where nobody listens has failed, and the next datagram goes to another one', async (t) => {
  const { srv, client, logged } = await site();
  const one = await client('refused');
  one.send('x');
  t.truthy(await logged('refused', '502 1 0 1 0'));
  t.truthy(await srv.waitForLog(/\[error\] .* recv\(\) failed \(111: Connection refused\) while proxying connection, udp client: /));
  t.is(await one.ask('y'), 'y');
});

test('proxy_next_upstream: a member that cannot be connected to gives way to another one', async (t) => {
  const { srv, client } = await site();
  t.is(await (await client('unreachable')).ask('x'), 'x');
  t.truthy(await srv.waitForLog(/connect\(\) failed \(13: Permission denied\) while connecting to upstream, udp client: /));
});

test('proxy_bind: datagrams come from this address', async (t) => {
  const { members, client } = await site();
  t.is(await (await client('bound')).ask('bound'), 'bound');
  t.is(members.echo.received.find(({ text }) => text === 'bound')?.address, '127.0.0.9');
});

test('proxy_download_rate: datagrams wait, whole', async (t) => {
  const { client } = await site();
  const one = await client('paced');
  const text = 'x'.repeat(200);
  const since = performance.now();
  one.send(text);
  await waitFor('both', () => one.received.length === 2);
  // 202 bytes at 500 bytes a second.
  t.true(performance.now() - since > 350);
  t.deepEqual(one.received.map(String), [`1 ${text}`, `2 ${text}`]);
});

test('return: one datagram, and the session is over', async (t) => {
  const { client, logged } = await site();
  const one = await client('return');
  t.is(await one.ask('abc'), 'UDP 000 3');
  t.is(await one.ask('ab'), 'UDP 000 2');
  t.truthy(await logged('return', '200 2 9 - -'));
  const other = await client('nothing');
  other.send('x');
  t.truthy(await logged('nothing', '200 1 0 - -'));
  t.is(other.received.length, 0);
});

test('what is decided for a session: access rules, limits, variables', async (t) => {
  const { srv, client, logged } = await site();
  const denied = await client('denied');
  denied.send('x');
  t.truthy(await logged('denied', '403 1 0 - -'));
  t.truthy(await srv.waitForLog(/access forbidden by rule, udp client: 127.0.0.1, server: /));
  const [first, second] = [await client('limited'), await client('limited')];
  t.is(await first.ask('a'), 'a');
  second.send('b');
  t.truthy(await logged('limited', '503 1 0 - -'));
  t.is(await first.ask('c'), 'c');
  t.is(await (await client('mapped')).ask('d'), 'd');
  t.is(denied.received.length + second.received.length, 0);
});

test('pass: datagrams cannot be passed', async (t) => {
  const { srv, client, logged } = await site();
  (await client('passed')).send('x');
  t.truthy(await logged('passed', '500 1 0 - -'));
  t.truthy(await srv.waitForLog(/cannot pass udp connection, udp client: /));
});

test('a target that is known with the session only: what comes meanwhile is not lost', async (t) => {
  const { members, client } = await site();
  const one = await client('variable');
  one.send('late-a');
  one.send('late-b');
  await waitFor('both', () => members.echo.received.filter(({ text }) => text.startsWith('late-')).length === 2);
  t.pass();
});

for (const [parameter, named] of [
  ['ssl', 'ssl'],
  ['proxy_protocol', 'proxy_protocol'],
  ['backlog=5', 'backlog'],
  ['so_keepalive=on', 'so_keepalive'],
] as const) {
  test(`a parameter for connections is refused: ${parameter}`, async (t) => {
    const { stderr } = await check(
      t,
      `events {} stream { server { listen 127.0.0.1:%%PORT_a%% udp ${parameter}; proxy_pass 127.0.0.1:9; } }`,
    );
    t.true(stderr.includes(`"${named}" parameter is incompatible with "udp"`), stderr);
  });
}
