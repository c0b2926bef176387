import test from 'ava';
import { ZoneFull } from '../../core/upstream/member-set.js';
import { Zone } from '../../core/zone/zone.js';
import { upstreamOf, member } from './upstreams.js';

/** Milliseconds of the fastest of some runs: what the work costs when nothing else disturbs it. */
function fastest(runs: number, work: () => void): number {
  let best = Infinity;
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    work();
    best = Math.min(best, performance.now() - start);
  }
  return best;
}

const zone = (members: number) => Zone.create('g', 65536 + members * 400);
const stage = (count: number) =>
  upstreamOf(
    Array.from({ length: count }, (_, index) => member(index + 1, { weight: (index % 5) + 1 })),
    { zone: zone(count) },
  );

test('choosing, adding and removing cost the same with 10 members and with 100,000', (t) => {
  const small = stage(10);
  const large = stage(100_000);
  const choose = ({ upstream }: typeof small) =>
    fastest(5, () => {
      for (let request = 0; request < 20_000; request++) upstream.free(upstream.pick()!, false);
    });
  const change = ({ upstream }: typeof small) =>
    fastest(5, () => {
      for (let key = 0; key < 200; key++) {
        const added = upstream.updates.prepareAdd(member(1_000_000 + key, { weight: (key % 5) + 1 }), true);
        added.commit();
        upstream.updates.prepareRemove(added.peer).commit();
      }
      upstream.reap();
    });
  const costs = { choose: [choose(small), choose(large)] as const, change: [change(small), change(large)] as const };
  t.log(
    `20,000 choices: ${costs.choose.map((ms) => ms.toFixed(1)).join(' and ')} ms; 200 members added and removed: ${costs.change.map((ms) => ms.toFixed(1)).join(' and ')} ms`,
  );
  // Caches make a difference, the number of members must not: 10,000 times as many.
  for (const [few, many] of Object.values(costs)) t.true(many < few * 20 + 20, `${few} and ${many} ms`);
});

test('a large upstream is served in full rounds, also while members come and go', (t) => {
  const count = 5000;
  const { upstream } = upstreamOf(
    Array.from({ length: count }, (_, index) => member(index + 1)),
    { zone: zone(count) },
  );
  const round = () => {
    const chosen = new Set<number>();
    const { size } = upstream;
    for (let request = 0; request < size; request++) {
      const peer = upstream.pick()!;
      chosen.add(peer.id);
      upstream.free(peer, false);
    }
    return chosen.size / size;
  };
  t.is(round(), 1);
  for (let key = 1; key <= count; key += 10) upstream.updates.prepareRemove(upstream.peer(key)!).commit();
  upstream.reap();
  for (let key = 0; key < 500; key++) upstream.updates.prepareAdd(member(10_000 + key), true).commit();
  t.true(round() > 0.99);
  t.true(round() > 0.99);
});

/** How many members a new upstream takes in. */
function capacity(size: number): number {
  const { upstream } = upstreamOf([], { zone: Zone.create('g', size) });
  try {
    for (let key = 1; ; key++) upstream.updates.prepareAdd(member(key), true).commit();
  } catch (error) {
    if (!(error instanceof ZoneFull)) throw error;
    return upstream.size;
  }
}

test('a zone holds as many members as the manual says', (t) => {
  t.true(capacity(64 * 1024) >= 200);
  t.true(capacity(1024 * 1024) >= 3400);
});
