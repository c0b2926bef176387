import { Distribution } from '../../contract/distribution.js';
import type { DistributionSample, FigureFamily, Sample } from '../../contract/families.js';
import type { Labels } from '../../contract/metrics.js';
import type { HistogramFamily } from './module-metrics.js';

export type AnyFamily = FigureFamily | HistogramFamily;

/** Label value of samples without room of their own. */
const OTHER = 'other';
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/**
 * Families of one name and kind side by side, in the order of the first ones: a scraper wants all samples of a name together.
 * @param rejected called for a family that cannot be shown
 */
export function grouped(families: Iterable<AnyFamily>, rejected: (reason: string) => void): AnyFamily[][] {
  const groups = new Map<string, AnyFamily[]>();
  for (const family of families) {
    const { name, kind, unit } = family;
    const known = groups.get(name);
    const [first] = known ?? [];
    if (!NAME.test(name)) rejected(`"${name}" cannot be the name of a metric`);
    else if (known === undefined || first === undefined) groups.set(name, [family]);
    else if (first.kind === kind && first.unit === unit) known.push(family);
    else rejected(`metric "${name}" is a ${kind} and a ${first.kind}, or has two units`);
  }
  return [...groups.values()];
}

/** Limits how many samples a family may have. Those after the limit are one sample, whose labels all have the value `other`. */
export class SampleBudget {
  /** Samples that were added up in `other`. */
  others = 0;

  constructor(private readonly most: number) {}

  /** Yields undefined for a sample that was added up. */
  *numbers(samples: Iterable<Sample | undefined>): Generator<Sample | undefined> {
    let [count, sum] = [0, 0];
    let labels: Labels | undefined;
    for (const sample of samples) {
      if (sample === undefined || ++count <= this.most) yield sample;
      else {
        this.others++;
        labels ??= othersOf(sample.labels);
        sum += sample.value;
        yield undefined;
      }
    }
    if (labels !== undefined) yield { labels, value: sum };
  }

  /** As {@link numbers}. */
  *distributions(samples: Iterable<DistributionSample | undefined>): Generator<DistributionSample | undefined> {
    let count = 0;
    let other: Sample<Distribution> | undefined;
    for (const sample of samples) {
      if (sample === undefined || ++count <= this.most) yield sample;
      else {
        this.others++;
        // The distribution of a sample may be the one that is counted in.
        other ??= { labels: othersOf(sample.labels), value: new Distribution() };
        other.value.merge(sample.value);
        yield undefined;
      }
    }
    if (other !== undefined) yield other;
  }
}

function othersOf(labels: Labels): Labels {
  return Object.fromEntries(Object.keys(labels).map((label) => [label, OTHER]));
}
