import type { HttpRequest } from '../../core/contract/http.js';
import type { Counter, MetricKinds } from '../../core/contract/metrics.js';

/** Values of `$upstream_cache_status`. */
export const STATUSES = ['MISS', 'BYPASS', 'EXPIRED', 'STALE', 'UPDATING', 'REVALIDATED', 'HIT'] as const;
export type CacheStatus = (typeof STATUSES)[number];

/** Figures of requests with one status: bytes of bodies that clients got, responses that were stored, and bytes of their files. */
type Figure = 'requests' | 'bytes' | 'written' | 'writtenBytes';
type StatusCounters = Readonly<Record<Figure, Counter>>;

/** Requests of one cache over all workers, by what it had for them. */
export class CacheFigures {
  readonly #counters = new Map<CacheStatus, StatusCounters>();
  readonly #zero = new Map<CacheStatus, Readonly<Record<Figure, number>>>();
  /** Bytes of requests and of whole responses. */
  readonly #received: Counter;
  readonly #sent: Counter;

  constructor(metrics: MetricKinds, zone: string) {
    this.#received = metrics.counter('srv_cache_request_bytes_total', { zone });
    this.#sent = metrics.counter('srv_cache_response_bytes_total', { zone });
    for (const status of STATUSES) {
      const labels = { zone, status: status.toLowerCase() };
      this.#counters.set(status, {
        requests: metrics.counter('srv_cache_requests_total', labels),
        bytes: metrics.counter('srv_cache_sent_bytes_total', labels),
        written: metrics.counter('srv_cache_written_total', labels),
        writtenBytes: metrics.counter('srv_cache_written_bytes_total', labels),
      });
    }
  }

  /** Counts a request that is over. */
  count(status: CacheStatus, { bodyBytesSent: bytes, bytesReceived, bytesSent }: HttpRequest): void {
    this.#received.add(bytesReceived);
    this.#sent.add(bytesSent);
    const counters = this.#counters.get(status);
    counters?.requests.add();
    counters?.bytes.add(bytes);
  }

  /** A response was stored. @param bytes of the file */
  wrote(status: CacheStatus, bytes: number): void {
    const counters = this.#counters.get(status);
    counters?.written.add();
    counters?.writtenBytes.add(bytes);
  }

  requests(status: CacheStatus): number {
    return this.#valueOf(status, 'requests');
  }

  bytes(status: CacheStatus): number {
    return this.#valueOf(status, 'bytes');
  }

  /** Since the last {@link reset}. */
  since(status: CacheStatus, figure: Figure): number {
    return this.#valueOf(status, figure) - (this.#zero.get(status)?.[figure] ?? 0);
  }

  /** Begins the figures of {@link since} again. */
  reset(): void {
    for (const status of STATUSES) {
      const valueOf = (figure: Figure): number => this.#valueOf(status, figure);
      this.#zero.set(status, {
        requests: valueOf('requests'),
        bytes: valueOf('bytes'),
        written: valueOf('written'),
        writtenBytes: valueOf('writtenBytes'),
      });
    }
  }

  #valueOf(status: CacheStatus, figure: Figure): number {
    return this.#counters.get(status)?.[figure].value ?? 0;
  }
}
