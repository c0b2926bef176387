import type { Counter, MetricKinds } from '../../core/contract/metrics.js';

/** Values of `$upstream_cache_status`. */
export const STATUSES = ['MISS', 'BYPASS', 'EXPIRED', 'STALE', 'UPDATING', 'REVALIDATED', 'HIT'] as const;
export type CacheStatus = (typeof STATUSES)[number];

/** Requests of one cache over all workers, by what it had for them. */
export class CacheFigures {
  readonly #requests = new Map<CacheStatus, Counter>();
  readonly #bytes = new Map<CacheStatus, Counter>();

  constructor(metrics: MetricKinds, zone: string) {
    for (const status of STATUSES) {
      const labels = { zone, status: status.toLowerCase() };
      this.#requests.set(status, metrics.counter('srv_cache_requests_total', labels));
      this.#bytes.set(status, metrics.counter('srv_cache_sent_bytes_total', labels));
    }
  }

  /** @param bytes of the body that the client got */
  count(status: CacheStatus, bytes: number): void {
    this.#requests.get(status)?.add();
    this.#bytes.get(status)?.add(bytes);
  }

  requests(status: CacheStatus): number {
    return this.#requests.get(status)?.value ?? 0;
  }

  bytes(status: CacheStatus): number {
    return this.#bytes.get(status)?.value ?? 0;
  }
}
