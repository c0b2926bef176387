import { setTimeout as sleep } from 'node:timers/promises';
import type { Families } from '../../core/contract/families.js';
import type { Log } from '../../core/contract/log.js';
import type { Metrics } from '../../core/contract/metrics.js';
import { Listings } from '../../core/toolkit/figures/listings.js';
import { metricFamilies } from '../../core/toolkit/figures/module-metrics.js';
import type { Exporter } from './exporter.js';

/** Milliseconds between two looks at a queue that is full. */
const LOOK = 50;

/** Sends the figures of all modules, page by page, as fast as the collector takes them. In the main thread. */
export class MetricsExport {
  readonly #listings: Listings;
  #next = 0;

  constructor(
    private readonly exporter: Exporter,
    private readonly families: Families,
    private readonly metrics: Metrics,
    log: Log,
    /** Since when counters count that do not say it (epoch milliseconds). */
    private readonly since = Date.now(),
  ) {
    this.#listings = new Listings({ rejected: (reason) => log.write('warn', `telemetry: ${reason}`) });
  }

  /** Exports, if it is time. To be called each second. */
  async look(signal: AbortSignal): Promise<void> {
    const interval = this.exporter.settings?.metricsInterval;
    const now = Date.now();
    if (interval === undefined || now < this.#next) return;
    this.#next = now + interval;
    await this.#send(now, signal);
  }

  async #send(at: number, signal: AbortSignal): Promise<void> {
    const { families, done } = this.families.collect();
    const { metrics } = this;
    const all = (function* () {
      yield* metricFamilies(metrics.read());
      yield* families;
    })();
    let next: string | undefined = this.#listings.begin({ families: all, done });
    while (next !== undefined && !signal.aborted) {
      if (!(await this.#hasRoom(signal))) return;
      const page = await this.#listings.page(next);
      if (page === undefined) return;
      this.exporter.sendFigures(page.families, at, this.since);
      ({ next } = page);
    }
  }

  /** @returns false: the next export is due, or there is no exporter any more */
  async #hasRoom(signal: AbortSignal): Promise<boolean> {
    for (;;) {
      const { settings } = this.exporter;
      if (settings?.metricsInterval === undefined) return false;
      if (this.exporter.waiting('metrics') < settings.limit / 2) return true;
      if (Date.now() >= this.#next) {
        this.exporter.tooSlow('the next export was due before all of them were sent');
        return false;
      }
      await sleep(LOOK, undefined, { signal });
    }
  }
}
