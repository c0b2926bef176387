import test from 'ava';
import * as fc from 'fast-check';
import { Counters } from '../../core/zone/counters.js';

test('they count beyond 32 bits, exactly', (t) => {
  const amounts = fc.array(
    fc.oneof(
      fc.nat(),
      fc.integer({ min: 2 ** 30, max: 2 ** 33 }),
      fc.maxSafeNat().map((n) => n % 2 ** 45),
    ),
    { maxLength: 100 },
  );
  fc.assert(
    fc.property(amounts, (list) => {
      const counters = new Counters(new SharedArrayBuffer(2 * Counters.BYTES), 0, 2);
      let sum = 0;
      for (const amount of list) {
        counters.add(1, amount);
        sum += amount;
        if (counters.read(1) !== sum) return false;
      }
      counters.reset(1);
      return counters.read(0) === 0 && counters.read(1) === 0;
    }),
  );
  t.pass();
});
