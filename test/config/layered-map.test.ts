import test from 'ava';
import { array, assert, nat, property, tuple } from 'fast-check';
import { LayeredMap } from '../../core/config/layered-map.js';

test('every version says what a plain map would, and versions before it stay as they were', (t) => {
  const changes = array(tuple(nat(40), nat(5)), { maxLength: 60 });
  assert(
    property(array(changes, { maxLength: 8 }), (rounds) => {
      let map = LayeredMap.of<number, { readonly value: number }>([]);
      const plain = new Map<number, number>();
      for (const round of rounds) {
        const before = map;
        const shown = [...before].map(([key, { value }]) => [key, value]);
        // Zero removes.
        map = map.with(round.map(([key, value]) => [key, value === 0 ? undefined : { value }] as const));
        for (const [key, value] of round)
          if (value === 0) plain.delete(key);
          else plain.set(key, value);
        t.is(map.size, plain.size);
        for (let key = 0; key <= 40; key++) t.is(map.get(key)?.value, plain.get(key));
        t.deepEqual(new Map([...map].map(([key, { value }]) => [key, value])), plain);
        t.deepEqual(
          [...before].map(([key, { value }]) => [key, value]),
          shown,
        );
      }
    }),
    { numRuns: 50 },
  );
});
