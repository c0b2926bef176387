import test from 'ava';
import { ConfigErrors } from '../../core/config/errors.js';
import { ZoneFullError } from '../../core/upstream/zone-full-error.js';
import { choices, TestNode } from './nodes.js';

const shop = (lines: string, zone = 'zone shop 64k;') => `http { upstream shop { ${zone} ${lines} } }`;

test('workers share the sequence of an upstream with a zone, and not that of one without', async (t) => {
  const node = new TestNode();
  await node.load(
    'http { upstream a { zone a 64k; server 10.0.0.1; server 10.0.0.2:81; } upstream b { server 10.0.0.3; server 10.0.0.4; } }',
  );
  t.deepEqual([...choices(node.upstream('a', 0), 1), ...choices(node.upstream('a', 1), 1)], ['10.0.0.1:80', '10.0.0.2:81']);
  t.deepEqual([...choices(node.upstream('b', 0), 1), ...choices(node.upstream('b', 1), 1)], ['10.0.0.3:80', '10.0.0.3:80']);
});

test('an added member is active in all workers, and nothing else changes', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1;'));
  const [peer] = node.upstream('shop').peers;
  await node.add('shop', 'server 10.0.0.2 weight=3;');
  t.is([...node.upstream('shop').peers][0], peer);
  for (const worker of [0, 1])
    t.deepEqual(choices(node.upstream('shop', worker), 4).toSorted(), ['10.0.0.1:80', ...Array<string>(3).fill('10.0.0.2:80')]);
  t.is(node.master.get('shop')?.size, 2);
});

function upstreams(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, n) => `upstream u${from + n} { zone u${from + n} 32k; server 10.0.${from + n}.1; }`).join(
    ' ',
  );
}

test('upstreams with small zones of their own keep out of each other, whatever comes and goes', async (t) => {
  const node = new TestNode();
  await node.load(`http { ${upstreams(0, 60)} }`);
  await node.load(`http { ${upstreams(30, 90)} }`);
  await node.join();
  for (let at = 30; at < 90; at++)
    for (const worker of [0, 1, 2]) t.deepEqual(choices(node.upstream(`u${at}`, worker), 2), [`10.0.${at}.1:80`, `10.0.${at}.1:80`]);
});

test('a prepared member gets nothing before the commit, and leaves nothing after an abort', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1;'));
  const used = () => node.upstream('shop').memory.zone.slab.used;
  const before = used();
  await node.add('shop', 'server 10.0.0.2;', 'abort');
  t.deepEqual(new Set(choices(node.upstream('shop'), 4)), new Set(['10.0.0.1:80']));
  t.is(used(), before);
  t.is(node.upstream('shop').size, 1);
});

test('a change in place keeps the member, its figures and its requests', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1; server 10.0.0.2;'));
  const upstream = node.upstream('shop');
  const peer = upstream.pick()!;
  upstream.answered(peer, 200, 5);
  await node.replace(node.idOf('server', '10.0.0.1'), 'server 10.0.0.1 weight=3 max_conns=9;');
  t.is(upstream.peer(peer.id), peer);
  const view = node.master.get('shop')?.peer(peer.id);
  t.like(view, { weight: 3, maxConns: 9, active: 1, requests: 1, codes: { 200: 1 }, server: '10.0.0.1:80' });
  upstream.free(peer, false);
  t.is(choices(upstream, 8).filter((server) => server === '10.0.0.1:80').length, 6);
});

test('flags are set and cleared: down, drain, backup', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1; server 10.0.0.2;'));
  const id = node.idOf('server', '10.0.0.1');
  const peerId = node.tree.byId(id)?.key ?? id;
  const expected = { down: 'down', drain: 'draining', backup: 'up' } as const;
  for (const flag of ['down', 'drain', 'backup'] as const) {
    await node.replace(id, `server 10.0.0.1 ${flag};`);
    t.deepEqual(new Set(choices(node.upstream('shop'), 4)), new Set(['10.0.0.2:80']), flag);
    t.is(node.master.get('shop')?.peer(peerId)?.state, expected[flag]);
  }
  await node.replace(id, 'server 10.0.0.1;');
  t.is(new Set(choices(node.upstream('shop'), 4)).size, 2);
});

