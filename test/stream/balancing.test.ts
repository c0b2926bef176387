/** Balancing methods of sessions. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

/** Members that say who they are at once, and then hold the connection until the client ends it. */
const site = shared<Srv>(async (t) => {
  const letters = await Promise.all(
    ['a', 'b', 'c'].map((letter) => rawBackend(t, (socket) => void socket.on('data', () => socket.write(letter)))),
  );
  const late = await rawBackend(t, (socket) => void socket.on('data', () => setTimeout(() => socket.write('l'), 300)));
  const [a, b, c] = letters.map(({ port }) => `server 127.0.0.1:${port}`);
  const upstreams: Readonly<Record<string, string>> = {
    hashed: `hash $remote_addr; ${a}; ${b}; ${c};`,
    keyless: `hash $ssl_preread_server_name consistent; ${a}; ${b};`,
    ring: `hash $remote_addr consistent; ${a}; ${b} weight=2; ${c} down;`,
    conns: `least_conn; ${a}; ${b}; ${c} backup;`,
    first: `least_time first_byte; server 127.0.0.1:${late.port}; ${a};`,
    drawn: `random two; ${a}; ${b}; ${c} down;`,
    timed: `random two least_time=first_byte; server 127.0.0.1:${late.port}; ${a};`,
  };
  const blocks = Object.entries(upstreams).map(
    ([name, lines]) => `upstream ${name} { zone ${name} 64k; ${lines} } server { listen 127.0.0.1:%%PORT_${name}%%; proxy_pass ${name}; }`,
  );
  return startSrv(t, `worker_processes 2; error_log logs/error.log info; events {} stream { ${blocks.join('\n')} }`);
});

/** A session from a client's address, held open. */
async function session(t: ExecutionContext, name: string, localAddress = '127.0.0.1'): Promise<{ letter: string; socket: Socket }> {
  const srv = await site();
  const socket = connect({ port: srv.port(name), host: '127.0.0.1', localAddress });
  t.teardown(() => void socket.destroy());
  socket.write('?');
  const [first] = (await once(socket, 'data')) as [Buffer];
  return { letter: first.toString(), socket };
}

/** The members of sessions one after the other. */
async function letters(t: ExecutionContext, name: string, addresses: readonly string[]): Promise<string> {
  let all = '';
  for (const address of addresses) {
    const { letter, socket } = await session(t, name, address);
    all += letter;
    socket.end();
    await once(socket, 'close');
  }
  return all;
}

const addresses = Array.from({ length: 12 }, (_, at) => `127.0.1.${at + 1}`);
const here = (count: number): string[] => Array.from({ length: count }, () => '127.0.0.1');

test('hash and hash consistent: a client stays at its member, in all workers', async (t) => {
  for (const [name, members] of [
    ['hashed', 'abc'],
    ['ring', 'ab'],
  ] as const) {
    const first = await letters(t, name, addresses);
    t.deepEqual([...new Set(first)].sort().join(''), members, first);
    t.is(await letters(t, name, addresses), first);
  }
});

test('hash: sessions with an empty key take turns', async (t) => {
  t.regex(await letters(t, 'keyless', here(4)), /^(ab){2}$|^(ba){2}$/);
});

test('least_conn: the one with the fewest sessions of all workers', async (t) => {
  const held: string[] = [];
  for (let count = 0; count < 8; count++) held.push((await session(t, 'conns')).letter);
  t.is(held.filter((letter) => letter === 'a').length, 4);
  t.false(held.includes('c'), 'backup');
});

test('least_time first_byte and random two least_time: the one that responds sooner', async (t) => {
  for (const name of ['first', 'timed']) {
    const seen = await letters(t, name, here(12));
    t.true(seen.includes('l') || name === 'timed', 'one that is not known is tried');
    t.true(seen.split('l').length <= 4, `${name}: ${seen}`);
  }
});

test('random: all that may be chosen', async (t) => {
  t.deepEqual([...new Set(await letters(t, 'drawn', here(30)))].sort(), ['a', 'b']);
});

for (const [lines, message] of [
  ['ip_hash; server 127.0.0.1:1;', /"ip_hash" directive is not allowed here/],
  ['queue 1; server 127.0.0.1:1;', /"queue" directive is not allowed here/],
  ['least_time header; server 127.0.0.1:1;', /header/],
  ['random least_time=connect; server 127.0.0.1:1;', /invalid parameter "least_time=connect"/],
  ['hash $remote_addr; server 127.0.0.1:2; server 127.0.0.1:1 backup;', /balancing method does not support parameter "backup"/],
  ['random; server 127.0.0.1:1 slow_start=1s;', /balancing method does not support parameter "slow_start"/],
] as const)
  test(`rejected: ${lines}`, async (t) => {
    const { stderr } = await check(t, `events {} stream { upstream u { ${lines} } }`);
    t.regex(stderr, message);
  });
