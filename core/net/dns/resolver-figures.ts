import type { Counter, MetricKinds } from '../../contract/metrics.js';
import { RESOLVER_REQUESTS, RESOLVER_RESPONSES } from '../../toolkit/resolver.js';
import type { ResolveErrorCode } from './resolve-error.js';

const KINDS = ['name', 'srv'] as const;
const CODES = ['noerror', 'formerr', 'servfail', 'nxdomain', 'notimp', 'refused', 'timedout', 'unknown'] as const;
type Code = (typeof CODES)[number];

/** Lookups of the resolvers with one `status_zone`, over all threads. Names in the cache are not looked up. */
export class ResolverFigures {
  readonly #requests: ReadonlyMap<string, Counter>;
  readonly #responses: ReadonlyMap<Code, Counter>;

  constructor(metrics: Pick<MetricKinds, 'counter'>, zone: string) {
    this.#requests = new Map(KINDS.map((kind) => [kind, metrics.counter(RESOLVER_REQUESTS, { zone, kind })]));
    this.#responses = new Map(CODES.map((code) => [code, metrics.counter(RESOLVER_RESPONSES, { zone, code })]));
    // A zone is shown before its first lookup.
    for (const counter of [...this.#requests.values(), ...this.#responses.values()]) counter.add(0);
  }

  asked(kind: (typeof KINDS)[number]): void {
    this.#requests.get(kind)?.add();
  }

  ended(error: ResolveErrorCode | undefined): void {
    if (error === 'closed') return;
    this.#responses.get(error === undefined ? 'noerror' : error === 'unreachable' ? 'unknown' : error)?.add();
  }
}