test('a removed member finishes what it has, and counts as a zombie until then', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1; server 10.0.0.2;'));
  const upstream = node.upstream('shop');
  const peer = upstream.pick()!;
  await node.remove(node.idOf('server', '10.0.0.1'));
  t.deepEqual(new Set(choices(upstream, 4)), new Set(['10.0.0.2:80']));
  t.is(node.master.get('shop')?.zombies, 1);
  t.is(node.master.get('shop')?.peer(peer.id), undefined);
  upstream.answered(peer, 200, 1);
  upstream.finished(peer, 1, 1, 1);
  upstream.free(peer, false);
  t.is(node.master.get('shop')?.zombies, 0);
});

test('memory of removed members comes back', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1; server 10.0.0.2;'));
  const used = () => node.upstream('shop').memory.zone.slab.used;
  await node.remove(await node.add('shop', 'server 10.0.0.3:1000 weight=7;'));
  await node.remove(await node.add('shop', 'server 10.0.0.3:1000 weight=7;'));
  const before = used();
  for (let round = 0; round < 20; round++)
    await node.remove(await node.add('shop', `server 10.0.0.3:${1000 + round} weight=${7 + round};`));
  t.is(used(), before);
});

test('a reload keeps what it does not change', async (t) => {
  const node = new TestNode();
  await node.load('http { upstream a { zone a 64k; server 10.0.0.1; server 10.0.0.2; } upstream b { server 10.0.1.1; } }');
  const a = node.upstream('a');
  const b = node.upstream('b');
  const peer = a.pick()!;
  await node.load(
    'http { upstream c { server 10.0.2.1; } upstream b { server 10.0.1.1; } upstream a { zone a 64k; server 10.0.0.2; keepalive 7; server 10.0.0.1 weight=2; server 10.0.0.3; } }',
  );
  t.is(node.upstream('a'), a);
  t.is(node.upstream('b'), b);
  t.is(a.peer(peer.id), peer);
  t.deepEqual([...a.peers].map(({ server }) => server).sort(), ['10.0.0.1:80', '10.0.0.2:80', '10.0.0.3:80']);
  t.is(node.master.get('a')?.peer(peer.id)?.active, 1);
  t.deepEqual(choices(node.upstream('c'), 1), ['10.0.2.1:80']);
  await node.load('http { upstream a { zone a 64k; server 10.0.0.2; } }');
  t.is(node.workers[0]?.find('c'), undefined);
  t.is(a.size, 1);
});

test('a zone of another size is other memory; requests under way are not disturbed', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1;'));
  const old = node.upstream('shop');
  const peer = old.pick()!;
  await node.load(shop('server 10.0.0.1;', 'zone shop 128k;'));
  const upstream = node.upstream('shop');
  t.not(upstream, old);
  t.is(upstream.memory.zone.size, 128 * 1024);
  t.is(upstream.memory.zone.buffer, node.master.find('shop')!.memory.zone.buffer);
  t.is(node.master.get('shop')?.peer(peer.id)?.active, 0);
  old.answered(peer, 200, 1);
  old.free(peer, false);
  t.deepEqual(choices(upstream, 1), ['10.0.0.1:80']);
});

const both = (more = '') => `http { upstream a { zone both; server 10.0.0.1; } upstream b { zone both 64k; server 10.0.1.1; } ${more} }`;

test('several upstreams share a zone; what one leaves there comes back', async (t) => {
  const node = new TestNode();
  await node.load(both());
  t.is(node.upstream('a').memory.zone, node.upstream('b').memory.zone);
  const { slab } = node.upstream('a').memory.zone;
  const before = slab.used;
  await node.load(both('upstream c { zone both; server 10.0.2.1; }'));
  t.deepEqual(choices(node.upstream('c'), 1), ['10.0.2.1:80']);
  await node.load(both());
  node.clock.now += 1e6;
  await node.load(both('upstream d { server 10.0.3.1; }'));
  t.is(slab.used, before);
});

test('a request that began before its upstream was removed is still served', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1;'));
  const upstream = node.upstream('shop');
  await node.load('http { }');
  t.is(node.workers[0]?.inForce('shop'), undefined);
  const peer = upstream.pick();
  t.is(peer?.server, '10.0.0.1:80');
  upstream.free(peer!, false);
  t.is(upstream.keepalive.size, 0);
});

