import { LIMIT_METRICS } from '../../core/toolkit/limit-zones.js';
import type { Metrics, MetricValue } from '../../core/contract/metrics.js';
import type { ServerStatus } from '../../core/contract/server-status.js';
import type { Statistics } from '../../core/contract/statistics.js';
import type { FailingRow } from './failing-rows.js';
import type { SlowMember } from './slow-members.js';

type Numbers = Readonly<Record<string, number>>;
type Zones = Readonly<Record<string, Numbers>>;

/** Figures that are not rows. */
export interface MainView {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly loaded: number;
  /** Number of the last sample of rates. */
  readonly sample: number;
  readonly connections: Numbers;
  readonly tls: Numbers;
  readonly workers: readonly Numbers[];
  readonly caches: Zones;
  readonly limits: Zones;
  readonly groups: Numbers;
  /** Of the last look, up to ten seconds ago; the worst first. */
  readonly slow: readonly SlowMember[];
  readonly failing: readonly FailingRow[];
}

interface Services {
  readonly statistics: Statistics;
  readonly status: ServerStatus;
  readonly metrics: Metrics;
}

type Own = Pick<MainView, 'groups' | 'sample' | 'slow' | 'failing'>;

export function mainView({ statistics, status, metrics }: Services, { groups, sample, slow, failing }: Own): MainView {
  const { active, reading, writing, waiting, accepted, handled, requests, handshakes, handshakesFailed, sessionReuses } = statistics;
  const values = metrics.read();
  return {
    now: Date.now(),
    loaded: status.loadedAt,
    sample,
    connections: { active, reading, writing, waiting, accepted, handled, requests },
    tls: { handshakes, handshakes_failed: handshakesFailed, session_reuses: sessionReuses },
    workers: Array.from(status.workers(), ({ index, place }) => ({ worker: index, ...statistics.ofWorker(place) })),
    caches: cachesOf(values),
    limits: limitsOf(values),
    groups,
    slow,
    failing,
  };
}

/** Requests of caches by what they had for them, with the bytes of these requests and of their responses. */
function cachesOf(values: readonly MetricValue[]): Zones {
  const caches = zonesOf(values, 'srv_cache_requests_total', 'status');
  const bytesOf = (name: string): ReadonlyMap<string | undefined, number> =>
    new Map(values.flatMap((metric) => (metric.name === name && metric.kind === 'counter' ? [[metric.labels['zone'], metric.value]] : [])));
  const received = bytesOf('srv_cache_request_bytes_total');
  const sent = bytesOf('srv_cache_response_bytes_total');
  return Object.fromEntries(
    Object.entries(caches).map(([zone, statuses]) => [zone, { ...statuses, received: received.get(zone) ?? 0, sent: sent.get(zone) ?? 0 }]),
  );
}

/** Counters of a metric by the label `zone`, and within it by another label. */
function zonesOf(values: readonly MetricValue[], name: string, label: string): Zones {
  const zones: Record<string, Record<string, number>> = {};
  for (const metric of values) {
    const zone = metric.labels['zone'];
    const part = metric.labels[label];
    if (metric.name !== name || metric.kind !== 'counter' || zone === undefined || part === undefined) continue;
    const found = (zones[zone] ??= {});
    found[part] = (found[part] ?? 0) + metric.value;
  }
  return zones;
}

/** Fill of the zones of limits, with what became of requests: nothing yet is zero. */
function limitsOf(values: readonly MetricValue[]): Zones {
  const results = zonesOf(values, LIMIT_METRICS.requests, 'result');
  const { entries, capacity, evicted } = LIMIT_METRICS;
  const fields = new Map<string, string>([
    [entries, 'entries'],
    [capacity, 'capacity'],
    [evicted, 'evicted'],
  ]);
  const zones: Record<string, Record<string, number>> = {};
  for (const metric of values) {
    const field = fields.get(metric.name);
    if (field === undefined || metric.kind === 'histogram') continue;
    const { zone = '', limit = '' } = metric.labels;
    const none = limit === 'req' ? { passed: 0, delayed: 0, rejected: 0 } : { passed: 0, rejected: 0 };
    (zones[zone] ??= { ...none, ...results[zone] })[field] = metric.value;
  }
  return zones;
}
