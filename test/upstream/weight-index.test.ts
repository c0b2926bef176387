import test from 'ava';
import * as fc from 'fast-check';
import { WeightIndex } from '../../core/upstream/weight-index.js';
import { member, upstreamOf } from './upstreams.js';

const step = fc.record({ what: fc.constantFrom('add', 'add', 'remove', 'weight', 'backup'), number: fc.nat(100) });

test('it finds what going through all members finds', (t) => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { upstream } = upstreamOf([member(1, { weight: 2 }), member(2), member(3, { weight: 5 })]);
      const index = new WeightIndex(upstream.peers, ({ backup }) => !backup);
      let last = 3;
      for (const { what, number } of steps) {
        const peers = [...upstream.peers];
        const some = peers[number % Math.max(peers.length, 1)];
        if (what === 'add') {
          const added = upstream.updates.prepareAdd(member(++last, { weight: (number % 7) + 1 }), true);
          added.commit();
          index.add(added.peer);
        } else if (some !== undefined) {
          if (what === 'remove') {
            upstream.updates.prepareRemove(some).commit();
            index.remove(some);
          } else {
            const settings = what === 'weight' ? { weight: (number % 9) + 1 } : { backup: number % 2 === 0 };
            upstream.updates.prepareChange(some, member(some.id, settings)).commit();
            index.change(some);
          }
        }
      }
      const units = [...upstream.peers]
        .filter(({ backup }) => !backup)
        .sort((one, other) => one.order - other.order)
        .flatMap((peer) => Array.from({ length: peer.weight }, () => peer));
      if (index.total !== units.length) return false;
      const isRight = (): boolean =>
        units.every((peer, unit) => index.at(unit) === peer) && index.at(units.length) === undefined && index.at(-1) === undefined;
      // The second time with a guide.
      return isRight() && isRight();
    }),
    { numRuns: 1000 },
  );
  t.pass();
});
