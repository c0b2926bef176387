/** Figures of the server as a whole, second by second. */
import type { Row, Statistics } from './types.js';

/** Samples that the page keeps: ten minutes. */
const KEPT = 600;
/** Samples farther apart have a gap between them. */
const GAP_MS = 30_000;

/** Sums of the counters of all servers. */
export interface Totals {
  readonly requests: number;
  readonly errors: number;
  readonly rejected: number;
  readonly received: number;
  readonly sent: number;
}

/** Per second, since the sample before. */
export interface Sample {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly requests: number;
  /** Responses with 5xx. */
  readonly errors: number;
  /** Responses with 4xx. */
  readonly rejected: number;
  readonly received: number;
  readonly sent: number;
  /** Milliseconds of requests in the last 10 seconds; undefined: there was none. */
  readonly p50: number | undefined;
  readonly p99: number | undefined;
  /** Connections at this moment. */
  readonly connections: number;
}

export interface Series {
  readonly samples: readonly Sample[];
  readonly totals?: Totals;
  readonly at?: number;
}

export function totalsOf(rows: Iterable<Row>): Totals {
  const sum = { requests: 0, errors: 0, rejected: 0, received: 0, sent: 0 };
  for (const { requests, responses, received, sent } of rows) {
    sum.requests += requests;
    sum.errors += responses['5xx'] ?? 0;
    sum.rejected += responses['4xx'] ?? 0;
    sum.received += received;
    sum.sent += sent;
  }
  return sum;
}

export function addSample(series: Series, { now, servers = {}, connections, recent }: Statistics): Series {
  const totals = totalsOf(Object.values(servers));
  const { totals: before, at } = series;
  if (before === undefined || at === undefined || now <= at) return { ...series, totals, at: now };
  const per = (name: keyof Totals): number => Math.max(0, totals[name] - before[name]) / ((now - at) / 1000);
  const sample: Sample = {
    at: now,
    requests: per('requests'),
    errors: per('errors'),
    rejected: per('rejected'),
    received: per('received'),
    sent: per('sent'),
    ...(recent.count > 0 ? { p50: recent.p50, p99: recent.p99 } : { p50: undefined, p99: undefined }),
    connections: connections['active'] ?? 0,
  };
  const kept = now - at > GAP_MS ? [] : series.samples.slice(-KEPT + 1);
  return { samples: [...kept, sample], totals, at: now };
}

/** Mean of a figure over the last samples. */
export function recent(
  samples: readonly Sample[],
  name: 'requests' | 'errors' | 'rejected' | 'sent' | 'received',
  number = 10,
): number | undefined {
  const last = samples.slice(-number);
  return last.length === 0 ? undefined : last.reduce((sum, sample) => sum + sample[name], 0) / last.length;
}
