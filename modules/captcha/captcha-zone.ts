import type { ZoneSize } from '../../core/contract/args.js';
import type { Counter, MetricKinds } from '../../core/contract/metrics.js';
import type { Zones } from '../../core/contract/zones.js';
import type { CaptchaVerdict } from './challenges.js';
import { countOthers, SHARED_FIELDS, SlidingSecond, SLIDING_FIELDS, type SlidingRecords } from './sliding-second.js';

/** How long a key without requests is remembered at least, in milliseconds. */
const REMEMBERED = 10_000;
const RESULTS = ['challenged', 'verified', 'right', 'wrong', 'rejected'] as const;
type ResultName = (typeof RESULTS)[number];

export interface ZoneFigures extends Readonly<Record<ResultName, number>> {
  readonly zone: string;
  /** Bytes. */
  readonly size: number;
  readonly keys: number;
  readonly evicted: number;
}

/** One `captcha_zone`: its counts, and its figures. */
export class CaptchaZone {
  readonly name: string;
  readonly requests: SlidingSecond;
  readonly #counters: Readonly<Record<ResultName, Counter>>;

  private constructor(
    private readonly size: ZoneSize,
    private readonly records: SlidingRecords,
    isShared: boolean,
    metrics: MetricKinds,
  ) {
    this.name = size.name;
    this.requests = new SlidingSecond(records, isShared);
    const counter = (result: ResultName): Counter => metrics.counter('srv_http_captcha_total', { zone: size.name, result });
    this.#counters = Object.fromEntries(RESULTS.map((result) => [result, counter(result)])) as Record<ResultName, Counter>;
  }

  /** @param isShared between nodes */
  static open(size: ZoneSize, zones: Zones, metrics: MetricKinds, isShared: boolean): CaptchaZone {
    const records = isShared
      ? zones.records(size, { fields: SHARED_FIELDS, ttl: REMEMBERED, sync: { counts: ['counted'], merge } })
      : (zones.records(size, { fields: SLIDING_FIELDS, ttl: REMEMBERED }) as SlidingRecords);
    return new CaptchaZone(size, records, isShared, metrics);
  }

  challenged(): void {
    this.#counters.challenged.add();
  }

  /** A request above the limit with a valid cookie. */
  verified(): void {
    this.#counters.verified.add();
  }

  solved(verdict: CaptchaVerdict): void {
    const result = verdict === 'right' ? 'right' : verdict === 'gone' ? 'rejected' : 'wrong';
    this.#counters[result].add();
  }

  figures(): ZoneFigures {
    const counts = Object.fromEntries(RESULTS.map((result) => [result, this.#counters[result].value])) as Record<ResultName, number>;
    const { name: zone, size } = this.size;
    return { zone, size, keys: this.records.size, evicted: this.records.evicted, ...counts };
  }
}

function merge(counts: Parameters<typeof countOthers>[0], { counted }: { readonly counted: number }): void {
  countOthers(counts, counted, Date.now());
}
