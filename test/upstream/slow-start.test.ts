import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import type { Upstream } from '../../core/upstream/upstream.js';
import { Zone } from '../../core/zone/zone.js';
import { TestNode } from './nodes.js';
import { member, upstreamOf } from './upstreams.js';

const shop = (lines: string): string => `http { upstream shop { zone shop 1m; ${lines} } }`;

/** Requests that end at once, one a millisecond, spread over workers: how many each member got. */
function send(node: TestNode, count: number, perRequest = 1): Record<string, number> {
  const shares: Record<string, number> = {};
  for (let sent = 0; sent < count; sent++) {
    node.clock.now += perRequest;
    const upstream = node.upstream('shop', sent % node.workers.length);
    const peer = upstream.pick();
    if (peer !== undefined) upstream.free(peer, false);
    const name = peer?.server.replace(':80', '') ?? 'none';
    shares[name] = (shares[name] ?? 0) + 1;
  }
  return shares;
}

function about(t: ExecutionContext, value: number | undefined, expected: number): void {
  t.true(Math.abs((value ?? 0) - expected) <= 3 + expected * 0.08, `${value}, not about ${expected}`);
}

/** Fails a member until it gets no requests. */
function fail(upstream: Upstream, server: string): void {
  for (let tries = 0; tries < 20; tries++) {
    const peer = upstream.pick()!;
    upstream.free(peer, peer.server === server);
    if (peer.server === server) return;
  }
}

for (const method of ['', 'least_conn;']) {
  test(`${method} a member that is added gets its weight little by little, in all workers alike`, async (t) => {
    const node = new TestNode({ workers: 3 });
    await node.load(shop(`${method} server 10.0.0.1;`));
    await node.add('shop', 'server 10.0.0.2 slow_start=10s;');
    // With the share x/10 of its weight it gets x/(10 + x) of the requests: the integral over 10 s is 10 (1 - ln 2).
    const first = send(node, 1000);
    about(t, first['10.0.0.2'], 1000 * (1 - 10 * Math.log(1.1)));
    about(t, (first['10.0.0.2'] ?? 0) + (send(node, 9000)['10.0.0.2'] ?? 0), 10_000 * (1 - Math.log(2)));
    t.deepEqual(send(node, 1000), { '10.0.0.1': 500, '10.0.0.2': 500 });
  });

  test(`${method} slow_start after failures, and not after a change that does not concern the member`, async (t) => {
    const node = new TestNode({ workers: 1 });
    await node.load(shop(`${method} server 10.0.0.1; server 10.0.0.2 slow_start=10s fail_timeout=1s;`));
    about(t, send(node, 100)['10.0.0.2'], 50);
    fail(node.upstream('shop'), '10.0.0.2:80');
    t.is(send(node, 900)['10.0.0.2'], undefined);
    const back = send(node, 1200);
    t.true((back['10.0.0.2'] ?? 0) > 10 && (back['10.0.0.2'] ?? 0) < 140, JSON.stringify(back));
    await node.add('shop', 'keepalive 4;');
    await node.replace(node.idOf('server', '10.0.0.1'), 'server 10.0.0.1 max_conns=100;');
    t.true((send(node, 500)['10.0.0.2'] ?? 0) < 100);
    send(node, 9000);
    about(t, send(node, 100)['10.0.0.2'], 50);
  });

  test(`${method} slow_start after "down" is cleared, with the setting that the change gives`, async (t) => {
    const node = new TestNode({ workers: 2 });
    await node.load(shop(`${method} server 10.0.0.1; server 10.0.0.2 weight=3 down;`));
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2 weight=3 slow_start=4s;');
    about(t, send(node, 4000)['10.0.0.2'], 4000 * (1 - Math.log(4) / 3));
    about(t, send(node, 1000)['10.0.0.2'], 750);
    // A shorter one ends at once.
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2 weight=3 slow_start=4s down;');
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2 weight=3 slow_start=4s;');
    await node.replace(node.idOf('server', '10.0.0.2'), 'server 10.0.0.2 weight=3;');
    about(t, send(node, 1000)['10.0.0.2'], 750);
  });

  test(`${method} at the start, and alone, a member with slow_start has its full weight`, async (t) => {
    const node = new TestNode();
    await node.load(shop(`${method} server 10.0.0.1 slow_start=1h; server 10.0.0.2;`));
    t.deepEqual(send(node, 100), { '10.0.0.1': 50, '10.0.0.2': 50 });
    const empty = new TestNode();
    await empty.load(shop(method));
    await empty.add('shop', 'server 10.0.0.1 slow_start=1h;');
    await empty.add('shop', 'server 10.0.0.2 slow_start=1h;');
    t.true((send(empty, 100)['10.0.0.1'] ?? 0) > 90);
    await empty.remove(empty.idOf('server', '10.0.0.1'));
    t.deepEqual(send(empty, 100), { '10.0.0.2': 100 });
    await empty.add('shop', 'server 10.0.0.3;');
    about(t, send(empty, 100)['10.0.0.2'], 50);
  });
}

