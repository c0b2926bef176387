/** Figures of the zones of limits (`limit_req`, `limit_conn`): how full they are, and what became of requests. */
import type { Counter, Gauge, MetricKinds, Metrics, MetricScope } from '../contract/metrics.js';
import type { Tasks } from '../contract/tasks.js';

/** Result of a request or connection at a limit. */
export const LIMIT_RESULTS = ['passed', 'delayed', 'rejected', 'delayed_dry_run', 'rejected_dry_run'] as const;
export type LimitResult = (typeof LIMIT_RESULTS)[number];

/** Counters of one zone, over all workers. */
export type LimitCounters = Readonly<Record<LimitResult, Counter>>;

/** The table of keys of a zone. */
interface LimitTable {
  readonly size: number;
  readonly capacity: number;
  /** Keys dropped for new ones; absent: none is. */
  readonly evicted?: number;
}

/** Figures of a zone as the API shows them. */
export type LimitFigures = Readonly<Record<string, number>>;

interface OpenZone {
  readonly name: string;
  readonly table: LimitTable;
  readonly counters: LimitCounters;
  readonly fill: Fill;
  uses: number;
  /** The figures at their last reset. */
  zero: LimitFigures;
}

/** Metrics of a zone: what became of requests (`result`), keys, about how many there is room for, and keys dropped for new ones. Labels are `limit` and `zone`. */
export const LIMIT_METRICS = {
  requests: 'srv_limit_requests_total',
  entries: 'srv_limit_zone_entries',
  capacity: 'srv_limit_zone_capacity',
  evicted: 'srv_limit_zone_evicted_total',
} as const;

/** How often the fill of zones is measured. Milliseconds. */
const LOOK = 1000;

/** Fill of a zone. */
class Fill {
  readonly #entries: Gauge;
  readonly #capacity: Gauge;
  readonly #evicted: Counter;

  constructor(metrics: MetricKinds, labels: Readonly<Record<string, string>>) {
    this.#entries = metrics.gauge(LIMIT_METRICS.entries, labels);
    this.#capacity = metrics.gauge(LIMIT_METRICS.capacity, labels);
    this.#evicted = metrics.counter(LIMIT_METRICS.evicted, labels);
  }

  measure({ size, capacity, evicted = 0 }: LimitTable): void {
    this.#entries.set(size);
    this.#capacity.set(capacity);
    this.#evicted.add(Math.max(evicted - this.#evicted.value, 0));
  }
}

/** The zones of the limits of one module in one thread. */
export class LimitZones {
  readonly #zones = new Map<string, OpenZone>();

  /** @param limit label of the module: `req`, `conn`, `stream_conn` @param results that it has */
  constructor(
    private readonly limit: string,
    private readonly results: readonly LimitResult[],
    private readonly metrics: Metrics,
  ) {}

  /** Measures the fill of zones from now on. In the main thread. */
  measure(tasks: Tasks): void {
    const measure = (): void => {
      for (const { fill, table } of this.#zones.values()) fill.measure(table);
    };
    tasks.run(measure);
    tasks.every(LOOK, measure);
  }

  /** Counters of a zone as long as the scope is active. For `compile`. */
  use(name: string, table: LimitTable, scope: MetricScope): LimitCounters {
    const metrics = this.metrics.group(`limit ${name}`, scope);
    const labels = { limit: this.limit, zone: name };
    const zone = this.#zones.get(name) ?? {
      name,
      table,
      counters: countersOf(metrics, labels),
      fill: new Fill(metrics, labels),
      uses: 0,
      zero: {},
    };
    this.#zones.set(name, zone);
    zone.uses++;
    const release = (): void => {
      if (--zone.uses === 0) this.#zones.delete(name);
    };
    scope.register({ abort: release, release });
    return zone.counters;
  }

  /** Results of each zone since their last reset. */
  figures(): Readonly<Record<string, LimitFigures>> {
    return Object.fromEntries(Array.from(this.#zones.values(), (zone) => [zone.name, this.#since(zone)]));
  }

  /** @returns false if there is no such zone */
  reset(name: string, isDry: boolean): boolean {
    const zone = this.#zones.get(name);
    if (zone === undefined) return false;
    if (!isDry) zone.zero = this.#totals(zone);
    return true;
  }

  #since(zone: OpenZone): LimitFigures {
    return Object.fromEntries(Object.entries(this.#totals(zone)).map(([result, total]) => [result, total - (zone.zero[result] ?? 0)]));
  }

  #totals({ counters }: OpenZone): LimitFigures {
    return Object.fromEntries(this.results.map((result) => [result, counters[result].value]));
  }
}

function countersOf(metrics: MetricKinds, labels: Readonly<Record<string, string>>): LimitCounters {
  const counter = (result: LimitResult): Counter => metrics.counter(LIMIT_METRICS.requests, { ...labels, result });
  return {
    passed: counter('passed'),
    delayed: counter('delayed'),
    rejected: counter('rejected'),
    delayed_dry_run: counter('delayed_dry_run'),
    rejected_dry_run: counter('rejected_dry_run'),
  };
}
