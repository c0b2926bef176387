import { setImmediate } from 'node:timers/promises';
import { BUCKETS, type Distribution } from '../../contract/distribution.js';
import type { DistributionSample, Exemplar, Sample } from '../../contract/families.js';
import type { HistogramValue } from '../../contract/metrics.js';
import { grouped, SampleBudget, type AnyFamily } from './grouped.js';
import type { FigurePage, PagedDistribution, PagedExemplar, PagedFamily, PagedHistogram, PagedSample } from './page.js';

/** Samples of a page: their JSON is made within two milliseconds. A distribution is as long as some of them. */
const PAGE = 800;
const DISTRIBUTION_SAMPLES = 6;
/** How long samples are read before others run. Milliseconds. */
const SLICE = 2;
/** Samples between two looks at the clock. */
const STEP = 32;
/** Samples of a family that have labels of their own. */
const MOST_SAMPLES = 100_000;
/** Listings under way, of which the oldest goes for another one. */
const MOST_LISTINGS = 4;

/** Figures of one moment. */
export interface Figures {
  readonly families: Iterable<AnyFamily>;
  /** All of it was read. */
  readonly done: () => void;
}

interface ListingOptions {
  readonly rejected: (reason: string) => void;
  /** Samples of a family that have labels of their own. */
  readonly most?: number;
}

/** Without a sample: a place for a pause. */
type Step = { readonly family: AnyFamily; readonly sample: PagedSample<never> | undefined };

/** Figures for one reader, page by page. */
class Listing {
  readonly #steps: Iterator<Step>;
  readonly #budget: SampleBudget;

  constructor(
    { families, done }: Figures,
    private readonly options: ListingOptions,
  ) {
    this.#budget = new SampleBudget(options.most ?? MOST_SAMPLES);
    this.#steps = this.#all(families, done);
  }

  /** @returns true if there is more */
  async read(into: PagedFamily[]): Promise<boolean> {
    let [begin, room, last] = [performance.now(), PAGE, undefined as AnyFamily | undefined];
    let samples: PagedSample<never>[] = [];
    for (let count = 1; room > 0; count++) {
      const step = this.#steps.next();
      if (step.done === true) return false;
      const { family, sample } = step.value;
      const isLong = family.kind === 'distribution';
      if (sample !== undefined) {
        if (family !== last) {
          last = family;
          samples = [];
          into.push(headOf(family, samples));
        }
        samples.push(sample);
        room -= isLong ? DISTRIBUTION_SAMPLES : 1;
      }
      if ((isLong || count % STEP === 0) && performance.now() - begin > SLICE) {
        await setImmediate();
        begin = performance.now();
      }
    }
    return true;
  }

  *#all(families: Iterable<AnyFamily>, done: () => void): Generator<Step> {
    for (const parts of grouped(families, this.options.rejected)) yield* this.#one(parts);
    const samples = [{ labels: {}, value: this.#budget.others }];
    const help = 'Samples of the last scrape that were added up in "other".';
    yield* this.#one([{ name: 'srv_metrics_other_samples', help, kind: 'gauge', samples }]);
    done();
  }

  /** Samples of one name. Those of a module that fails end there. */
  *#one(parts: readonly AnyFamily[]): Generator<Step> {
    const [family] = parts;
    if (family === undefined) return;
    try {
      for (const sample of pagedSamples(parts, this.#budget)) yield { family, sample: sample as PagedSample<never> | undefined };
    } catch (error) {
      this.options.rejected(`metric "${family.name}" failed: ${String(error)}`);
    }
  }
}

function headOf(family: AnyFamily, samples: readonly PagedSample<never>[]): PagedFamily {
  const { name, help, unit, kind } = family;
  return { name, help, unit, kind, isNumerous: 'isNumerous' in family && family.isNumerous, samples };
}

/** Listings under way. */
export class Listings {
  readonly #listings = new Map<string, Listing>();
  #number = 0;

  constructor(private readonly options: ListingOptions) {}

  begin(figures: Figures): string {
    const id = String(++this.#number);
    const [oldest] = this.#listings.keys();
    if (oldest !== undefined && this.#listings.size >= MOST_LISTINGS) this.#listings.delete(oldest);
    this.#listings.set(id, new Listing(figures, this.options));
    return id;
  }

  /** @returns undefined if the listing is not known any more */
  async page(id: string): Promise<FigurePage | undefined> {
    const families: PagedFamily[] = [];
    const listing = this.#listings.get(id);
    if (listing === undefined) return undefined;
    if (await listing.read(families)) return { families, next: id };
    this.#listings.delete(id);
    return { families };
  }
}

type AnyPagedSample = PagedSample<number> | PagedSample<PagedDistribution> | PagedSample<PagedHistogram>;

function* pagedSamples(parts: readonly AnyFamily[], budget: SampleBudget): Generator<AnyPagedSample | undefined> {
  const [{ kind, unit }] = parts as readonly [AnyFamily];
  const scale = unit === 'seconds' ? 1000 : 1;
  if (kind === 'distribution') {
    const samples = samplesOf<Distribution>(parts) as Iterable<DistributionSample | undefined>;
    for (const sample of budget.distributions(samples)) yield sample && pagedTimes(sample, scale);
  } else if (kind === 'histogram') {
    for (const sample of samplesOf<HistogramValue>(parts)) yield sample && paged(sample, pagedHistogram(sample.value));
  } else {
    for (const sample of budget.numbers(samplesOf<number>(parts))) yield sample && paged(sample, sample.value / scale);
  }
}

/** All of them have the same kind. */
function* samplesOf<V>(parts: readonly AnyFamily[]): Generator<Sample<V> | undefined> {
  for (const { samples } of parts) yield* samples as Iterable<Sample<V> | undefined>;
}

function paged<V>({ labels, createdAt }: Sample<unknown>, value: V): PagedSample<V> {
  return createdAt === undefined ? [labels, value] : [labels, value, createdAt];
}

function pagedTimes(sample: DistributionSample, scale: number): PagedSample<PagedDistribution> {
  const { labels, createdAt = null, exemplars = [] } = sample;
  const one = paged(sample, pagedDistribution(sample.value, scale));
  return exemplars.length === 0 ? one : [labels, one[1], createdAt, exemplars.map((exemplar) => pagedExemplar(exemplar, scale))];
}

/** A value is a whole number: the middle of what it may have been is within its bucket. */
function pagedExemplar({ value, at, traceId, spanId }: Exemplar, scale: number): PagedExemplar {
  return [(value + 0.5) / scale, at, traceId, spanId];
}

function pagedDistribution({ sum, counts }: Distribution, scale: number): PagedDistribution {
  const values: [number, ...number[]] = [sum / scale];
  for (let bucket = 0; bucket < BUCKETS; bucket++) if (counts[bucket]! > 0) values.push(bucket, counts[bucket]!);
  return values;
}

function pagedHistogram({ sum, count, buckets }: HistogramValue): PagedHistogram {
  return [sum, count, ...buckets.flatMap((bucket) => [bucket.bound, bucket.count])];
}
