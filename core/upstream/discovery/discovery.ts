import type { AddressRecord, NameResolver, ServiceRecord } from '../../net/dns/resolution.js';
import type { ResolverOptions } from '../../net/dns/resolver.js';
import { familyOf, type FoundAddress } from './found-address.js';
import type { NameQuery, ResolverChoice } from './name-query.js';
import { LookupTurns } from './lookup-turns.js';
import { ServiceWatch } from './service-watch.js';
import { WatchedName, type NameFollower, type ScheduledLookup, type Watching } from './watched-name.js';

/** Names that one resolver looks up at the same time, at most. */
const MOST_LOOKUPS = 256;

/** The addresses of a name, as one `server` line uses them. */
export interface NameUse {
  /** Undefined: not known yet. */
  readonly addresses: readonly FoundAddress[] | undefined;
  /** True if an address of before may be one still: its host, or the host's addresses of its family, could never be looked up since. */
  isUnknown(found: FoundAddress): boolean;
  release(): void;
}

export interface DiscoveryOptions extends Pick<Watching, 'log'> {
  readonly resolver: (options: ResolverOptions) => NameResolver;
  /** Milliseconds of a clock that is never set. */
  readonly now?: () => number;
  readonly random?: () => number;
  readonly schedule?: (ms: number, work: () => void) => ScheduledLookup;
}

/** The resolver of some upstreams, and the names that are watched through it. */
interface Source {
  readonly resolver: NameResolver;
  readonly choice: ResolverChoice;
  readonly turns: LookupTurns;
  readonly names: Map<string, WatchedName<AddressRecord>>;
  readonly services: Map<string, WatchedName<ServiceRecord>>;
  /** Uses of it. */
  uses: number;
}

/** The names of servers with `resolve`, looked up once for a node, whatever number of upstreams and workers it has. In the master only. */
export class Discovery implements Watching {
  readonly log: Watching['log'];
  readonly #sources = new Map<string, Source>();

  constructor(private readonly options: DiscoveryOptions) {
    this.log = options.log;
  }

  /**
   * Follows a name until it is released.
   * @param follower hears of each reply; never before this returns
   */
  use(query: NameQuery, choice: ResolverChoice, follower: NameFollower): NameUse {
    const source = this.#sourceOf(choice);
    source.uses++;
    const use = query.kind === 'services' ? this.#useService(source, query.name, follower) : this.#useName(source, query, follower);
    return {
      get addresses() {
        return use.addresses;
      },
      isUnknown: (found) => use.isUnknown(found),
      release: () => {
        use.release();
        if (--source.uses === 0) this.#close(source);
      },
    };
  }

  stop(): void {
    for (const source of this.#sources.values()) this.#close(source);
  }

  now(): number {
    return this.options.now?.() ?? performance.now();
  }

  random(): number {
    return this.options.random?.() ?? Math.random();
  }

  schedule(ms: number, work: () => void): ScheduledLookup {
    if (this.options.schedule !== undefined) return this.options.schedule(ms, work);
    const timer = setTimeout(work, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  }

  #useName(source: Source, { name, port }: NameQuery, follower: NameFollower): NameUse {
    const watched = this.#follow(source, name, follower);
    return {
      get addresses() {
        return watched.known ? watched.records.map(({ address }) => ({ host: address, port, service: undefined })) : undefined;
      },
      isUnknown: ({ host }) => !watched.knows(familyOf(host)),
      release: () => this.#leave(source.names, name, follower),
    };
  }

  #useService(source: Source, name: string, follower: NameFollower): NameUse {
    const known = source.services.get(name);
    const service = known ?? this.#watchService(source, name);
    const hosts = {
      follow: (host: string, from: NameFollower) => this.#follow(source, host, from),
      leave: (host: string, from: NameFollower) => this.#leave(source.names, host, from),
    };
    const watch = new ServiceWatch(service, hosts, follower);
    return {
      get addresses() {
        return watch.addresses;
      },
      isUnknown: (found) => watch.isUnknown(found),
      release: () => {
        watch.release();
        this.#leave(source.services, name, watch);
      },
    };
  }

  #follow(source: Source, name: string, follower: NameFollower): WatchedName<AddressRecord> {
    let watched = source.names.get(name);
    if (watched === undefined) {
      const { resolver, choice, turns } = source;
      const grace = choice.settings.nxdomainGrace;
      const lookup = (): ReturnType<NameResolver['addresses']> => turns.run(() => resolver.addresses(name, { fresh: true }));
      watched = new WatchedName(name, lookup, this, { grace, familyOf: ({ family }) => family });
      source.names.set(name, watched);
    }
    watched.follow(follower);
    return watched;
  }

  #leave<R>(names: Map<string, WatchedName<R>>, name: string, follower: NameFollower): void {
    if (names.get(name)?.leave(follower) === true) names.delete(name);
  }

  #watchService(source: Source, name: string): WatchedName<ServiceRecord> {
    const { resolver, choice, turns } = source;
    const grace = choice.settings.nxdomainGrace;
    const lookup = (): ReturnType<NameResolver['services']> => turns.run(() => resolver.services(name, { fresh: true }));
    const watched = new WatchedName(name, lookup, this, { grace, familyOf: () => undefined });
    source.services.set(name, watched);
    return watched;
  }

  #sourceOf(choice: ResolverChoice): Source {
    const known = this.#sources.get(choice.key);
    if (known !== undefined) return known;
    const { servers, ipv4, ipv6, valid, statusZone } = choice.settings;
    const resolver = this.options.resolver({ servers, ipv4, ipv6, valid, statusZone, timeout: choice.timeout });
    const source = { resolver, choice, turns: new LookupTurns(MOST_LOOKUPS), names: new Map(), services: new Map(), uses: 0 };
    this.#sources.set(choice.key, source);
    return source;
  }

  #close(source: Source): void {
    this.#sources.delete(source.choice.key);
    for (const watched of [...source.names.values(), ...source.services.values()]) watched.end();
    source.resolver.close();
  }
}