test('names are looked up once for all threads, and each address is a member', async (t) => {
  const asked: string[] = [];
  const node = new TestNode({
    lookup: (name) => {
      asked.push(name);
      return name === 'two.test' ? Promise.resolve(['10.0.0.1', '::1']) : Promise.reject(new Error('no'));
    },
  });
  await node.load(shop('server two.test:8080 weight=2;'));
  t.deepEqual(asked, ['two.test']);
  for (const worker of [0, 1])
    t.deepEqual(
      [...node.upstream('shop', worker).peers].map(({ server }) => server),
      ['10.0.0.1:8080', '[::1]:8080'],
    );
  const [first] = node.upstream('shop').peers;
  await node.replace(node.idOf('server', 'two.test:8080'), 'server two.test:8080 weight=5;');
  t.deepEqual(asked, ['two.test']);
  t.is([...node.upstream('shop').peers][0], first);
  const error = await t.throwsAsync(node.add('shop', 'server none.test;'), { instanceOf: ConfigErrors });
  t.is(error.errors[0]?.message, 'host not found in upstream "none.test"');
  const id = await node.add('shop', 'server 10.9.9.9;');
  await node.replace(id, 'server two.test;');
  t.deepEqual(
    [...node.upstream('shop', 1).peers].map(({ server }) => server),
    ['10.0.0.1:8080', '[::1]:8080', '10.0.0.1:80', '[::1]:80'],
  );
});

const REFUSED: Record<string, [configuration: string, ...messages: string[]]> = {
  'no servers': ['http { upstream a { } }', 'no servers are inside upstream'],
  'every error': [
    'http { upstream a { server 300.1.1.1; server 1.2.3.4:99999; } upstream b { } }',
    'invalid host in upstream "300.1.1.1"',
    'invalid port in upstream "1.2.3.4:99999"',
    'no servers are inside upstream',
  ],
  'one name twice': ['http { upstream a { server 10.0.0.1; } upstream a { server 10.0.0.1; } }', 'duplicate upstream "a"'],
  'a zone without a size': ['http { upstream a { zone x; server 10.0.0.1; } }', 'zero size shared memory zone "x"'],
  'a small zone': ['http { upstream a { zone x 16k; server 10.0.0.1; } }', 'zone "x" is too small'],
  'a zone beyond all bounds': ['http { upstream a { zone x 2g; server 10.0.0.1; } }', 'zone "x" is too large'],
  'two sizes': [
    'http { upstream a { zone x 64k; server 10.0.0.1; } upstream b { zone x 128k; server 10.0.0.1; } }',
    'the size 131072 of shared memory zone "x" conflicts with already declared size 65536',
  ],
};

for (const [title, [configuration, ...messages]] of Object.entries(REFUSED)) {
  test(`rejected: ${title}`, async (t) => {
    const node = new TestNode();
    await node.load('http { upstream old { server 10.0.0.1; } }');
    const error = await t.throwsAsync(node.load(configuration), { instanceOf: ConfigErrors });
    t.deepEqual(
      error.errors.map(({ message }) => message),
      messages,
    );
    t.deepEqual(choices(node.upstream('old'), 1), ['10.0.0.1:80']);
    t.is(node.zones.shares().length, 0);
  });
}

test('an upstream with a zone may be empty', async (t) => {
  const node = new TestNode();
  await node.load(shop(''));
  t.is(node.upstream('shop').pick(), undefined);
  await node.add('shop', 'server 10.0.0.1;');
  t.deepEqual(choices(node.upstream('shop'), 1), ['10.0.0.1:80']);
});

