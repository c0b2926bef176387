import test from 'ava';
import * as fc from 'fast-check';
import type { Peer } from '../../core/upstream/peer.js';
import type { Upstream } from '../../core/upstream/upstream.js';
import { Zone } from '../../core/zone/zone.js';
import { after, member, upstreamOf } from './upstreams.js';

const BY_LOAD = { module: 'test', lines: [], order: 'load' } as const;

function byLoad(...members: Parameters<typeof member>[1][]) {
  const stage = upstreamOf(members.map((settings, index) => member(index + 1, settings)));
  stage.upstream.updates.prepareMethod(BY_LOAD).commit();
  return stage;
}

/** Keys of the next `count` choices; each request ends at once. */
function sequence(upstream: Upstream, count: number): number[] {
  return Array.from({ length: count }, () => {
    const peer = upstream.pick();
    if (peer !== undefined) upstream.free(peer, false);
    return peer?.member.key ?? 0;
  });
}

test('the member with the fewest requests for its weight is chosen', (t) => {
  const { upstream } = byLoad({}, { weight: 2 }, {});
  const peers = Array.from({ length: 8 }, () => upstream.pick()!);
  t.deepEqual(
    Array.from(upstream.peers, ({ active }) => active),
    [2, 4, 2],
  );
  for (const peer of peers.filter(({ id }) => id === 2)) upstream.free(peer, false);
  t.deepEqual(
    Array.from({ length: 4 }, () => upstream.pick()!.id),
    [2, 2, 2, 2],
  );
});

test('idle members get their turns by weight', (t) => {
  const { upstream } = byLoad({ weight: 5 }, {}, {});
  const keys = sequence(upstream, 700);
  t.deepEqual(
    [1, 2, 3].map((key) => keys.filter((other) => other === key).length),
    [500, 100, 100],
  );
});

test('a member that was busy for long has no turns to make up for', (t) => {
  const { upstream } = byLoad({}, {});
  const busy = upstream.pick()!;
  sequence(upstream, 1000);
  upstream.free(busy, false);
  const keys = sequence(upstream, 10);
  t.true(keys.filter((key) => key === 1).length <= 6, keys.join());
});

test('backup members when no other is left; nobody who was tried', (t) => {
  const { upstream } = byLoad({ maxConns: 1 }, {}, { backup: true });
  const [one, two, backup] = [1, 2, 3].map((id) => upstream.peer(id)!) as [Peer, Peer, Peer];
  t.is(upstream.pick(after(two)), one);
  t.is(upstream.pick(after(two)), backup, 'the first one is full');
  t.is(upstream.pick(after(two, backup)), undefined);
  t.is(upstream.pick(), two);
});

test('the method changes while requests are under way, and back', (t) => {
  const { upstream, zone } = upstreamOf([member(1), member(2), member(3)]);
  const used = zone.slab.used;
  const busy = [upstream.pick()!, upstream.pick()!];
  upstream.updates.prepareMethod(BY_LOAD).commit();
  t.is(upstream.pick()!.id, 3);
  for (const peer of busy) upstream.free(peer, false);
  t.not(upstream.pick()!.id, 3);
  upstream.updates.prepareMethod(undefined).commit();
  t.deepEqual(new Set(sequence(upstream, 3)), new Set([1, 2, 3]));
  t.is(zone.slab.used, used, 'the memory of the order is given back');
});

test('a zone without room for the order says so and goes on', (t) => {
  const count = 120;
  const { upstream, zone } = upstreamOf(
    Array.from({ length: count }, (_, index) => member(index + 1)),
    { zone: Zone.create('g', 65536) },
  );
  while (zone.slab.alloc(64) !== 0);
  t.throws(() => upstream.updates.prepareMethod(BY_LOAD));
  t.is(new Set(sequence(upstream, count)).size, count);
});

/** What may happen to an upstream; numbers choose among what there is. */
const step = fc.record({
  what: fc.constantFrom('pick', 'pick', 'pick', 'free', 'free', 'fail', 'wait', 'weight', 'down', 'add', 'remove'),
  number: fc.nat(50),
});

test('the choice is always one of the least loaded', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { upstream, clock } = byLoad({}, { weight: 3 }, { maxConns: 2 }, { weight: 2 });
      const busy: Peer[] = [];
      let last = 4;
      for (const { what, number } of steps) {
        const peers = [...upstream.peers];
        const some = peers[number % Math.max(peers.length, 1)];
        if (what === 'pick') {
          const loads = peers.filter(({ isUsable }) => isUsable).map(({ active, weight }) => active / weight);
          const peer = upstream.pick();
          if (peer !== undefined) busy.push(peer);
          if (loads.length === 0 ? peer !== undefined : (peer!.active - 1) / peer!.weight !== Math.min(...loads)) return false;
        } else if (what === 'free' || what === 'fail') {
          const [peer] = busy.splice(number % Math.max(busy.length, 1), 1);
          if (peer !== undefined) upstream.free(peer, what === 'fail');
        } else if (what === 'wait') clock.now += number * 500;
        else if (what === 'add') {
          upstream.updates.prepareAdd(member(++last, { weight: (number % 4) + 1 }), true).commit();
        } else if (some !== undefined) {
          if (what === 'remove' && peers.length > 2) upstream.updates.prepareRemove(some).commit();
          else if (what === 'weight') upstream.updates.prepareChange(some, member(some.id, { weight: (number % 5) + 1 })).commit();
          else if (what === 'down') upstream.updates.prepareChange(some, member(some.id, { down: number % 2 === 0 })).commit();
          upstream.reap();
        }
      }
      return true;
    }),
    { numRuns: 300 },
  );
  t.pass();
});

/** Milliseconds of 20,000 choices among so many members, in the fastest of some runs. */
function cost(count: number): number {
  const { upstream } = upstreamOf(
    Array.from({ length: count }, (_, index) => member(index + 1, { weight: (index % 5) + 1 })),
    { zone: Zone.create('g', 65536 + count * 400) },
  );
  upstream.updates.prepareMethod(BY_LOAD).commit();
  let best = Infinity;
  for (let run = 0; run < 5; run++) {
    const start = performance.now();
    for (let request = 0; request < 20_000; request++) upstream.free(upstream.pick()!, false);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

test('a choice costs about the same among 3 members and among 10,000', (t) => {
  const [few, many] = [cost(3), cost(10_000)];
  t.log(`20,000 choices: ${few.toFixed(1)} and ${many.toFixed(1)} ms`);
  t.true(many < few * 20 + 20, `${few} and ${many} ms`);
});
