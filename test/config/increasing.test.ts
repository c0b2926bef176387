import test from 'ava';
import * as fc from 'fast-check';
import { longestIncreasing } from '../../core/config/increasing.js';

test('what it gives is increasing, and nothing longer is', (t) => {
  const lists = fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const property = fc.property(lists, (values) => {
    const chosen = longestIncreasing(values).map((place) => values[place] ?? -1);
    t.deepEqual(
      chosen,
      chosen.toSorted((a, b) => a - b),
    );
    t.is(chosen.length, longestLength(values));
  });
  t.notThrows(() => fc.assert(property, { numRuns: 300 }));
});

/** The plain way, of quadratic cost. */
function longestLength(values: readonly number[]): number {
  const lengths: number[] = [];
  for (const [i, value] of values.entries()) {
    const before = lengths.filter((_, j) => (values[j] ?? 0) < value);
    lengths[i] = 1 + Math.max(0, ...before);
  }
  return Math.max(0, ...lengths);
}
