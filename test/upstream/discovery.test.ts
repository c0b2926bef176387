import test from 'ava';
import { ConfigErrors } from '../../core/config/errors.js';
import { Random } from '../zone/random.js';
import { FakeNames } from './fake-names.js';
import { MemoryStore } from './memory-store.js';
import { addresses, choices, members, TestNode } from './nodes.js';

const RESOLVER = 'resolver 127.0.0.1 nxdomain_grace=10s;';
const shop = (lines: string, head = `zone shop 64k; ${RESOLVER}`) => `http { upstream shop { ${head} ${lines} } }`;

const record = (target: string, port: number) => ({ target, port, priority: 0, weight: 1 });

/** A node with one upstream, whose names are those of the fake. */
async function started(lines: string, names: FakeNames, head?: string): Promise<TestNode> {
  const node = new TestNode({ discovery: names.discovery });
  await node.load(shop(lines, head));
  node.discover();
  await names.pass(0);
  return node;
}

test('a server with resolve has the addresses of its name, in every worker', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1', '10.0.0.2', '2001:db8::1']);
  const node = await started('server a.test:8080 resolve; server 10.0.0.9:80;', names);
  t.deepEqual(addresses(node), ['10.0.0.1:8080', '10.0.0.2:8080', '10.0.0.9:80', '[2001:db8::1]:8080']);
  for (const worker of [0, 1]) t.is(new Set(choices(node.upstream('shop', worker), 4)).size, 4);
});

test('before the first reply there is no member, and none is waited for', async (t) => {
  const names = new FakeNames();
  names.set('a.test', 'timedout');
  const node = await started('server a.test resolve;', names);
  t.deepEqual(choices(node.upstream('shop'), 1), ['none']);
  t.like([...(node.master.get('shop')?.peers ?? [])][0], { server: 'a.test', state: 'resolving' });
  names.set('a.test', ['10.0.0.1']);
  await names.pass(2000);
  t.deepEqual(choices(node.upstream('shop'), 1), ['10.0.0.1:80']);
  t.deepEqual(
    Array.from(node.master.get('shop')?.peers ?? [], ({ state }) => state),
    ['up'],
  );
  t.deepEqual(names.log, ['a.test could not be resolved (110: Operation timed out)', 'a.test is resolved again']);
});

test('a change of addresses leaves the members alone whose address stays', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1', '10.0.0.2']);
  const node = await started('server a.test resolve;', names);
  const upstream = node.upstream('shop');
  const kept = [...upstream.peers].find(({ server }) => server === '10.0.0.2:80')!;
  upstream.claim(kept);
  names.set('a.test', ['10.0.0.3', '10.0.0.2']);
  await names.pass(1000);
  t.deepEqual(addresses(node), ['10.0.0.2:80', '10.0.0.3:80']);
  t.is(upstream.peer(kept.id), kept);
  t.like(node.master.get('shop')?.peer(kept.id), { active: 1, requests: 1 });
});

test('a removed member finishes its requests, and its memory comes back', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1']);
  const node = await started('server a.test resolve; server 10.0.0.9;', names);
  const upstream = node.upstream('shop');
  const used = upstream.memory.zone.slab.used;
  const busy = [...upstream.peers].find(({ server }) => server === '10.0.0.1:80')!;
  upstream.claim(busy);
  names.set('a.test', []);
  await names.pass(1000);
  t.true(busy.removed);
  t.is(node.master.get('shop')?.zombies, 1);
  upstream.free(busy, false);
  for (let n = 1; n <= 20; n++) {
    names.set('a.test', [`10.0.1.${n}`]);
    await names.pass(1000);
  }
  t.is(upstream.memory.zone.slab.used, used);
});

test('an empty reply empties the name', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1']);
  const node = await started('server a.test resolve;', names);
  names.set('a.test', []);
  await names.pass(1000);
  t.deepEqual(addresses(node), []);
  t.like([...(node.master.get('shop')?.peers ?? [])][0], { id: node.tree.byId(node.idOf('server', 'a.test'))?.id, state: 'resolving' });
});

