/** Metrics for unit tests: those of a server with one worker. */
import type { Metrics } from '../core/contract/metrics.js';
import { ZoneMetrics } from '../core/zone/metrics.js';
import { ZoneSet } from '../core/zone/zone-set.js';

/** Metrics that count for one test. They may be used at once. */
export function fakeMetrics(): Metrics {
  return new ZoneMetrics({ zones: new ZoneSet('private'), worker: 0, workers: 1, onFull: () => undefined });
}
