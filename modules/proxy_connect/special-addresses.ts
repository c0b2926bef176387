import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { binaryAddress, ipv4Text } from '../../core/contract/binary-address.js';

/**
 * Networks without servers on the Internet: the networks of IANA's registries of special-purpose addresses that are not globally
 * reachable (RFC 6890 and its updates), multicast, and what older registries reserved.
 */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
const SPECIAL_IPV6 = [
  '::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

/** Milliseconds for which the addresses of this machine are remembered. */
const OWN_TRUST = 10_000;
/** Bytes in front of an IPv4 address: mapped (RFC 4291), and translated (RFC 6052). After them in 6to4 (RFC 3056). */
const TRANSLATED = `\0\x64\xff\x9b${'\0'.repeat(8)}`;
const SIX_TO_FOUR = '\x20\x02';

/** Finds the addresses that a proxy must not reach for its clients: of this machine, of the networks around it, and unassigned ones. */
export class SpecialAddresses {
  readonly #networks = new BlockList();
  #own: ReadonlySet<string> = new Set();
  #ownUntil = 0;

  constructor() {
    for (const network of SPECIAL_IPV4) this.#add(network, 'ipv4');
    for (const network of SPECIAL_IPV6) this.#add(network, 'ipv6');
  }

  /** @param address as {@link plainAddress} gives it */
  has(address: string): boolean {
    if (this.#ownAddresses().has(binaryAddress(address))) return true;
    if (!isIPv6(address)) return this.#networks.check(address, 'ipv4');
    const inner = innerAddress(address);
    return this.#networks.check(address, 'ipv6') || (inner !== undefined && this.has(inner));
  }

  #add(network: string, family: 'ipv4' | 'ipv6'): void {
    const [address = '', prefix] = network.split('/');
    this.#networks.addSubnet(address, Number(prefix), family);
  }

  /** A service may trust what comes from the machine it runs on, whichever of its addresses that comes from. */
  #ownAddresses(): ReadonlySet<string> {
    const now = Date.now();
    if (now < this.#ownUntil) return this.#own;
    this.#ownUntil = now + OWN_TRUST;
    const addresses = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? []);
    return (this.#own = new Set(addresses.map(({ address }) => binaryAddress(address))));
  }
}

/** The IPv4 address that packets to an IPv6 address are translated for, or tunnelled to. */
function innerAddress(address: string): string | undefined {
  const bytes = binaryAddress(address);
  if (bytes.startsWith(TRANSLATED)) return ipv4Text(bytes.slice(12));
  return bytes.startsWith(SIX_TO_FOUR) ? ipv4Text(bytes.slice(2, 6)) : undefined;
}
