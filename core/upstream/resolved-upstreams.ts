import type { AddressRecord, NameResolver, Resolution } from '../net/dns/resolution.js';
import { notResolved } from '../net/dns/resolve-error.js';
import { implicitUpstream } from './implicit-upstream.js';
import type { Upstream } from './upstream.js';
import { UpstreamTable } from './upstream-table.js';
import type { UpstreamOptions } from './upstream-options.js';

/** A name has no address. The message is the line of the error log. */
export class NotResolved extends Error {}

interface Resolved {
  /** Last addresses of the name. */
  resolution: Resolution<AddressRecord>;
  readonly upstream: Upstream;
}

/**
 * Upstreams of names that requests bring, resolved at run time (`proxy_pass http://$name`): all addresses of a name are members. As long as
 * they stay the same, the upstream does, with its connections and what is known of its members.
 */
export class ResolvedUpstreams {
  readonly #upstreams: UpstreamTable<Resolved>;
  /** Two resolvers may know two things of one name. */
  readonly #numbers = new WeakMap<NameResolver, number>();
  #last = 0;

  /** @param most upstreams that are kept */
  constructor(
    private readonly options: UpstreamOptions,
    most: number,
  ) {
    this.#upstreams = new UpstreamTable(most);
  }

  /** Without a promise when the name is cached. @throws (or rejects) NotResolved */
  of(resolver: NameResolver, host: string, port: number): Upstream | Promise<Upstream> {
    const cached = resolver.cached(host);
    if (cached !== undefined) return this.#upstreamOf(resolver, host, port, cached);
    return resolver.addresses(host).then((resolution) => this.#upstreamOf(resolver, host, port, resolution));
  }

  close(): void {
    this.#upstreams.close();
  }

  #upstreamOf(resolver: NameResolver, host: string, port: number, resolution: Resolution<AddressRecord>): Upstream {
    if (resolution.records.length === 0) throw new NotResolved(notResolved(host, resolution.error ?? 'nxdomain'));
    const key = `${this.#numberOf(resolver)} ${resolution.name}:${port}`;
    const known = this.#upstreams.get(key);
    if (known !== undefined && (known.resolution === resolution || isSame(known.resolution, resolution))) {
      known.resolution = resolution;
      return known.upstream;
    }
    const addresses = resolution.records.map(({ address }) => ({ host: address, port }));
    const upstream = implicitUpstream(`${resolution.name}:${port}`, addresses, this.options);
    this.#upstreams.set(key, { resolution, upstream });
    return upstream;
  }

  #numberOf(resolver: NameResolver): number {
    const known = this.#numbers.get(resolver);
    if (known !== undefined) return known;
    this.#numbers.set(resolver, ++this.#last);
    return this.#last;
  }
}

/** The same addresses, in whatever order: servers turn them. */
function isSame(one: Resolution<AddressRecord>, other: Resolution<AddressRecord>): boolean {
  const addresses = new Set(one.records.map(({ address }) => address));
  return addresses.size === other.records.length && other.records.every(({ address }) => addresses.has(address));
}
