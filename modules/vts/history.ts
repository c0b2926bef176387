/** Figures of all servers together over the last hour. */
import type { Distribution } from '../../core/contract/distribution.js';
import type { NamedRow } from './collector.js';
import { CLASSES, CODES, Http } from './layout.js';
import { RecentTimes, sentTimes } from './recent-times.js';

/** Points that are kept: an hour. */
const KEPT = 360;
/** Rows that are summed up before others run. */
const PIECE = 100;
const FIRST_REJECTION = CODES.indexOf(400);
const REJECTIONS = CODES.indexOf(500) - FIRST_REJECTION;
const OTHER_REJECTIONS = CODES.length + CLASSES.indexOf('4xx');

/** Figures per second since the point before. */
export interface HistoryPoint {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly requests: number;
  /** Responses with 5xx, and with 4xx. */
  readonly errors: number;
  readonly rejected: number;
  readonly received: number;
  readonly sent: number;
  /** Milliseconds; absent: no request was over in that time. */
  readonly p50?: number;
  readonly p99?: number;
  /** Connections at this moment. */
  readonly connections: number;
}

type Sums = Omit<HistoryPoint, 'at' | 'p50' | 'p99' | 'connections'>;

export class History {
  readonly #times = new RecentTimes(1);
  #before: { readonly at: number; readonly sums: Sums } | undefined;
  #points: HistoryPoint[] = [];

  get points(): readonly HistoryPoint[] {
    return this.#points;
  }

  /** @param times of all requests since the start @param pause called after each piece */
  async add(
    rows: readonly NamedRow[],
    { at, connections, times }: { readonly at: number; readonly connections: number; readonly times: Distribution },
    pause: () => Promise<unknown>,
  ): Promise<void> {
    const sums = await sumsOf(rows, pause);
    const { count, p50, p99 } = this.#times.add(sentTimes(times));
    const before = this.#before;
    this.#before = { at, sums };
    if (before === undefined) return;
    const seconds = (at - before.at) / 1000;
    // Less than before: statistics were set to zero, or a server was removed.
    const per = (name: keyof Sums): number => Math.max(0, sums[name] - before.sums[name]) / seconds;
    this.#points = [
      ...this.#points.slice(-KEPT + 1),
      {
        at,
        requests: per('requests'),
        errors: per('errors'),
        rejected: per('rejected'),
        received: per('received'),
        sent: per('sent'),
        ...(count > 0 && { p50, p99 }),
        connections,
      },
    ];
  }
}

async function sumsOf(rows: readonly NamedRow[], pause: () => Promise<unknown>): Promise<Sums> {
  const sums = { requests: 0, errors: 0, rejected: 0, received: 0, sent: 0 };
  let summed = 0;
  for (const { kind, totals } of rows) {
    if (kind !== 'server') continue;
    if (++summed % PIECE === 0) await pause();
    const [requests = 0, received = 0, sent = 0, errors = 0] = totals.counters(0, Http.Errors + 1);
    sums.requests += requests;
    sums.received += received;
    sums.sent += sent;
    sums.errors += errors;
    for (const count of totals.counters(Http.Statuses + FIRST_REJECTION, REJECTIONS)) sums.rejected += count;
    sums.rejected += totals.counter(Http.Statuses + OTHER_REJECTIONS);
  }
  return sums;
}
