import { BUCKETS, leastOf } from '../../core/contract/distribution.js';

/** Buckets of a power of two: each is 2^(1/8), or 9 %, wider than the one before. */
export const SCHEMA = 3;
const PER_POWER = 2 ** SCHEMA;

/** A native histogram of Prometheus: counts of buckets by their index, in order. Bucket i has values up to 2^(i / 8), and above that of the one before. */
export interface NativeHistogram {
  readonly indexes: readonly number[];
  readonly counts: readonly number[];
}

/**
 * Index of the bucket that a bucket of a distribution falls into, with the middle of its values: their widths differ, so that a value next to a bound may
 * count in the bucket beside its own.
 */
const indexOf = (bucket: number, scale: number): number => {
  const [least, next] = [leastOf(bucket), bucket === BUCKETS - 1 ? leastOf(bucket) : leastOf(bucket + 1)];
  return Math.ceil(Math.log2((least + next) / 2 / scale) * PER_POWER);
};

const indexes = (scale: number): Int32Array => Int32Array.from({ length: BUCKETS }, (_, bucket) => indexOf(bucket, scale));

/** By the number of a bucket, of times in seconds, and of other numbers. */
const INDEXES = { seconds: indexes(1000), numbers: indexes(1) };

/** @param buckets in turn the number of a bucket of a distribution and how many values it has, in order */
export function nativeHistogram(buckets: readonly number[], isTime: boolean): NativeHistogram {
  const all = INDEXES[isTime ? 'seconds' : 'numbers'];
  const [found, counts]: [number[], number[]] = [[], []];
  for (let at = 0; at < buckets.length; at += 2) {
    const index = all[buckets[at]!]!;
    if (index === found.at(-1)) counts[counts.length - 1]! += buckets[at + 1]!;
    else {
      found.push(index);
      counts.push(buckets[at + 1]!);
    }
  }
  return { indexes: found, counts };
}
