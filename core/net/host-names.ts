import { Resolver as SystemResolver } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import type { NameServer } from '../toolkit/resolver.js';
import type { Clock } from './clock.js';
import type { Dialer } from './dialer.js';
import type { AddressRecord, NameResolver } from './dns/resolution.js';
import { notResolved } from './dns/resolve-error.js';
import { Resolver } from './dns/resolver.js';

const HOSTS_FILE = '/etc/hosts';
/** Milliseconds after which the hosts file, and which name servers the system has, is read again. */
const TRUST = 5000;
/** Milliseconds for a name. */
const TIMEOUT = 10_000;
/** How long the IPv4 addresses wait for those of IPv6 (RFC 8305, 3), in milliseconds. */
const RESOLUTION_DELAY = 50;
const LOOPBACK: readonly string[] = ['::1', '127.0.0.1'];

/**
 * Names as the system knows them: by `/etc/hosts` and DNS. Not by getaddrinfo, which occupies a thread of the pool for as long as a name server
 * is silent: four such names would stop every file of the server. One for each thread.
 */
export class SystemHostNames {
  #resolver: NameResolver | undefined;
  /** The servers of the resolver, as text. */
  #servers = '';
  #hosts: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  #until = 0;
  /** The system may have other servers by now. */
  #isStale = true;

  /** @param servers undefined: those of the system */
  constructor(
    private readonly clock: Clock,
    private readonly dialer: Dialer,
    private readonly servers?: readonly NameServer[],
  ) {}

  /**
   * The addresses of a name, IPv6 and IPv4 in turn.
   * @param resolver asked instead of the hosts file and the name servers of the system
   * @throws Error (rejects) `no-such.example could not be resolved (3: Host not found)`
   */
  async resolve(name: string, resolver?: NameResolver): Promise<readonly string[]> {
    const key = (name.endsWith('.') ? name.slice(0, -1) : name).toLowerCase();
    const fixed = resolver === undefined ? (await this.#hostsInForce()).get(key) : undefined;
    const special = fixed ?? specialName(key);
    if (special?.length === 0) throw new Error(notResolved(key, 'nxdomain'));
    if (special !== undefined) return special;
    const { records, error } = await (resolver ?? this.#resolverInForce()).addresses(key);
    if (records.length === 0) throw new Error(notResolved(key, error ?? 'nxdomain'));
    return inTurn(records);
  }

  #resolverInForce(): NameResolver {
    if (this.#resolver !== undefined && !this.#isStale) return this.#resolver;
    this.#isStale = false;
    const servers = this.servers ?? systemServers();
    const text = JSON.stringify(servers);
    if (this.#resolver === undefined || this.#servers !== text) {
      this.#servers = text;
      this.#resolver = new Resolver({ servers, timeout: TIMEOUT, patience: RESOLUTION_DELAY }, this.dialer);
    }
    return this.#resolver;
  }

  #hostsInForce(): Promise<ReadonlyMap<string, readonly string[]>> {
    const now = this.clock.refresh();
    if (this.#hosts === undefined || this.#until <= now) {
      this.#until = now + TRUST;
      this.#isStale = true;
      this.#hosts = readFile(HOSTS_FILE, 'utf8').then(parseHosts, () => new Map<string, string[]>());
    }
    return this.#hosts;
  }
}

/** Name servers of resolv.conf, which may have changed. */
function systemServers(): readonly NameServer[] {
  return new SystemResolver().getServers().map((text) => {
    if (isIP(text) !== 0) return { address: text, port: 53 };
    const colon = text.lastIndexOf(':');
    return { address: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
  });
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
function inTurn(records: readonly AddressRecord[]): string[] {
  const [ipv6, ipv4] = ([6, 4] as const).map((wanted) => records.filter(({ family }) => family === wanted)) as [
    AddressRecord[],
    AddressRecord[],
  ];
  return Array.from({ length: Math.max(ipv4.length, ipv6.length) }, (_, at) => [ipv6[at], ipv4[at]])
    .flat()
    .flatMap((record) => record?.address ?? []);
}
