import type { AddressRecord, ServiceRecord } from '../../net/dns/resolution.js';
import { familyOf, type FoundAddress } from './found-address.js';
import type { NameFollower, WatchedName } from './watched-name.js';

/** Hosts whose addresses are followed. */
export interface Hosts {
  follow(name: string, follower: NameFollower): WatchedName<AddressRecord>;
  leave(name: string, follower: NameFollower): void;
}

/**
 * The addresses of a service: those of the targets of its SRV records. Records that name a new target take effect when that has been looked up:
 * the targets of before may be the only ones with an address until then.
 */
export class ServiceWatch implements NameFollower {
  #targets = new Map<string, WatchedName<AddressRecord>>();
  /** Of the last records whose targets were all known. */
  #addresses: readonly FoundAddress[] | undefined = undefined;

  constructor(
    private readonly service: WatchedName<ServiceRecord>,
    private readonly hosts: Hosts,
    private readonly user: NameFollower,
  ) {
    service.follow(this);
    this.#update();
  }

  /** Undefined: not known yet. */
  get addresses(): readonly FoundAddress[] | undefined {
    return this.#addresses;
  }

  /** See {@link NameUse.isUnknown}. */
  isUnknown({ host, service }: FoundAddress): boolean {
    const target = service && this.#targets.get(service.target);
    return target?.knows(familyOf(host)) === false;
  }

  replied(): void {
    this.#update();
    this.user.replied();
  }

  /** Leaves the targets. The caller leaves the service. */
  release(): void {
    for (const name of this.#targets.keys()) this.hosts.leave(name, this);
    this.#targets.clear();
  }

  #update(): void {
    if (!this.service.known) return;
    this.#followTargets();
    if (![...this.#targets.values()].every(({ settled }) => settled)) return;
    const found = this.#found();
    // New targets without known addresses do not replace the previous ones.
    if (found.length > 0 || [...this.#targets.values()].every(({ known }) => known)) this.#addresses = found;
  }

  #followTargets(): void {
    const names = new Set(this.service.records.map(({ target }) => target));
    for (const name of names) if (!this.#targets.has(name)) this.#targets.set(name, this.hosts.follow(name, this));
    for (const name of this.#targets.keys()) {
      if (names.has(name)) continue;
      this.#targets.delete(name);
      this.hosts.leave(name, this);
    }
  }

  #found(): FoundAddress[] {
    const { records } = this.service;
    const highest = Math.min(...records.map(({ priority }) => priority));
    return records.flatMap(({ target, port, priority, weight }) => {
      const service = { target, weight: Math.max(weight, 1), isLower: priority > highest };
      return (this.#targets.get(target)?.records ?? []).map(({ address }) => ({ host: address, port, service }));
    });
  }
}