for (const failure of ['servfail', 'timedout', 'refused'] as const) {
  test(`${failure} keeps the last addresses, however long`, async (t) => {
    const names = new FakeNames();
    names.set('a.test', ['10.0.0.1']);
    const node = await started('server a.test resolve;', names);
    names.set('a.test', failure);
    await names.pass(3_600_000);
    t.deepEqual(addresses(node), ['10.0.0.1:80']);
    // 1, 2, 4 … seconds, and then every 30 s.
    t.true(names.asked.length < 140, `${names.asked.length} lookups`);
    names.set('a.test', ['10.0.0.2']);
    await names.pass(30_000);
    t.deepEqual(addresses(node), ['10.0.0.2:80']);
  });
}

test('a name that does not exist any more keeps its addresses for nxdomain_grace', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1']);
  const node = await started('server a.test resolve;', names);
  names.set('a.test', 'nxdomain');
  await names.pass(10_900);
  t.deepEqual(addresses(node), ['10.0.0.1:80']);
  await names.pass(200);
  t.deepEqual(addresses(node), []);
  names.set('a.test', ['10.0.0.1']);
  await names.pass(1000);
  t.deepEqual(addresses(node), ['10.0.0.1:80']);
});

test('a failure of servers after NXDOMAIN keeps the addresses as well', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1']);
  const node = await started('server a.test resolve;', names);
  names.set('a.test', 'nxdomain');
  await names.pass(2000);
  names.set('a.test', 'servfail');
  await names.pass(60_000);
  t.deepEqual(addresses(node), ['10.0.0.1:80']);
});

test('addresses of a family that could not be looked up stay', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1', '2001:db8::1']);
  const node = await started('server a.test resolve;', names);
  names.set('a.test', ['10.0.0.2'], [4]);
  await names.pass(1000);
  t.deepEqual(addresses(node), ['10.0.0.2:80', '[2001:db8::1]:80']);
  t.deepEqual(names.log, ['a.test could not be resolved (2: Server failure): no IPv6 addresses, which "ipv6=off" does not ask for']);
  // A server that always fails for IPv6 is asked no more seldom for that.
  for (const last of [3, 4, 5, 6]) {
    names.set('a.test', [`10.0.0.${last}`], [4]);
    await names.pass(1000);
    t.true(addresses(node).includes(`10.0.0.${last}:80`));
  }
});

test('a new resolver that fails for one family leaves the members of that family alone', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1', '2001:db8::1']);
  const node = await started('server a.test resolve;', names);
  names.set('a.test', ['10.0.0.2'], [4]);
  await node.load(shop('server a.test resolve;', 'zone shop 64k; resolver 127.0.0.1 valid=5s;'));
  await names.pass(10_000);
  t.deepEqual(addresses(node), ['10.0.0.2:80', '[2001:db8::1]:80']);
  names.set('a.test', ['10.0.0.2']);
  await names.pass(10_000);
  t.deepEqual(addresses(node), ['10.0.0.2:80']);
});

