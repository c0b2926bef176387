import type { FigureRow, FigureTotals, RowShape } from '../../core/contract/figures.js';
import type { HttpRequest } from '../../core/contract/http.js';

export type ZoneKind = 'server' | 'location';

/** Figures of a zone as NGINX Plus names them. */
export interface StatusZoneFigures {
  /** Of a server: requests that are under way. */
  readonly processing?: number;
  readonly requests: number;
  readonly responses: Readonly<Record<string, number | Readonly<Record<string, number>>>>;
  /** Requests that ended without a response. */
  readonly discarded: number;
  /** Bytes. */
  readonly received: number;
  readonly sent: number;
}

/** Statuses that are counted, each on its own. */
const LEAST_STATUS = 100;
const MOST_STATUS = 999;

/** Places of the figures in the row of a zone. Its gauge: requests under way. */
export const enum ZoneFigure {
  Requests,
  Discarded,
  Received,
  Sent,
  Statuses,
}
export const ZONE_SHAPE: RowShape = { counters: ZoneFigure.Statuses + MOST_STATUS - LEAST_STATUS + 1, gauges: 1, distributions: 0 };

/** Counts the requests of one zone: as many additions to shared memory as it has figures. */
export class ZoneCounters {
  constructor(private readonly row: FigureRow) {}

  /** A request has begun. */
  begin(): void {
    this.row.move(0, 1);
  }

  /** The request that has begun is over. One function for all requests. */
  readonly end = (request: HttpRequest): void => {
    this.row.move(0, -1);
    this.count(request);
  };

  count(request: HttpRequest): void {
    const { row } = this;
    const { bytesSent } = request;
    row.add(ZoneFigure.Requests, 1);
    row.add(ZoneFigure.Received, request.bytesReceived);
    row.add(ZoneFigure.Sent, bytesSent);
    if (bytesSent > 0) row.add(ZoneFigure.Statuses + request.status - LEAST_STATUS, 1);
    else row.add(ZoneFigure.Discarded, 1);
  }
}

/** Responses of a zone by their status, where there are some. */
export function codesOf(totals: FigureTotals): Map<number, number> {
  const counts = totals.counters(ZoneFigure.Statuses, MOST_STATUS - LEAST_STATUS + 1);
  const codes = new Map<number, number>();
  for (const [at, count] of counts.entries()) if (count > 0) codes.set(LEAST_STATUS + at, count);
  return codes;
}

export function zoneFigures(kind: ZoneKind, totals: FigureTotals): StatusZoneFigures {
  const codes = codesOf(totals);
  const classOf = (first: number): number => sum([...codes].filter(([code]) => Math.floor(code / 100) === first));
  return {
    ...(kind === 'server' && { processing: totals.gauge(0) }),
    requests: totals.counter(ZoneFigure.Requests),
    responses: {
      '1xx': classOf(1),
      '2xx': classOf(2),
      '3xx': classOf(3),
      '4xx': classOf(4),
      '5xx': classOf(5),
      codes: Object.fromEntries(codes),
      total: sum(codes),
    },
    discarded: totals.counter(ZoneFigure.Discarded),
    received: totals.counter(ZoneFigure.Received),
    sent: totals.counter(ZoneFigure.Sent),
  };
}

function sum(counts: Iterable<readonly [number, number]>): number {
  let total = 0;
  for (const [, count] of counts) total += count;
  return total;
}
