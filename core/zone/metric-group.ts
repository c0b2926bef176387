import type { Counter, Gauge, Histogram, Labels, MetricKinds, MetricScope, MetricValue } from '../contract/metrics.js';
import { histogramBytes, LANE_BYTES, ZoneCounter, ZoneGauge, ZoneHistogram, type MetricPlace, type ThreadMetric } from './metric-kinds.js';
import type { MetricMemoryKind } from './metric-memory.js';

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;

/** A metric by its key in memory. */
export interface MetricIdentity {
  readonly group: string;
  readonly kind: MetricValue['kind'];
  readonly name: string;
  readonly labels: Labels;
  readonly bounds: readonly number[];
}

/** Where the metrics of a thread are. */
export interface MetricStore {
  /** That of this thread among the shares of a gauge, and how many there are. */
  readonly share: number;
  readonly shares: number;
  hold(group: string): void;
  release(group: string): void;
  /** Undefined: there is no memory for it. */
  place(identity: MetricIdentity, key: string, kind: MetricMemoryKind, bytes: number): MetricPlace | undefined;
}

/** Metrics that end together, as one thread has them. Those of a group that has ended count in memory of this thread alone. */
export class MetricGroup implements MetricKinds {
  readonly #metrics = new Map<string, ThreadMetric>();
  #holds = 0;
  #state: 'new' | 'held' | 'ended' = 'new';

  constructor(
    private readonly name: string,
    private readonly store: MetricStore,
  ) {}

  /** True if nothing in this thread holds it any more. */
  get hasEnded(): boolean {
    return this.#state === 'ended';
  }

  hold(): void {
    this.#holds++;
    this.#hold();
  }

  release(): void {
    if (--this.#holds > 0 || this.#state !== 'held') return;
    this.#state = 'ended';
    for (const metric of this.#metrics.values()) metric.leave();
    this.store.release(this.name);
  }

  /** Holds the group while a scope is active, or its requests are under way. */
  holdFor(scope: MetricScope): void {
    this.hold();
    scope.register({ abort: () => this.release(), release: () => this.release() });
  }

  counter(name: string, labels: Labels = {}): Counter {
    const { share, shares } = this.store;
    return this.#metric('counter', name, labels, [], (identity, key) => {
      return new ZoneCounter(() => this.#place(identity, key, 'lanes', shares * LANE_BYTES), share, shares);
    });
  }

  gauge(name: string, labels: Labels = {}): Gauge {
    const { share, shares } = this.store;
    return this.#metric('gauge', name, labels, [], (identity, key) => {
      return new ZoneGauge(() => this.#place(identity, key, 'shares', shares * 4), share, shares);
    });
  }

  histogram(name: string, bounds: readonly number[], labels: Labels = {}): Histogram {
    return this.#metric('histogram', name, labels, bounds, (identity, key) => {
      return new ZoneHistogram(() => this.#place(identity, key, 'sums', histogramBytes(bounds)), bounds);
    });
  }

  #metric<M extends ThreadMetric>(
    kind: MetricIdentity['kind'],
    name: string,
    labels: Labels,
    bounds: readonly number[],
    make: (identity: MetricIdentity, key: string) => M,
  ): M {
    if (!NAME.test(name)) throw new RangeError(`invalid name of a metric: "${name}"`);
    const identity: MetricIdentity = { group: this.name, kind, name, labels: sorted(labels), bounds };
    const key = JSON.stringify(identity);
    const metric = (this.#metrics.get(key) as M | undefined) ?? make(identity, key);
    this.#metrics.set(key, metric);
    return metric;
  }

  #place(identity: MetricIdentity, key: string, kind: MetricMemoryKind, bytes: number): MetricPlace {
    // A module that counts before its start.
    if (this.#state === 'new') this.#hold();
    const place = this.#state === 'held' ? this.store.place(identity, key, kind, bytes) : undefined;
    return place ?? { buffer: new ArrayBuffer(bytes), offset: 0 };
  }

  #hold(): void {
    if (this.#state === 'held') return;
    if (this.#state === 'ended') for (const metric of this.#metrics.values()) metric.leave();
    this.#state = 'held';
    this.store.hold(this.name);
  }
}

function sorted(labels: Labels): Labels {
  return Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1)));
}
