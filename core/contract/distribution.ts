/** How often values fell into buckets whose width grows with the value: quantiles within 5 %, and sums of any number of them. */

/** Values below this have a bucket each; every power of two above it is divided into as many. */
const LINEAR = 16;
const LINEAR_BITS = 4;
/** Values from this power of two on share the last bucket: 70 minutes in milliseconds. */
const LARGEST_BITS = 22;

/** Buckets of every distribution. */
export const BUCKETS = LINEAR + (LARGEST_BITS - LINEAR_BITS) * LINEAR + 1;

/** The bucket of a value: whole, 0 or more; less and NaN count as 0. */
export function bucketOf(value: number): number {
  if (!(value >= 1)) return 0;
  if (value >= 2 ** LARGEST_BITS) return BUCKETS - 1;
  const whole = value | 0;
  if (whole < LINEAR) return whole;
  const shift = 31 - Math.clz32(whole) - LINEAR_BITS;
  return (shift << LINEAR_BITS) + (whole >>> shift);
}

/** The least value of a bucket. That of the next one is the first that it has not. */
export function leastOf(bucket: number): number {
  if (bucket < LINEAR * 2) return bucket;
  const shift = (bucket >>> LINEAR_BITS) - 1;
  return (LINEAR + (bucket & (LINEAR - 1))) * 2 ** shift;
}

/** Values of one or several sources as they are now. */
export class Distribution {
  /** @param counts by bucket, {@link BUCKETS} of them @param sum of all values */
  constructor(
    readonly counts: Float64Array = new Float64Array(BUCKETS),
    public sum = 0,
  ) {}

  get count(): number {
    let count = 0;
    for (const one of this.counts) count += one;
    return count;
  }

  /** Counts a value. Those in shared memory are counted by a `FigureRow`. */
  observe(value: number): void {
    this.counts[bucketOf(value)]! += 1;
    this.sum += value;
  }

  /** Adds all values of another one. */
  merge({ counts, sum }: Distribution): this {
    for (let bucket = 0; bucket < BUCKETS; bucket++) this.counts[bucket]! += counts[bucket] ?? 0;
    this.sum += sum;
    return this;
  }

  get mean(): number {
    const { count } = this;
    return count === 0 ? 0 : this.sum / count;
  }

  /**
   * A value within 5 % of the one that this share of all values does not exceed: exact for values below 32, and at least the largest bucket's bound
   * for those above 2^22. 0 without values.
   * @param share 0 to 1: 0.99
   */
  quantile(share: number): number {
    const { count, counts } = this;
    // At least one value, whatever the share: the smallest.
    let left = Math.max(Math.ceil(share * count), 1);
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= counts[bucket]!;
      if (left <= 0) return valueOf(bucket);
    }
    return 0;
  }

  /** Values that are not greater than a bound. Exact for bounds at the end of a bucket: below 32, and powers of two, less one. */
  countTo(bound: number): number {
    const last = bucketOf(bound);
    let count = 0;
    for (let bucket = 0; bucket <= last; bucket++) count += this.counts[bucket]!;
    return count;
  }

  /** Buckets with values: the largest value that each may have (Infinity: the last one), and how many it has. */
  *buckets(): Generator<{ readonly bound: number; readonly count: number }> {
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      const count = this.counts[bucket]!;
      if (count > 0) yield { bound: bucket === BUCKETS - 1 ? Infinity : leastOf(bucket + 1) - 1, count };
    }
  }
}

/** The middle of a bucket. */
function valueOf(bucket: number): number {
  const least = leastOf(bucket);
  return bucket === BUCKETS - 1 ? least : (least + leastOf(bucket + 1) - 1) / 2;
}