test('a service has the ports, weights and ranks of its records', async (t) => {
  const names = new FakeNames();
  names.service('_http._tcp.b.test', [
    { target: 'x.test', port: 81, priority: 1, weight: 3 },
    { target: 'y.test', port: 82, priority: 1, weight: 0 },
    { target: 'z.test', port: 83, priority: 2, weight: 1 },
  ]);
  names.set('x.test', ['10.0.0.1']);
  names.set('y.test', ['10.0.0.2']);
  names.set('z.test', ['10.0.0.3']);
  const node = await started('server b.test service=http resolve;', names);
  const seen = (): string[] =>
    Array.from(node.upstream('shop', 1).peers, ({ server, weight, backup }) => `${server} ${weight} ${backup}`).toSorted();
  t.deepEqual(seen(), ['10.0.0.1:81 3 false', '10.0.0.2:82 1 false', '10.0.0.3:83 1 true']);
  t.deepEqual(new Set(choices(node.upstream('shop'), 8)), new Set(['10.0.0.1:81', '10.0.0.2:82']));

  // Another weight is no other member.
  const ids = members(node)[0];
  names.service('_http._tcp.b.test', [
    { target: 'x.test', port: 81, priority: 1, weight: 5 },
    { target: 'y.test', port: 82, priority: 2, weight: 2 },
    { target: 'z.test', port: 83, priority: 2, weight: 1 },
  ]);
  await names.pass(1000);
  t.deepEqual(seen(), ['10.0.0.1:81 5 false', '10.0.0.2:82 2 true', '10.0.0.3:83 1 true']);
  t.deepEqual(members(node)[0], ids);
});

test('a new target of a service does not take effect before it is known', async (t) => {
  const names = new FakeNames();
  names.service('_http._tcp.b.test', [{ target: 'x.test', port: 81, priority: 0, weight: 1 }]);
  names.set('x.test', ['10.0.0.1']);
  const node = await started('server b.test service=_http._tcp resolve;', names);
  const seen: string[][] = [];
  names.service('_http._tcp.b.test', [{ target: 'y.test', port: 82, priority: 0, weight: 1 }]);
  names.set('y.test', ['10.0.0.2']);
  for (let step = 0; step < 20; step++) {
    await names.pass(100);
    seen.push(addresses(node));
  }
  t.deepEqual(new Set(seen.map(String)), new Set(['10.0.0.1:81', '10.0.0.2:82']));
});

test('targets of a service that cannot be looked up keep their addresses, and new ones do not displace those of before', async (t) => {
  const store = new MemoryStore();
  const names = new FakeNames();
  names.service('_http._tcp.b.test', [record('x.test', 81), record('y.test', 82)]);
  names.set('x.test', ['10.0.0.1']);
  names.set('y.test', ['10.0.0.2']);
  const config = 'server b.test service=http resolve;';
  const before = new TestNode({ discovery: names.discovery });
  before.master.discovered?.remember(store);
  await before.load(shop(config));
  before.discover();
  await names.pass(0);
  before.master.stop();

  // A start while one of the two fails.
  const later = new FakeNames();
  later.service('_http._tcp.b.test', [record('x.test', 81), record('y.test', 82)]);
  later.set('x.test', ['10.0.0.3']);
  later.set('y.test', 'servfail');
  const node = new TestNode({ discovery: later.discovery });
  node.master.discovered?.remember(store);
  await node.load(shop(config));
  node.discover();
  await later.pass(500);
  t.deepEqual(addresses(node), ['10.0.0.2:82', '10.0.0.3:81']);

  later.service('_http._tcp.b.test', [record('z.test', 83)]);
  later.set('z.test', 'timedout');
  await later.pass(60_000);
  t.true(addresses(node).length > 0);
  later.set('z.test', ['10.0.0.4']);
  await later.pass(60_000);
  t.deepEqual(addresses(node), ['10.0.0.4:83']);
});

test('a backup service has the servers of its highest priority only', async (t) => {
  const names = new FakeNames();
  names.service('_http._tcp.b.test', [
    { target: 'x.test', port: 81, priority: 0, weight: 1 },
    { target: 'y.test', port: 82, priority: 9, weight: 1 },
  ]);
  names.set('x.test', ['10.0.0.1']);
  names.set('y.test', ['10.0.0.2']);
  const node = await started('server 10.0.0.9; server b.test service=http resolve backup;', names);
  t.deepEqual(addresses(node), ['10.0.0.1:81', '10.0.0.9:80']);
  t.deepEqual(new Set(choices(node.upstream('shop'), 4)), new Set(['10.0.0.9:80']));
});

