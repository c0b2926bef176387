import type { HttpRequest } from '../../core/contract/http.js';
import type { Counter, Gauge, MetricKinds, MetricValue } from '../../core/contract/metrics.js';

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

/** Where figures are counted from. */
interface Totals {
  readonly requests: number;
  readonly discarded: number;
  readonly received: number;
  readonly sent: number;
  readonly codes: Codes;
}

const NONE: Totals = { requests: 0, discarded: 0, received: 0, sent: 0, codes: new Map() };

/** Responses by status. */
type Codes = ReadonlyMap<number, number>;

/**
 * The responses of all zones: workers make a counter for each status that they see.
 * @returns those of one zone
 */
export function responsesOf(metrics: readonly MetricValue[]): (zone: ZoneCounters) => Codes {
  const found = new Map<string, Map<number, number>>();
  for (const metric of metrics) {
    const { zone, code } = metric.labels;
    if (metric.kind !== 'counter' || zone === undefined || code === undefined) continue;
    const key = `${metric.name} ${zone}`;
    found.set(key, (found.get(key) ?? new Map<number, number>()).set(Number(code), metric.value));
  }
  return ({ responses, name }) => found.get(`${responses} ${name}`) ?? new Map();
}

/** Counters of one zone, in shared memory. */
export class ZoneCounters {
  readonly #processing: Gauge;
  readonly #requests: Counter;
  readonly #discarded: Counter;
  readonly #received: Counter;
  readonly #sent: Counter;
  /** Responses by status, made when the first one is counted. */
  readonly #codes = new Map<number, Counter>();
  #zero = NONE;
  /** Name of the metric of responses by status. */
  readonly responses: string;

  constructor(
    readonly kind: ZoneKind,
    readonly name: string,
    private readonly metrics: MetricKinds,
  ) {
    this.responses = this.#metric('responses_total');
    this.#processing = metrics.gauge(this.#metric('processing'), { zone: name });
    this.#requests = this.#counter('requests_total');
    this.#discarded = this.#counter('discarded_total');
    this.#received = this.#counter('received_bytes_total');
    this.#sent = this.#counter('sent_bytes_total');
  }

  /** A request has begun. */
  begin(): void {
    this.#processing.add(1);
  }

  /** The request that has begun is over. One function for all requests. */
  readonly end = (request: HttpRequest): void => {
    this.#processing.add(-1);
    this.count(request);
  };

  count(request: HttpRequest): void {
    const { status, bytesReceived, bytesSent } = request;
    this.#requests.add();
    this.#received.add(bytesReceived);
    this.#sent.add(bytesSent);
    if (bytesSent > 0) this.#code(status).add();
    else this.#discarded.add();
  }

  /** @param now what was counted of its responses so far */
  figures(now: Codes): StatusZoneFigures {
    const { requests, discarded, received, sent, codes } = this.#totals(now);
    const zero = this.#zero;
    const since = new Map(Array.from(codes, ([code, count]) => [code, count - (zero.codes.get(code) ?? 0)] as const));
    const classOf = (first: number): number => sum([...since].filter(([code]) => Math.floor(code / 100) === first));
    return {
      ...(this.kind === 'server' && { processing: this.#processing.value }),
      requests: requests - zero.requests,
      responses: {
        '1xx': classOf(1),
        '2xx': classOf(2),
        '3xx': classOf(3),
        '4xx': classOf(4),
        '5xx': classOf(5),
        codes: Object.fromEntries([...since].filter(([, count]) => count > 0)),
        total: sum(since),
      },
      discarded: discarded - zero.discarded,
      received: received - zero.received,
      sent: sent - zero.sent,
    };
  }

  /** Counts from now on. */
  reset(now: Codes): void {
    this.#zero = this.#totals(now);
  }

  #totals(codes: Codes): Totals {
    const [requests, discarded] = [this.#requests.value, this.#discarded.value];
    return { requests, discarded, received: this.#received.value, sent: this.#sent.value, codes };
  }

  #code(status: number): Counter {
    const known = this.#codes.get(status);
    if (known !== undefined) return known;
    const counter = this.metrics.counter(this.responses, { zone: this.name, code: String(status) });
    this.#codes.set(status, counter);
    return counter;
  }

  #counter(what: string): Counter {
    return this.metrics.counter(this.#metric(what), { zone: this.name });
  }

  #metric(what: string): string {
    return `srv_http_${this.kind}_zone_${what}`;
  }
}

function sum(counts: Iterable<readonly [number, number]>): number {
  let total = 0;
  for (const [, count] of counts) total += count;
  return total;
}
