import { errorAt } from '../../config/errors.js';
import { resolverSettings, type ResolverLine } from '../../toolkit/resolver.js';
import { ArgError } from '../../contract/spec.js';
import type { Directive } from '../../contract/tree.js';
import type { Log } from '../../contract/log.js';
import type { MetricKinds } from '../../contract/metrics.js';
import { SharedByContent } from '../shared-by-content.js';
import type { Dialer } from '../dialer.js';
import type { NameResolver } from './resolution.js';
import { Resolver, type ResolverOptions } from './resolver.js';

/** The settings of a scope. */
export interface ResolverConf {
  readonly resolver: ResolverLine | undefined;
  /** Milliseconds. */
  readonly resolver_timeout: number;
}

/** The resolvers of a traffic engine: scopes with the same settings share one, and what it has cached. */
export class SharedResolvers {
  readonly #resolvers: SharedByContent<ResolverOptions, NameResolver>;

  /** @param log gets the names of name servers that cannot be found @param metrics where lookups with a `status_zone` are counted */
  constructor(dialer: Dialer, log: Pick<Log, 'write'>, metrics: Pick<MetricKinds, 'counter'>) {
    this.#resolvers = new SharedByContent((options) => new Resolver(options, dialer, log, metrics));
  }

  /**
   * That of a scope; undefined: it has no `resolver`.
   * @param line the current `resolver` line @throws ConfigError at the line, for contradictory parameters
   */
  of({ resolver, resolver_timeout: timeout }: ResolverConf, line: Directive | undefined): NameResolver | undefined {
    if (resolver === undefined) return undefined;
    try {
      const { servers, ipv4, ipv6, valid, statusZone } = resolverSettings(resolver);
      return this.#resolvers.of({ servers, ipv4, ipv6, valid, statusZone, timeout });
    } catch (error) {
      throw error instanceof ArgError && line !== undefined ? errorAt(line, error.message, undefined, error.hint) : error;
    }
  }
}