test('a full zone rejects a member, says what it needs, and goes on', async (t) => {
  const node = new TestNode();
  await node.load(shop(Array.from({ length: 100 }, (_, i) => `server 10.0.0.1:${i + 1};`).join(' ')));
  const fill = async () => {
    for (let port = 1000; ; port++) await node.add('shop', `server 10.0.0.2:${port};`);
  };
  const error = await t.throwsAsync(fill, { instanceOf: ConfigErrors });
  t.true(error.errors[0] instanceof ZoneFullError);
  t.regex(error.errors[0]?.message ?? '', /^zone "shop" is too small: \d{3} members fill its 65536 bytes; one more needs 68k at least$/);
  t.true(node.upstream('shop').size > 200);
  // What leaves keeps its room until the change is active.
  const all = shop(Array.from({ length: 100 }, (_, i) => `server 10.0.0.3:${i + 1};`).join(' '));
  await t.throwsAsync(node.load(all), {
    message: /zone "shop" is too small: 2\d\d members fill its 65536 bytes; 100 more need 9\dk at least/,
  });
  t.is(new Set(choices(node.upstream('shop'), node.upstream('shop').size)).size, node.upstream('shop').size);
});

test('a dead worker leaves no active requests behind', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1 max_conns=3;'));
  const id = node.idOf('server', '10.0.0.1');
  node.upstream('shop', 0).pick();
  const kept = node.upstream('shop', 1).pick()!;
  node.upstream('shop', 0).pick();
  t.is(node.upstream('shop', 1).pick(), undefined);
  node.master.dropWorker(0);
  t.is(node.master.get('shop')?.peer(id)?.active, 1);
  t.is(node.upstream('shop', 1).pick()?.server, '10.0.0.1:80');
  node.upstream('shop', 1).free(kept, false);
  t.is(node.master.get('shop')?.peer(id)?.active, 1);
});

test('upstreams of single addresses are made once and found again', async (t) => {
  const node = new TestNode({
    lookup: (name) => (name === 'a.test' ? Promise.resolve(['10.0.0.1', '10.0.0.2']) : Promise.reject(new Error('no'))),
  });
  const worker = node.workers[0]!;
  const upstream = await worker.implicit('a.test', 81);
  t.deepEqual(choices(upstream, 2), ['10.0.0.1:81', '10.0.0.2:81']);
  t.is(await worker.implicit('a.test', 81), upstream);
  t.deepEqual(choices(await worker.implicit('::1', 8080), 1), ['[::1]:8080']);
  t.deepEqual(choices(await worker.implicit('unix:/run/x.sock', 0), 1), ['unix:/run/x.sock']);
  await t.throwsAsync(worker.implicit('b.test', 81), { message: 'host not found in upstream "b.test"' });
});

test('targets of requests: addresses and targets of the configuration need no resolver, however many there are', async (t) => {
  const worker = new TestNode({ lookup: () => Promise.resolve(['10.0.0.1']) }).workers[0]!;
  const known = await worker.implicit('a.test', 81);
  const first = worker.forRequest('10.0.0.2', 81, undefined);
  t.true(worker.forRequest('10.0.0.2', 81, undefined) === first);
  for (let i = 0; i < 1100; i++) void worker.forRequest('10.0.1.1', 1000 + i, undefined);
  t.true(worker.forRequest('10.0.0.2', 81, undefined) !== first, 'the oldest one was forgotten');
  t.true(worker.forRequest('a.test', 81, undefined) === known);
  t.throws(() => worker.forRequest('a.test', 82, undefined), { message: 'no resolver defined to resolve a.test' });
  t.throws(() => worker.forRequest('b.test', 81, undefined), { message: 'no resolver defined to resolve b.test' });
});

test('statistics are reset, members stay', async (t) => {
  const node = new TestNode();
  await node.load(shop('server 10.0.0.1;'));
  const upstream = node.upstream('shop');
  const peer = upstream.pick()!;
  upstream.answered(peer, 404, 7);
  upstream.finished(peer, 10, 20, 8);
  t.like(node.master.get('shop')?.peer(peer.id), {
    requests: 1,
    responses: [0, 0, 0, 0, 1, 0],
    codes: { 404: 1 },
    sent: 10,
    received: 20,
    headerTime: 7,
    responseTime: 8,
  });
  node.master.get('shop')?.resetStatistics();
  t.like(node.master.get('shop')?.peer(peer.id), {
    requests: 0,
    active: 1,
    codes: {},
    sent: 0,
    selected: 0,
    headerTime: 0,
    responseTime: 0,
  });
  upstream.free(peer, false);
  t.deepEqual(choices(upstream, 1), ['10.0.0.1:80']);
});
