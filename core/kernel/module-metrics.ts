import {
  Metrics,
  type Counter,
  type Gauge,
  type Histogram,
  type Labels,
  type MetricKinds,
  type MetricScope,
  type MetricValue,
} from '../contract/metrics.js';
import type { MetricGroup } from '../zone/metric-group.js';
import type { ZoneMetrics } from '../zone/metrics.js';
import type { Belonging } from './module-life.js';

/** The metrics of one module in one thread: they end with it, apart from those of its groups. */
export class ModuleMetrics extends Metrics implements Belonging {
  readonly #own: MetricGroup;

  /** @param module its name */
  constructor(
    private readonly module: string,
    private readonly metrics: ZoneMetrics,
  ) {
    super();
    this.#own = metrics.groupOf(module);
  }

  begin(): void {
    this.#own.hold();
  }

  close(): void {
    this.#own.release();
  }

  counter(name: string, labels?: Labels): Counter {
    return this.#own.counter(name, labels);
  }

  gauge(name: string, labels?: Labels): Gauge {
    return this.#own.gauge(name, labels);
  }

  histogram(name: string, bounds: readonly number[], labels?: Labels): Histogram {
    return this.#own.histogram(name, bounds, labels);
  }

  group(name: string, scope: MetricScope): MetricKinds {
    return this.metrics.group(`${this.module} ${name}`, scope);
  }

  read(): MetricValue[] {
    return this.metrics.read();
  }
}
