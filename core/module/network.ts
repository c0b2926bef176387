/** Addresses of clients and networks. */
import { BlockList, isIP, SocketAddress } from 'node:net';
import { ArgError, type ArgType } from './spec.js';

/** Tells which addresses of clients a rule is about. */
export type Clients = (address: string) => boolean;

/** An address, a network in CIDR form, or `unix:`; with `all` also everybody. */
export function clients({ all = false } = {}): ArgType<Clients> {
  return {
    kind: 'text',
    form: all ? 'address | CIDR | unix: | all' : 'address | CIDR | unix:',
    parse(value, { warn }) {
      if (all && value === 'all') return () => true;
      if (value === 'unix:') return (address) => address === 'unix:';
      const [network = '', prefix] = value.split('/');
      const family = isIP(network);
      const longest = family === 6 ? 128 : 32;
      if (family === 0 || (prefix !== undefined && (!/^\d{1,3}$/.test(prefix) || Number(prefix) > longest))) {
        throw new ArgError(
          `invalid parameter "${value}"`,
          `an address, a network such as 10.0.0.0/8 or 2001:db8::/32, "unix:"${all ? ' or "all"' : ''}`,
        );
      }
      if (prefix !== undefined && hasHostBits(network, Number(prefix))) warn?.(`low address bits of ${value} are meaningless`);
      return inNetwork(network, prefix === undefined ? longest : Number(prefix), family === 6 ? 'ipv6' : 'ipv4');
    },
  };
}

/** True if the address says more than which network is meant. */
function hasHostBits(address: string, prefix: number): boolean {
  return (isIP(address) === 6 ? v6Bits(address) : v4Bits(address)).includes('1', prefix);
}

function v4Bits(address: string): string {
  return address
    .split('.')
    .map((part) => binary(Number(part), 8))
    .join('');
}

function v6Bits(address: string): string {
  // The URL parser writes every form of an address in the same, shortest way.
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [groupBits(head), groupBits(tail)];
  return first + '0'.repeat(128 - first.length - last.length) + last;
}

function groupBits(groups: string): string {
  return groups
    .split(':')
    .map((group) => (group === '' ? '' : binary(Number.parseInt(group, 16), 16)))
    .join('');
}

function binary(value: number, digits: number): string {
  return value.toString(2).padStart(digits, '0');
}

/** A v4 client of a v6 socket is a v4 client. To BlockList it is in the v6 networks around its mapped address too; to nginx it is not. */
function inNetwork(network: string, prefix: number, family: 'ipv4' | 'ipv6'): Clients {
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  const kind = family === 'ipv6' ? 6 : 4;
  return (address) => {
    const plain = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
    return isIP(plain) === kind && list.check(plain, family);
  };
}

/** An address with the port that stands behind it; 0: none does. */
export interface AddressAndPort {
  readonly address: string;
  readonly port: number;
}

/** Reads `192.0.2.1`, `192.0.2.1:5000`, `2001:db8::1` and `[2001:db8::1]:5000`. Undefined: it is none of these. IPv6 in its shortest form. */
export function parseClientAddress(text: string): AddressAndPort | undefined {
  if (isIP(text) === 6) return v6Address(text, 0);
  const [, literal, host = '', portText = '0'] = /^(?:\[([^\]]*)\]|([^:[]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = Number(portText);
  if (port > 65_535) return undefined;
  if (literal !== undefined) return v6Address(literal, port);
  return isIP(host) === 4 ? { address: host, port } : undefined;
}

/** A zone (`fe80::1%eth0`) means something on one machine only. */
function v6Address(text: string, port: number): AddressAndPort | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  return { address: new SocketAddress({ address: text, family: 'ipv6' }).address, port };
}
