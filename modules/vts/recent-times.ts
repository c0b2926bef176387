import { BUCKETS, Distribution } from '../../core/contract/distribution.js';
import { timesView, type TimesView } from './views.js';

/** Values by bucket, without the empty ones; and their sum. */
export interface SentTimes {
  readonly buckets: readonly (readonly [bucket: number, count: number])[];
  readonly sum: number;
}

export function sentTimes({ counts, sum }: Distribution): SentTimes {
  const buckets: [number, number][] = [];
  for (const [bucket, count] of counts.entries()) if (count > 0) buckets.push([bucket, count]);
  return { buckets, sum };
}

/** Times of the last moments: what was counted since the oldest of the samples that are kept. */
export class RecentTimes {
  readonly #samples: Distribution[] = [];

  /** @param kept samples before the last one */
  constructor(private readonly kept: number) {}

  /** Times between the first of the samples and this one. */
  add({ buckets, sum }: SentTimes): TimesView {
    const now = new Distribution(new Float64Array(BUCKETS), sum);
    for (const [bucket, count] of buckets) now.counts[bucket] = count;
    this.#samples.push(now);
    if (this.#samples.length > this.kept + 1) this.#samples.shift();
    return timesView(difference(now, this.#samples[0]!));
  }
}

/** Nothing is less than before, but where statistics were set to zero. */
function difference(now: Distribution, before: Distribution): Distribution {
  const counts = now.counts.map((count, bucket) => Math.max(0, count - before.counts[bucket]!));
  return new Distribution(counts, Math.max(0, now.sum - before.sum));
}
