import test from 'ava';
import { httpBackend, rawBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { connectRaw, get } from '../harness/client.js';
import { startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { plugin } from '../harness/plugins.js';
import { testWith } from '../harness/programs.js';
import { shared as sharedScope, type Scope } from '../harness/scope.js';
import { startSrv, type Srv, type SrvOptions } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** `count` backends that respond with their letter. Returns their ports. */
async function letters(t: Scope, count: number): Promise<number[]> {
  const backends = Array.from({ length: count }, (_, at) => httpBackend(t, (_, response) => response.end('abcdefgh'[at])));
  return (await Promise.all(backends)).map(({ port }) => port);
}

/** Two workers; the location of an upstream's name goes there. The key of a request is its argument `k`. */
function serve(
  t: Scope,
  upstreams: Readonly<Record<string, string>>,
  { main = '', ...options }: SrvOptions & { main?: string } = {},
): Promise<Srv> {
  return startSrv(t, `${main} worker_processes 2; error_log logs/error.log notice; events {} http { ${site(upstreams)} }`, options);
}

function site(upstreams: Readonly<Record<string, string>>, port = '%%PORT_web%%'): string {
  const blocks = Object.entries(upstreams).map(([name, lines]) => `upstream ${name} { ${lines} }`);
  const locations = Object.keys(upstreams).map((name) => `location /${name} { proxy_pass http://${name}; proxy_next_upstream_tries 0; }`);
  return `${blocks.join('\n')} server { listen 127.0.0.1:${port}; ${locations.join('\n')} }`;
}

async function bodies(port: number, paths: readonly string[]): Promise<string> {
  let all = '';
  for (const path of paths) all += (await get(port, path)).body;
  return all;
}

const repeated = (path: string, times: number): string[] => Array.from({ length: times }, () => path);
const keys = (name: string, count: number): string[] => Array.from({ length: count }, (_, key) => `/${name}?k=key${key}`);
const count = (text: string, letter: string): number => text.split(letter).length - 1;

const TWO_CHOICES = plugin('two_choices', {
  manifest: `directives: { two_choices: directive({ in: ['upstream'] }), broken: directive({ in: ['upstream'], args: text() }) }`,
  body: `balancer({ conf }) {
    if (conf.broken !== undefined) return { create: () => ({ propose() { if (conf.broken === 'throws') throw new Error('out of order'); return {}; } }) };
    if (!conf.two_choices) return undefined;
    return {
      create(upstream) {
        const peers = [];
        return {
          added: (peer) => void peers.push(peer),
          removed: (peer) => void peers.splice(peers.indexOf(peer), 1),
          propose(pick) {
            const [one, other] = [0, 1].map(() => peers[Math.floor(Math.random() * peers.length)]);
            const best = other.active < one.active ? other : one;
            best.setSpare(0, best.spare(0) + 1);
            return pick.wasTried(best) || !best.isUsable ? upstream.next(pick) : best;
          },
        };
      },
    };
  }`,
});
const PLUGIN = { files: { 'modules/two_choices.js': TWO_CHOICES }, main: 'load_module modules/two_choices.js;' };

/** One server with most of the upstreams; each test has its own, because load and turns are kept for an upstream. */
const shared = sharedScope(async (scope) => {
  const held: (() => void)[] = [];
  const slow = await rawBackend(scope, (socket) => {
    socket.on('data', () => held.push(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ns')));
  });
  const waiting = { requests: 0 };
  const silent = await rawBackend(scope, (socket) => void socket.on('data', () => waiting.requests++));
  const [a, b, c] = (await letters(scope, 3)).map((port) => `server 127.0.0.1:${port}`);
  const dead = `server 127.0.0.1:${await freePort(scope)}`;
  const srv = await serve(
    scope,
    {
      // With its weight the quick one is the less loaded one also while its last request is not quite over.
      held: `zone held 64k; least_conn; server 127.0.0.1:${slow.port}; ${a} weight=4;`,
      weights: `zone w 64k; least_conn; ${a} weight=3; ${b};`,
      backup: `zone b 64k; ${dead}; ${c} backup; least_conn;`,
      own: `least_conn; ${a}; ${b} down;`,
      one: `zone one 64k; random; ${a} weight=4; ${b}; ${c} down; ${dead};`,
      two: `zone two 64k; random two least_conn; ${a}; ${b}; ${c};`,
      silent: `zone silent 64k; random two; server 127.0.0.1:${silent.port}; ${a} weight=4;`,
      plain: `hash $arg_k; ${a}; ${b}; ${dead} max_fails=0;`,
      ring: `zone r 64k; hash $arg_k consistent; ${a}; ${b}; ${dead} max_fails=0;`,
      ip: `ip_hash; ${a}; ${b}; ${c};`,
      both: `least_conn; ip_hash; ${a}; ${b};`,
      choices: `zone c 64k; two_choices; ${a}; ${b}; ${c} backup;`,
      throws: `zone t 64k; broken throws; ${a}; ${b};`,
      odd: `zone o 64k; broken odd; ${a}; ${b};`,
    },
    PLUGIN,
  );
  return { srv, port: srv.port('web'), held, waiting };
});

test('least_conn: the one with the fewest requests of all workers', async (t) => {
  const { port, held } = await shared();
  while (held.length === 0) {
    const client = await connectRaw(t, port);
    client.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('a member', () => held.length > 0 || client.received !== '');
  }
  t.is(await bodies(port, repeated('/held', 12)), 'a'.repeat(12));
  for (const answer of held.splice(0)) answer();
  await waitFor('the first one again', async () => {
    const client = await connectRaw(t, port);
    client.send('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('a member', () => held.length > 0 || client.received !== '');
    return held.length > 0;
  });
});

test('least_conn: idle members by weight, backup members, failures', async (t) => {
  const { port } = await shared();
  const weights = await bodies(port, repeated('/weights', 40));
  // 30 are expected, but a request may not be quite over when the next one comes.
  t.true(count(weights, 'a') >= 25 && count(weights, 'a') <= 35, weights);
  t.is(await bodies(port, repeated('/backup', 4)), 'cccc');
  t.is(await bodies(port, repeated('/own', 4)), 'aaaa');
});

test('random: by weight, without members that cannot be chosen', async (t) => {
  const { port } = await shared();
  const one = await bodies(port, repeated('/one', 100));
  t.is(one.length, 100);
  t.is(count(one, 'c'), 0);
  // 80 and 20 are expected; this is six times the deviation.
  t.true(count(one, 'a') > 56 && count(one, 'b') > 2, one);
  const two = await bodies(port, repeated('/two', 60));
  for (const letter of 'abc') t.true(count(two, letter) > 2, two);
});

test('random two: the less loaded one of two', async (t) => {
  const { port, waiting } = await shared();
  await waitFor('a request at the slow one', async () => {
    const client = await connectRaw(t, port);
    client.send('GET /silent HTTP/1.1\r\nHost: a\r\n\r\n');
    await waitFor('a member', () => waiting.requests > 0 || client.received !== '');
    return waiting.requests > 0;
  });
  t.is(await bodies(port, repeated('/silent', 12)), 'a'.repeat(12));
});

test('hash: a key stays at its member, in all workers; a member that fails gives its keys to others', async (t) => {
  const { port } = await shared();
  for (const name of ['plain', 'ring']) {
    const first = await bodies(port, keys(name, 30));
    t.is(first.length, 30, 'all are answered');
    t.true(count(first, 'a') > 0 && count(first, 'b') > 0);
    t.is(await bodies(port, keys(name, 30)), first);
  }
});

test('hash and hash consistent: requests with an empty key take turns', async (t) => {
  const { port } = await shared();
  for (const name of ['plain', 'ring']) t.deepEqual([...new Set(await bodies(port, repeated(`/${name}`, 12)))].sort(), ['a', 'b'], name);
});

test('hash consistent: a member that comes moves its share of the keys, and nobody else’s', async (t) => {
  const ports = await letters(t, 4);
  const conf = (members: number): string =>
    `worker_processes 2; error_log logs/error.log notice; events {} http { ${site({
      ring: `zone r 64k; hash $arg_k consistent; ${ports
        .slice(0, members)
        .map((port) => `server 127.0.0.1:${port};`)
        .join(' ')}`,
    })} }`;
  const srv = await startSrv(t, conf(3));
  const port = srv.port('web');
  const before = await bodies(port, keys('ring', 80));
  await srv.configure(conf(4));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  const after = await bodies(port, keys('ring', 80));
  for (const [at, letter] of before.split('').entries()) t.true(after[at] === letter || after[at] === 'd', `key ${at}`);
  t.true(count(after, 'd') > 5 && count(after, 'd') < 40, after);
});

testWith('nginx')('hash, hash consistent and ip_hash choose as nginx does', async (t) => {
  const [a, b, c, d] = await letters(t, 4);
  const members = `server 127.0.0.1:${a} weight=2; server 127.0.0.1:${b}; server localhost:${c}; server 127.0.0.1:${d} weight=3;`;
  const upstreams = { plain: `hash $arg_k; ${members}`, ring: `hash $arg_k consistent; ${members}`, ip: `ip_hash; ${members}` };
  const other = await freePort(t);
  await startNginx(t, site(upstreams, String(other)));
  const srv = await serve(t, upstreams);
  for (const paths of [keys('plain', 60), keys('ring', 60), keys('ip', 3)])
    t.is(await bodies(srv.port('web'), paths), await bodies(other, paths), paths[0]);
});

test('ip_hash: a client stays at its member', async (t) => {
  const { port } = await shared();
  t.is(new Set(await bodies(port, repeated('/ip', 10))).size, 1);
});

test('a reload changes the method, and requests under way are not disturbed', async (t) => {
  const [a, b] = await letters(t, 2);
  const conf = (method: string): string =>
    `worker_processes 2; error_log logs/error.log notice; events {} http { ${site({ u: `zone u 64k; ${method} server 127.0.0.1:${a} weight=3; server 127.0.0.1:${b};` })} }`;
  const srv = await startSrv(t, conf(''));
  const port = srv.port('web');
  let reloads = 0;
  for (const method of ['hash $arg_k;', 'least_conn;', 'random;', 'hash $arg_k consistent;', '']) {
    await srv.configure(conf(method));
    srv.signal('SIGHUP');
    reloads++;
    await waitFor('the reload', () => srv.log().split('reconfigured').length > reloads);
    const same = await bodies(port, repeated('/u?k=x', 24));
    if (method.startsWith('hash')) t.is(new Set(same).size, 1, method);
    else if (method === '') t.is(count(same, 'a'), 18, same);
    else t.true(same.includes('a') && same.includes('b'), `${method} ${same}`);
  }
});

test('a method of a module, with a backup member', async (t) => {
  const { port } = await shared();
  const all = await bodies(port, repeated('/choices', 60));
  t.is(all.length, 60);
  for (const letter of 'ab') t.true(count(all, letter) > 2, all);
});

test('a method that fails costs a line in the log, and the next member in turn is chosen', async (t) => {
  const { srv, port } = await shared();
  t.is(count(await bodies(port, repeated('/throws', 10)), 'a'), 5);
  t.is(count(await bodies(port, repeated('/odd', 10)), 'a'), 5);
  await srv.waitForLog(/\[error\] .*two_choices: balancer of upstream "throws" failed: Error: out of order.* at /);
  await srv.waitForLog(/balancer of upstream "odd" failed: TypeError: "propose" must return a peer of the upstream, or undefined/);
});

for (const [lines, error] of [
  ['hash $uri; server 127.0.0.1:1; server 127.0.0.1:2 backup;', 'balancing method does not support parameter "backup"'],
  ['random; server 127.0.0.1:1; server 127.0.0.1:2 backup;', 'balancing method does not support parameter "backup"'],
  ['ip_hash; server 127.0.0.1:1; server 127.0.0.1:2 backup;', 'balancing method does not support parameter "backup"'],
  ['hash; server 127.0.0.1:1;', 'invalid number of arguments in "hash" directive'],
  ['hash $nosuch; server 127.0.0.1:1;', 'unknown "nosuch" variable'],
] as const)
  test(`rejected: ${lines}`, async (t) => {
    const run = await check(t, `events {} http { upstream u { ${lines} } server { listen 127.0.0.1:%%PORT_web%%; } }`);
    t.is(run.code, 1);
    t.true(run.stderr.includes(`[emerg] ${error} in `), run.stderr);
  });

test('two methods: a warning, and the last one counts', async (t) => {
  const { srv, port } = await shared();
  await srv.waitForLog(/\[warn\] .*load balancing method redefined/);
  t.is(new Set(await bodies(port, repeated('/both', 6))).size, 1);
});
