/** Figures of the server as a whole, second by second. */
import type { Row, Statistics } from './types.js';

/** What the page keeps: an hour, in milliseconds. */
export const KEPT_MS = 3_600_000;
/** Points of the server are this far apart. */
const POINT_MS = 10_000;

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
  /** Milliseconds of requests in the last 10 seconds; absent: there was none. */
  readonly p50?: number;
  readonly p99?: number;
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
    ...(recent.count > 0 && { p50: recent.p50, p99: recent.p99 }),
    connections: connections['active'] ?? 0,
  };
  // After a pause the difference is that of all the time: the points of the server tell more.
  if (now - at > POINT_MS) return { ...series, totals, at: now };
  return { samples: [...series.samples, sample].slice(firstAfter(series.samples, now - KEPT_MS)), totals, at: now };
}

/** Fills the gaps between samples with points of the server. */
export function addHistory(series: Series, points: readonly Sample[]): Series {
  const { samples } = series;
  const missing = points.filter(({ at }) => !samples.some((sample) => Math.abs(sample.at - at) < POINT_MS));
  if (missing.length === 0) return series;
  return { ...series, samples: [...missing, ...samples].sort((one, other) => one.at - other.at) };
}

function firstAfter(samples: readonly Sample[], at: number): number {
  const found = samples.findIndex((sample) => sample.at > at);
  return found < 0 ? samples.length : found;
}

/** Mean of a figure over the last ten seconds. */
export function recent(samples: readonly Sample[], name: 'requests' | 'errors' | 'rejected' | 'sent' | 'received'): number | undefined {
  const end = samples.at(-1)?.at ?? 0;
  const last = samples.slice(-10).filter(({ at }) => at > end - POINT_MS);
  return last.length === 0 ? undefined : last.reduce((sum, sample) => sum + sample[name], 0) / last.length;
}
