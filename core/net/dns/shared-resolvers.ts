import { resolverSettings, type ResolverLine } from '../../module/resolver.js';
import { SharedByContent } from '../shared-by-content.js';
import type { NameResolver } from './resolution.js';
import { Resolver, type ResolverOptions } from './resolver.js';

/** The resolvers of a traffic engine: scopes with the same lines share one, and what it has cached. */
export class SharedResolvers {
  readonly #resolvers = new SharedByContent((options: ResolverOptions): NameResolver => new Resolver(options));

  /** @param timeout resolver_timeout, in milliseconds @throws ArgError for what makes no sense together */
  of(line: ResolverLine, timeout: number): NameResolver {
    const { servers, ipv4, ipv6, valid } = resolverSettings(line);
    return this.#resolvers.of({ servers, ipv4, ipv6, valid, timeout });
  }
}
