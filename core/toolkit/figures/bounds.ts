import { leastOf } from '../../contract/distribution.js';

/** Buckets of a distribution as Prometheus has them. */
export interface Bounds {
  /** Values of the label `le`, in order, without `+Inf`. */
  readonly labels: readonly string[];
  /** For each the first value of a distribution that it has not. */
  readonly ends: readonly number[];
}

/** Powers of two, at which buckets of distributions begin: the counts are exact. */
const FINE = Array.from({ length: 17 }, (_, power) => power);
const COARSE = FINE.filter((power) => power % 2 === 0);

/** Times in milliseconds are shown in seconds: 4 ms, which may have been 4.9 ms, are not among those up to 0.004. */
const seconds = (powers: readonly number[]): Bounds => ({
  labels: powers.map((power) => String(2 ** power / 1000)),
  ends: powers.map((power) => 2 ** power),
});
const numbers = (powers: readonly number[]): Bounds => ({
  labels: powers.map((power) => String(2 ** power - 1)),
  ends: powers.map((power) => 2 ** power),
});

const BOUNDS = { seconds: { fine: seconds(FINE), coarse: seconds(COARSE) }, numbers: { fine: numbers(FINE), coarse: numbers(COARSE) } };

export function boundsOf({ unit, isNumerous }: { readonly unit?: string | undefined; readonly isNumerous?: boolean | undefined }): Bounds {
  return BOUNDS[unit === 'seconds' ? 'seconds' : 'numbers'][isNumerous === true ? 'coarse' : 'fine'];
}

/**
 * Values below each end, and all values.
 * @param buckets in turn the number of a bucket and how many values it has, in order
 */
export function cumulated({ ends }: Bounds, buckets: readonly number[]): { readonly counts: readonly number[]; readonly count: number } {
  let [at, count] = [0, 0];
  const counts = ends.map((end) => {
    while (at < buckets.length && leastOf(buckets[at]!) < end) {
      count += buckets[at + 1]!;
      at += 2;
    }
    return count;
  });
  for (; at < buckets.length; at += 2) count += buckets[at + 1]!;
  return { counts, count };
}
