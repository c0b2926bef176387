import { AddressSearch } from './address-search.js';
import type { Log } from '../../contract/log.js';
import type { MetricKinds } from '../../contract/metrics.js';
import type { NameServer } from '../../toolkit/resolver.js';
import type { Dialer } from '../dialer.js';
import { addressResolution, serviceResolution } from './found-resolution.js';
import { Inquiries } from './inquiries.js';
import { RecordType } from './records.js';
import { NameServers } from './name-servers.js';
import { NameTable } from './name-table.js';
import { RecordSearch, type Found } from './record-search.js';
import { ResolverFigures } from './resolver-figures.js';
import {
  NameResolver,
  type AddressFamily,
  type AddressRecord,
  type FindOptions,
  type Resolution,
  type ServiceRecord,
} from './resolution.js';

export interface ResolverOptions {
  /** One at least. A name instead of an address is looked up by the system when it is needed. */
  readonly servers: readonly NameServer[];
  /** True if IPv4 addresses are looked up. Default: true. */
  readonly ipv4?: boolean;
  readonly ipv6?: boolean;
  /** Seconds that records are relied on, instead of their TTL. */
  readonly valid?: number | undefined;
  /** Milliseconds for a name as a whole (resolver_timeout); as in nginx, 0 is not a limit. */
  readonly timeout?: number;
  /** Milliseconds that addresses of one family wait for those of the other. */
  readonly patience?: number;
  /** Name of its figures (`status_zone`); undefined: it has none. */
  readonly statusZone?: string | undefined;
  /** Names that are remembered. */
  readonly names?: number;
  /** Monotonic milliseconds: steps of the clock have no effect. */
  readonly now?: () => number;
  /** From 0 to 1, for jitter. */
  readonly random?: () => number;
}

/** Milliseconds that a timer can wait for. */
const LONGEST = 2 ** 31 - 1;
const TYPES = { 4: RecordType.A, 6: RecordType.AAAA } as const;

/**
 * A DNS client with the behaviour of nginx's `resolver`: it asks recursive servers, remembers what they say for as long as the TTL allows,
 * and asks once for any number of callers. Idle, it has no socket and no timer.
 */
export class Resolver extends NameResolver {
  readonly #inquiries: Inquiries;
  readonly #addresses: NameTable<AddressRecord>;
  readonly #services: NameTable<ServiceRecord>;
  readonly #families: readonly AddressFamily[];
  readonly #valid: number | undefined;
  readonly #timeout: number;
  readonly #patience: number;
  readonly #now: () => number;
  readonly #figures: ResolverFigures | undefined;

  /** @param log gets the names of servers that cannot be found @param metrics where the figures of a `statusZone` are */
  constructor(options: ResolverOptions, dialer: Dialer, log?: Pick<Log, 'write'>, metrics?: Pick<MetricKinds, 'counter'>) {
    super();
    const { statusZone } = options;
    this.#figures = statusZone === undefined || metrics === undefined ? undefined : new ResolverFigures(metrics, statusZone);
    const {
      servers,
      ipv4 = true,
      ipv6 = true,
      valid,
      timeout = 30_000,
      patience = 2000,
      names = 1024,
      now = () => performance.now(),
      random = Math.random,
    } = options;
    this.#inquiries = new Inquiries(new NameServers(servers, now, log), dialer, now);
    this.#families = ([4, 6] as const).filter((family) => (family === 4 ? ipv4 : ipv6));
    this.#valid = valid;
    this.#timeout = timeout === 0 ? LONGEST : Math.min(timeout, LONGEST);
    this.#patience = patience;
    this.#now = now;
    const table = { most: names, now, random };
    this.#addresses = new NameTable(table, (name) => this.#findAddresses(name));
    this.#services = new NameTable(table, (name) => this.#findServices(name));
  }

  addresses(name: string, options?: FindOptions): Promise<Resolution<AddressRecord>> {
    return this.#addresses.find(name, options);
  }

  services(name: string, options?: FindOptions): Promise<Resolution<ServiceRecord>> {
    return this.#services.find(name, options);
  }

  cached(name: string): Resolution<AddressRecord> | undefined {
    return this.#addresses.known(name);
  }

  close(): void {
    this.#inquiries.close();
  }

  async #findAddresses(name: string): Promise<Resolution<AddressRecord>> {
    this.#figures?.asked('name');
    const begins = this.#families.map((family) => this.#searchFor(name, TYPES[family]));
    const found = await new Promise<readonly (Found | undefined)[]>((resolve) => void new AddressSearch(begins, this.#patience, resolve));
    return this.#ended(addressResolution(name, this.#families, found, this.#valid));
  }

  async #findServices(name: string): Promise<Resolution<ServiceRecord>> {
    this.#figures?.asked('srv');
    const begin = this.#searchFor(name, RecordType.SRV);
    const found = await new Promise<Found>((resolve) => void begin(resolve));
    return this.#ended(serviceResolution(name, found, this.#valid));
  }

  #ended<R>(resolution: Resolution<R>): Resolution<R> {
    this.#figures?.ended(resolution.error);
    return resolution;
  }

  #searchFor(name: string, type: RecordType): (onEnd: (found: Found) => void) => RecordSearch {
    const deadline = this.#now() + this.#timeout;
    return (onEnd) => new RecordSearch({ name, type }, this.#inquiries, deadline, onEnd);
  }
}
