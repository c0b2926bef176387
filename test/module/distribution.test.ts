import test from 'ava';
import * as fc from 'fast-check';
import { BUCKETS, bucketOf, Distribution, leastOf } from '../../core/contract/distribution.js';

const values = fc.array(fc.oneof(fc.nat(40), fc.nat(100_000), fc.nat(2 ** 22 - 1)), { minLength: 1, maxLength: 200 });

function distributionOf(all: readonly number[]): Distribution {
  const distribution = new Distribution();
  for (const value of all) distribution.observe(value);
  return distribution;
}

test('each quantile is within 5 % of that of the values', (t) => {
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
      const sorted = all.toSorted((a, b) => a - b);
      const exact = sorted[Math.max(Math.ceil(share * sorted.length), 1) - 1]!;
      return Math.abs(distributionOf(all).quantile(share) - exact) <= exact * 0.05;
    }),
  );
  t.pass();
});

test('parts that are merged are the whole', (t) => {
  fc.assert(
    fc.property(values, values, values, (one, two, three) => {
      const merged = distributionOf(one).merge(distributionOf(two).merge(distributionOf(three)));
      t.deepEqual(merged, distributionOf([...one, ...two, ...three]));
      t.is(merged.count, one.length + two.length + three.length);
    }),
  );
});

test('buckets follow each other without a gap', (t) => {
  for (let bucket = 0; bucket < BUCKETS - 1; bucket++) {
    t.is(bucketOf(leastOf(bucket)), bucket);
    t.is(bucketOf(leastOf(bucket + 1) - 1), bucket);
  }
  t.is(bucketOf(2 ** 40), BUCKETS - 1);
  t.is(bucketOf(-5), 0);
  t.is(bucketOf(NaN), 0);
});

test('values up to a bound, and buckets with values', (t) => {
  const distribution = distributionOf([0, 5, 5, 31, 64, 127, 128, 2 ** 30]);
  t.is(distribution.countTo(5), 3);
  t.is(distribution.countTo(127), 6);
  t.is(distribution.countTo(Infinity), 8);
  t.deepEqual([...distribution.buckets()].at(-1), { bound: Infinity, count: 1 });
  t.is(distributionOf([]).quantile(0.99), 0);
  t.is(distributionOf([2, 4]).mean, 3);
});