test('a name is asked for once, whatever number of servers have it', async (t) => {
  const names = new FakeNames();
  names.ttl = 60;
  names.set('a.test', ['10.0.0.1']);
  const node = await started('server a.test:81 resolve; server A.test:82 resolve;', names);
  await names.pass(30_000);
  t.deepEqual(addresses(node), ['10.0.0.1:81', '10.0.0.1:82']);
  t.deepEqual(names.asked, ['a.test']);
});

test('another resolver is asked at once, and the members stay meanwhile', async (t) => {
  const names = new FakeNames();
  names.ttl = 3600;
  names.set('a.test', ['10.0.0.1', '10.0.0.2']);
  const node = await started('server a.test resolve;', names);
  const before = members(node);
  names.set('a.test', ['10.0.0.2']);
  await names.pass(1000);
  t.deepEqual(members(node), before);
  await node.load(shop('server a.test resolve;', 'zone shop 64k; resolver 127.0.0.1 valid=5s;'));
  t.deepEqual(members(node), before);
  await names.pass(0);
  t.deepEqual(addresses(node), ['10.0.0.2:80']);
});

test('a changed line keeps its addresses, one with another name does not', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1']);
  names.set('b.test', ['10.0.0.2']);
  const node = await started('server a.test resolve;', names);
  const line = node.idOf('server', 'a.test');
  const [before] = members(node);
  await node.replace(line, 'server a.test resolve weight=7 down;');
  t.deepEqual(members(node)[0], before);
  const [peer] = node.upstream('shop').peers;
  t.like(peer?.member.settings, { weight: 7, down: true });
  await node.replace(line, 'server b.test resolve;');
  await names.pass(0);
  t.deepEqual(addresses(node), ['10.0.0.2:80']);
  await node.remove(line);
  t.deepEqual(addresses(node), []);
  const asked = names.asked.length;
  await names.pass(10_000);
  t.is(names.asked.length, asked);
});

test('a worker that joins has the members, and a zone that moves keeps them', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1', '10.0.0.2']);
  const node = await started('server a.test resolve;', names);
  await node.join();
  addresses(node);
  const [before] = members(node);
  await node.load(shop('server a.test resolve;', `zone shop 128k; ${RESOLVER}`));
  t.deepEqual(members(node)[0], before);
  addresses(node);
});

test('a zone without room for all addresses has some, says so once, and more when there is room', async (t) => {
  const names = new FakeNames();
  const many = Array.from({ length: 250 }, (_, n) => `10.0.${n >> 6}.${n & 63}`);
  names.set('a.test', many);
  const node = await started('server a.test resolve;', names, `zone shop 32k; ${RESOLVER}`);
  const { length } = addresses(node);
  t.true(length > 20 && length < 250, String(length));
  names.set('a.test', many.slice(240));
  await names.pass(1000);
  names.set('a.test', many.slice(235));
  await names.pass(2000);
  t.deepEqual(addresses(node).length, 15);
});

test('new addresses start slowly where others carry the traffic', async (t) => {
  const names = new FakeNames();
  names.set('a.test', ['10.0.0.1']);
  const node = await started('server a.test resolve slow_start=100s;', names);
  names.set('a.test', ['10.0.0.1', '10.0.0.2']);
  await names.pass(1000);
  node.clock.now += 10_000;
  const share = choices(node.upstream('shop'), 200).filter((server) => server === '10.0.0.2:80').length;
  t.true(share > 10 && share < 40, String(share));
});

test('a resolver of http serves upstreams without one, and cannot go while they need it', async (t) => {
  const names = new FakeNames();
  names.ttl = 3600;
  names.set('a.test', ['10.0.0.1']);
  const upstream = 'upstream shop { zone shop 64k; server a.test resolve; }';
  const node = new TestNode({ discovery: names.discovery });
  await node.load(`http { resolver 127.0.0.1; ${upstream} }`);
  node.discover();
  await names.pass(0);
  t.deepEqual(addresses(node), ['10.0.0.1:80']);
  names.set('a.test', ['10.0.0.2']);
  await node.load(`http { resolver 127.0.0.1 valid=9s; ${upstream} }`);
  await names.pass(0);
  t.deepEqual(addresses(node), ['10.0.0.2:80']);
  await t.throwsAsync(node.load(`http { ${upstream} }`), { instanceOf: ConfigErrors });
  t.deepEqual(addresses(node), ['10.0.0.2:80']);
});

