import test from 'ava';
import { median, percentile, spread } from '../../tools/bench/statistics.js';

test('the median is the middle value, or the mean of the two in the middle', (t) => {
  t.is(median([9, 1, 5]), 5);
  t.is(median([4, 1, 2, 100]), 3);
  t.is(median([]), Number.NaN);
});

test('a percentile is a value that was measured', (t) => {
  const values = Array.from({ length: 200 }, (_, index) => 200 - index);
  t.is(percentile(values, 0.99), 198);
  t.is(percentile(values, 0.5), 100);
  t.is(percentile([7], 0.99), 7);
});

test('a spread has median, least and greatest', (t) => {
  t.deepEqual(spread([3, 1, 2]), { median: 2, min: 1, max: 3 });
  t.is(spread([]), undefined);
});
