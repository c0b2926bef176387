import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostNames } from '../module/services.js';
import type { Clock } from './clock.js';

const HOSTS_FILE = '/etc/hosts';
/** Milliseconds after which the hosts file is read again. */
const HOSTS_TRUST = 5000;
/** How long the IPv4 addresses wait for those of IPv6 (RFC 8305, 3), in milliseconds. */
const RESOLUTION_DELAY = 50;
/** What the servers of a name may be remembered for, in milliseconds, and how many names. */
const SHORTEST_TRUST = 1000;
const LONGEST_TRUST = 300_000;
const MOST_NAMES = 1024;
const NO_RECORDS: readonly AddressRecord[] = [];
const LOOPBACK: readonly string[] = ['::1', '127.0.0.1'];

/** An A or AAAA record; `ttl` in seconds. */
interface AddressRecord {
  readonly address: string;
  readonly ttl: number;
}

interface Remembered {
  readonly until: number;
  readonly addresses: Promise<readonly string[]>;
}

/**
 * Names by `/etc/hosts` and DNS. Not by getaddrinfo, which occupies a thread of the pool for as long as a name server is silent: four such
 * names would stop every file of the server. One for each thread.
 */
export class SystemHostNames extends HostNames {
  readonly #known = new Map<string, Remembered>();
  #resolver: Resolver | undefined;
  #hosts: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  #hostsUntil = 0;

  /** @param servers `address:port` of name servers; undefined: those of the system */
  constructor(
    private readonly clock: Clock,
    private readonly servers?: readonly string[],
  ) {
    super();
  }

  async resolve(name: string): Promise<readonly string[]> {
    const key = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
    const known = this.#known.get(key);
    if (known !== undefined && known.until > this.clock.refresh()) return known.addresses;
    return this.#ask(key);
  }

  /** Whoever asks for the same name meanwhile waits for the same reply. */
  #ask(name: string): Promise<readonly string[]> {
    const addresses = this.#find(name);
    this.#remember(name, Infinity, addresses);
    addresses.catch(() => this.#known.delete(name));
    return addresses;
  }

  async #find(name: string): Promise<readonly string[]> {
    const special = specialName(name);
    const hosts = await this.#hostsInForce();
    const fixed = hosts.get(name) ?? special;
    if (fixed !== undefined) {
      if (fixed.length === 0) throw notResolved(name, '3: Host not found');
      this.#remember(name, 0, Promise.resolve(fixed));
      return fixed;
    }
    const records = await this.#query(name);
    const addresses = inTurn(records.map(({ address }) => address));
    const trust = Math.min(...records.map(({ ttl }) => ttl * 1000), LONGEST_TRUST);
    this.#remember(name, this.clock.refresh() + Math.max(trust, SHORTEST_TRUST), Promise.resolve(addresses));
    return addresses;
  }

  async #query(name: string): Promise<readonly AddressRecord[]> {
    const resolver = this.#resolverInUse();
    const [ipv4, ipv6] = [resolver.resolve4(name, { ttl: true }), resolver.resolve6(name, { ttl: true })];
    const late = ipv4.then(
      () => sleep(RESOLUTION_DELAY, NO_RECORDS),
      () => ipv6,
    );
    const found = await Promise.allSettled([ipv4, Promise.race([ipv6, late])]);
    const records = found.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (records.length > 0) return records;
    const [reason] = found.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []));
    throw notResolved(name, reasonText(reason));
  }

  #resolverInUse(): Resolver {
    if (this.#resolver !== undefined) return this.#resolver;
    const resolver = new Resolver({ timeout: 5000, tries: 2 });
    if (this.servers !== undefined) resolver.setServers(this.servers);
    return (this.#resolver = resolver);
  }

  #remember(name: string, until: number, addresses: Promise<readonly string[]>): void {
    this.#known.delete(name);
    this.#known.set(name, { until, addresses });
    if (this.#known.size > MOST_NAMES) this.#known.delete(this.#known.keys().next().value ?? '');
  }

  #hostsInForce(): Promise<ReadonlyMap<string, readonly string[]>> {
    const now = this.clock.refresh();
    if (this.#hosts === undefined || this.#hostsUntil <= now) {
      this.#hostsUntil = now + HOSTS_TRUST;
      this.#hosts = readFile(HOSTS_FILE, 'utf8').then(parseHosts, () => new Map<string, string[]>());
    }
    return this.#hosts;
  }
}

/** Names that no name server is asked for (RFC 6761, 6.3 and 6.4; RFC 7686, 2). */
function specialName(name: string): readonly string[] | undefined {
  switch (name.slice(name.lastIndexOf('.') + 1)) {
    case 'localhost':
      return LOOPBACK;
    case 'invalid':
    case 'onion':
      return [];
    default:
      return undefined;
  }
}

function parseHosts(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0 || address.includes('%')) continue;
    for (const name of names) {
      const addresses = hosts.get(name.toLowerCase()) ?? [];
      if (!addresses.includes(address)) addresses.push(address);
      hosts.set(name.toLowerCase(), addresses);
    }
  }
  return hosts;
}

/** IPv6 and IPv4 in turn, IPv6 first (RFC 8305, 4). */
function inTurn(addresses: readonly string[]): string[] {
  const ipv4 = addresses.filter((address) => isIP(address) === 4);
  const ipv6 = addresses.filter((address) => isIP(address) === 6);
  return Array.from({ length: Math.max(ipv4.length, ipv6.length) }, (_, at) => [ipv6[at], ipv4[at]])
    .flat()
    .filter((address) => address !== undefined);
}

function notResolved(name: string, reason: string): Error {
  return new Error(`${name} could not be resolved (${reason})`);
}

/** The codes of DNS in the words of nginx's resolver. */
const REASONS: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOTFOUND', '3: Host not found'],
  ['ENODATA', '3: Host not found'],
  ['EFORMERR', '1: Format error'],
  ['EBADNAME', '1: Format error'],
  ['EREFUSED', '5: Operation refused'],
  ['ETIMEOUT', '110: Operation timed out'],
]);

function reasonText(error: unknown): string {
  return REASONS.get((error as NodeJS.ErrnoException | undefined)?.code) ?? '2: Server failure';
}
