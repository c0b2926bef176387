import test from 'ava';
import * as fc from 'fast-check';
import type { Peer } from '../../core/upstream/peer.js';
import { Zone } from '../../core/zone/zone.js';
import { after, upstreamOf, member } from './upstreams.js';
import { NginxModel, type ModelPeer } from './nginx-model.js';

/** Keys of the next `count` choices; each request ends at once. */
function sequence(upstream: ReturnType<typeof upstreamOf>['upstream'], count: number): number[] {
  return Array.from({ length: count }, () => {
    const peer = upstream.pick();
    if (!peer) return 0;
    upstream.free(peer, false);
    return peer.member.key;
  });
}

test('weights 5, 1, 1 give the smooth sequence of the documentation', (t) => {
  const { upstream } = upstreamOf([member(1, { weight: 5 }), member(2), member(3)]);
  t.deepEqual(sequence(upstream, 14), [1, 1, 2, 1, 3, 1, 1, 1, 1, 2, 1, 3, 1, 1]);
});

test('backup members get requests only when no other is left', (t) => {
  const { upstream } = upstreamOf([member(1), member(2), member(3, { backup: true })]);
  t.deepEqual(sequence(upstream, 4), [1, 2, 1, 2]);
  const one = upstream.peer(1) as Peer;
  const two = upstream.peer(2) as Peer;
  t.is(upstream.pick(after(one, two))?.member.key, 3);
  t.is(upstream.pick(after(one, two, upstream.peer(3) as Peer)), undefined);
});

const peers = fc.array(
  fc.record({
    weight: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 1000 })),
    maxConns: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) }),
    maxFails: fc.integer({ min: 0, max: 3 }),
    failTimeout: fc.integer({ min: 0, max: 50 }),
    backup: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    down: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  }),
  { minLength: 1, maxLength: 15, size: 'max' },
);

const events = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ pick: fc.array(fc.nat({ max: 20 }), { maxLength: 3 }) }) },
    {
      weight: 4,
      arbitrary: fc.record({
        free: fc.nat(),
        failed: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 60 }) }) },
  ),
  { maxLength: 400, size: 'max' },
);

for (const shared of [true, false]) {
  test(`the sequence is nginx's, with failures, limits, retries and time (${shared ? 'zone' : 'private'})`, (t) => {
    fc.assert(
      fc.property(peers, events, (settings, steps) => {
        const zone = Zone.create('g', 1 << 16, { shared, growable: !shared });
        const { upstream, clock } = upstreamOf(
          settings.map((setting, index) => member(index + 1, setting)),
          { zone },
        );
        const model = new NginxModel(
          settings.map((setting, index) => ({
            ...setting,
            name: index + 1,
            effective: setting.weight,
            current: 0,
            fails: 0,
            conns: 0,
            checked: 0,
            accessed: 0,
          })),
        );
        const busy: { peer: Peer; twin: ModelPeer }[] = [];
        for (const step of steps) {
          if ('wait' in step) clock.now += step.wait;
          else if ('free' in step) {
            const [done] = busy.splice(step.free % Math.max(busy.length, 1), 1);
            if (!done) continue;
            upstream.free(done.peer, step.failed);
            model.free(done.twin, step.failed, clock.now);
          } else {
            const tried = step.pick.flatMap((key) => upstream.peer(key) ?? []);
            const peer = upstream.pick(after(...tried));
            const twin = model.pick(clock.now, new Set(tried.map((one) => one.member.key)));
            if (peer?.member.key !== twin?.name) throw new Error(`chose ${peer?.member.key}, nginx ${twin?.name}`);
            if (peer && twin) busy.push({ peer, twin });
          }
        }
      }),
      { numRuns: 400 },
    );
    t.pass();
  });
}
