import { isIP } from 'node:net';
import { ArgError } from '../contract/spec.js';
import { AddressError, formatAddress, parseAddress, type Address } from '../contract/address.js';
import type { NameResolver } from '../net/dns/resolution.js';
import type { HostLookup } from './host-lookup.js';
import { implicitUpstream } from './implicit-upstream.js';
import { NotResolved, ResolvedUpstreams } from './resolved-upstreams.js';
import type { Upstream } from './upstream.js';
import { UpstreamTable } from './upstream-table.js';
import type { UpstreamOptions } from './upstream-options.js';

/** How many are remembered, and how long what a name meant is believed, in milliseconds. */
const LIMIT = 1024;
const TRUST = 30_000;

interface Remembered {
  readonly until: number;
  readonly upstream: Promise<Upstream>;
  /** Once the addresses are known. */
  made: Upstream | undefined;
}

/** Upstreams of targets that no `upstream` block names: `proxy_pass http://host:port`. Each thread has its own. */
export class ImplicitUpstreams {
  readonly #upstreams = new Map<string, Remembered>();
  /** Upstreams of addresses that requests name: they never displace a target of the configuration. */
  readonly #addresses = new UpstreamTable<{ readonly upstream: Upstream }>(LIMIT);
  readonly #resolved: ResolvedUpstreams;

  constructor(
    private readonly options: UpstreamOptions,
    private readonly lookup: HostLookup,
  ) {
    this.#resolved = new ResolvedUpstreams(options, LIMIT);
  }

  /**
   * The upstream of a target that the configuration names.
   * @param host name, address, or `unix:/path` @throws (rejects) ArgError `host not found in upstream "x"`
   */
  find(host: string, port: number): Promise<Upstream> {
    const text = textOf(host, port);
    const known = this.#upstreams.get(text);
    if (known !== undefined && known.until > this.options.clock.now) return known.upstream;
    const upstream = this.#lookUp(host, port, text).then((addresses) => implicitUpstream(text, addresses, this.options));
    const until = isName(host) ? this.options.clock.now + TRUST : Infinity;
    this.#remember(text, { until, upstream, made: undefined });
    return upstream;
  }

  /**
   * The upstream of a target that a request names: without a promise, unless a name has to be looked up.
   * @throws (or rejects) NotResolved; AddressError
   */
  forRequest(host: string, port: number, resolver: NameResolver | undefined): Upstream | Promise<Upstream> {
    const known = this.#upstreams.get(textOf(host, port))?.made;
    if (known !== undefined) return known;
    return resolver === undefined || !isName(host) ? this.known(host, port) : this.#resolved.of(resolver, host, port);
  }

  /**
   * An upstream for which nothing has to be looked up. As in nginx, a name that the configuration has a target of needs no resolver.
   * @throws NotResolved; AddressError
   */
  known(host: string, port: number): Upstream {
    const text = textOf(host, port);
    const known = this.#upstreams.get(text)?.made ?? this.#addresses.get(text)?.upstream;
    if (known !== undefined) return known;
    if (isName(host)) throw new NotResolved(`no resolver defined to resolve ${host}`);
    const parsed = parseAddress(text, port);
    if (!('address' in parsed)) throw new AddressError('invalid host', text);
    const upstream = implicitUpstream(text, [parsed.address], this.options);
    this.#addresses.set(text, { upstream });
    return upstream;
  }

  close(): void {
    this.#resolved.close();
    this.#addresses.close();
    for (const { upstream } of this.#upstreams.values())
      upstream.then(
        (made) => made.keepalive.close(),
        () => {},
      );
    this.#upstreams.clear();
  }

  #remember(text: string, remembered: Remembered): void {
    this.#upstreams.delete(text);
    this.#upstreams.set(text, remembered);
    if (this.#upstreams.size > LIMIT) this.#upstreams.delete(this.#upstreams.keys().next().value ?? '');
    remembered.upstream.then(
      (made) => (remembered.made = made),
      () => this.#upstreams.delete(text),
    );
  }

  async #lookUp(host: string, port: number, text: string): Promise<readonly Address[]> {
    try {
      const parsed = parseAddress(text, port);
      if ('address' in parsed) return [parsed.address];
      const hosts = await this.lookup(parsed.name);
      return hosts.map((host) => ({ host, port: parsed.port }));
    } catch (error) {
      throw new ArgError(error instanceof AddressError ? error.message : `host not found in upstream "${host}"`);
    }
  }
}

function textOf(host: string, port: number): string {
  if (host.startsWith('unix:')) return host;
  return isIP(host) === 0 ? `${host}:${port}` : formatAddress({ host, port });
}

function isName(host: string): boolean {
  return isIP(host) === 0 && !host.startsWith('unix:');
}