for (const [config, message] of [
  [shop('server a.test resolve;', RESOLVER), /resolving names at run time requires upstream "shop" to be in shared memory/],
  [shop('server a.test resolve;', 'zone shop 64k;'), /no resolver defined to resolve names at run time in upstream "shop"/],
  [shop('server a.test service=http;'), /service upstream "a.test" requires "resolve" parameter/],
  [shop('server a.test:80 service=http resolve;'), /service upstream "a.test:80" may not have port/],
  [shop('server 10.0.0.1 service=http resolve;'), /service upstream "10.0.0.1" requires domain name/],
  [shop('server a.test resolve;', 'zone shop 64k; resolver valid=1s;'), /no name servers defined/],
] as const) {
  test(`rejected: ${message.source}`, async (t) => {
    const names = new FakeNames();
    const error = await t.throwsAsync(new TestNode({ discovery: names.discovery }).load(config), { instanceOf: ConfigErrors });
    t.regex(error.errors[0]?.message ?? '', message);
    t.deepEqual(names.asked, []);
  });
}

/** What should be the addresses of a name after a random sequence of replies: written again, and as simple as can be. */
class Model {
  known: readonly string[] = [];
  #missing: number | undefined;

  reply(reply: readonly string[] | string, now: number): void {
    if (typeof reply !== 'string') {
      this.known = reply;
      this.#missing = undefined;
    } else if (reply === 'nxdomain') {
      this.#missing ??= now;
      if (now - this.#missing >= 10_000) this.known = [];
    }
  }
}

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`members are those of a plain model after random replies, seed ${seed}`, async (t) => {
    const random = new Random(seed);
    const names = new FakeNames();
    const models = new Map(['a.test', 'b.test'].map((name) => [name, new Model()]));
    /** Requests by id: of a member that stays they are never forgotten. */
    const requests = new Map<string, number>();
    const node = await started('server a.test:81 resolve; server b.test:82 resolve;', names);
    let lastIds = 0;
    for (let step = 0; step < 120; step++) {
      for (const [name] of models) {
        const some = Array.from({ length: random.below(4) }, () => `10.0.0.${random.below(6)}`);
        const reply = (['nxdomain', 'servfail', 'timedout'] as const)[random.below(9)] ?? [...new Set(some)];
        names.set(name, reply);
      }
      const asked = names.asked.length;
      const at = names.now;
      await names.pass(1000);
      // A name that fails is asked for more seldom: its reply counts when it was asked for.
      for (const name of new Set(names.asked.slice(asked))) models.get(name)?.reply(names.reply(name), at);
      const expected = [...models].flatMap(([name, { known }]) => known.map((host) => `${host}:${name === 'a.test' ? 81 : 82}`));
      t.deepEqual(addresses(node), expected.toSorted(), `step ${step}`);
      const [present = []] = members(node);
      for (const id of requests.keys()) if (!present.includes(id)) requests.delete(id);
      for (const server of choices(node.upstream('shop', step % 2), 3)) {
        if (server === 'none') {
          t.deepEqual(present, []);
          continue;
        }
        const id = present.find((text) => text.endsWith(` ${server}`))!;
        requests.set(id, (requests.get(id) ?? 0) + 1);
      }
      for (const text of present) {
        const id = Number(text.split(' ')[0]);
        t.is(node.master.get('shop')?.peer(id)?.requests, requests.get(text) ?? 0, text);
        lastIds = Math.max(lastIds, id);
      }
    }
    t.true(lastIds > 0);
    t.is(node.master.get('shop')?.zombies, 0);
  });
}