test('slow_start begins when a member comes, however long the master has rested before', async (t) => {
  const node = new TestNode({ workers: 1 });
  await node.load(shop('server 10.0.0.1;'));
  // Nothing looks at the time in a thread without work.
  node.clock.later = node.clock.now + 100_000;
  await node.add('shop', 'server 10.0.0.2 slow_start=100s;');
  // The workers have requests.
  node.clock.refresh();
  about(t, send(node, 1000)['10.0.0.2'], 5);
});

test('least_conn: a member in its slow start has fewer requests at a time', async (t) => {
  const node = new TestNode({ workers: 1 });
  await node.load(shop('least_conn; server 10.0.0.1;'));
  const upstream = node.upstream('shop');
  const busy = Array.from({ length: 100 }, () => upstream.pick()!);
  await node.add('shop', 'server 10.0.0.2 slow_start=100s;');
  const added = [...upstream.peers].find(({ server }) => server === '10.0.0.2:80')!;
  for (const [after, most] of [
    [10_000, 13],
    [50_000, 52],
  ] as const) {
    node.clock.now = 1_000_000 + after;
    for (let sent = 0; sent < 30; sent++) busy.push(upstream.pick()!);
    t.true(added.active > most / 2 && added.active <= most + 20, `${added.active} of ${busy.length} after ${after} ms`);
    t.true(added.active < busy.length / 2);
    about(t, added.effectiveWeight * 100, after / 1000);
  }
});

test('the shares of members are those of their present weights (plain model)', (t) => {
  const setting = fc.record({ weight: fc.integer({ min: 1, max: 5 }), slowStart: fc.constantFrom(0, 2000, 10_000) });
  fc.assert(
    fc.property(fc.array(setting, { minLength: 1, maxLength: 6 }), (settings) => {
      const { upstream, clock } = upstreamOf([member(1, { weight: 2 })], { zone: Zone.create('g', 1 << 16, { shared: true }) });
      for (const [at, one] of settings.entries()) upstream.updates.prepareAdd(member(at + 2, one), true).commit();
      const all = [{ weight: 2, slowStart: 0 }, ...settings];
      const expected = all.map(() => 0);
      const counts = all.map(() => 0);
      for (let sent = 1; sent <= 3000; sent++) {
        clock.now = 1_000_000 + sent * 2;
        const weights = all.map(({ weight, slowStart }) => (slowStart === 0 ? weight : weight * Math.min((sent * 2) / slowStart, 1)));
        const total = weights.reduce((sum, weight) => sum + weight);
        for (const [at, weight] of weights.entries()) expected[at]! += weight / total;
        const peer = upstream.pick()!;
        upstream.free(peer, false);
        counts[peer.member.key - 1]!++;
      }
      for (const [at, count] of counts.entries())
        if (Math.abs(count - expected[at]!) > 12) throw new Error(`member ${at}: ${count} requests, not ${expected[at]}`);
    }),
    { numRuns: 40 },
  );
  t.pass();
});

test('slow_start: what many starting members take in the zone is given back', async (t) => {
  const node = new TestNode({ workers: 1 });
  await node.load(shop('server 10.9.9.9;'));
  const free: number[] = [];
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 200; at++) await node.add('shop', `server 10.1.0.${at} slow_start=60s;`);
    send(node, 200);
    for (let at = 0; at < 200; at++) await node.remove(node.idOf('server', `10.1.0.${at}`));
    free.push(node.upstream('shop').memory.zone.slab.free);
  }
  t.is(free[2], free[0]);
});

for (const method of ['hash $uri;', 'ip_hash;', 'random;']) {
  test(`${method} slow_start is an error, whenever it comes`, async (t) => {
    const message = 'balancing method does not support parameter "slow_start"';
    const node = new TestNode();
    await t.throwsAsync(node.load(shop(`${method} server 10.0.0.1 slow_start=1s;`)), { message });
    await node.load(shop(`${method} server 10.0.0.1 slow_start=0s;`));
    await t.throwsAsync(node.add('shop', 'server 10.0.0.2 slow_start=500ms;'), { message });
    t.is(node.upstream('shop').size, 1);
  });
}
