/** Addresses of clients and networks. */
import { argType } from './arg-type.js';
import { BlockList, isIP, SocketAddress } from 'node:net';
import { binaryAddress } from './binary-address.js';
import { ArgError, type ArgType } from './spec.js';

/** Says which addresses of clients a rule is about. */
export type Clients = (address: string) => boolean;

/** An address, a network in CIDR form, or `unix:`; with `all` also everybody. */
export function clients({ all = false } = {}): ArgType<Clients> {
  return argType({
    kind: 'text',
    form: all ? 'address | CIDR | unix: | all' : 'address | CIDR | unix:',
    parse(value, { warn }) {
      return all && value === 'all' ? () => true : parseClients(value, warn, all ? ' or "all"' : '');
    },
  });
}

/**
 * Parses an address, a network in CIDR form, or `unix:`.
 * @param others what else is accepted, for the hint
 * @throws ArgError
 */
export function parseClients(text: string, warn?: (message: string) => void, others = ''): Clients {
  if (text === 'unix:') return (address) => address === 'unix:';
  const network = parseNetwork(text);
  if (network === undefined)
    throw new ArgError(`invalid parameter "${text}"`, `an address, a network such as 10.0.0.0/8 or 2001:db8::/32, "unix:"${others}`);
  if (network.hasHostBits) warn?.(`low address bits of ${text} are meaningless`);
  return inNetwork(network);
}

/** A range of addresses that have their first bits in common. */
export interface Network {
  /** As it is written, without the length of the prefix. */
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** The number of bits in common: all of them for a single address. */
  readonly prefix: number;
  /** Its first and its last address: 4 or 16 bytes as a latin1 string, see {@link binaryAddress}. */
  readonly first: string;
  readonly last: string;
  /** The address is written with bits beyond the prefix. */
  readonly hasHostBits: boolean;
}

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. Undefined: it is none of these. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', length, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || more.length > 0) return undefined;
  const longest = version === 6 ? 128 : 32;
  if (length !== undefined && (!/^\d{1,3}$/.test(length) || Number(length) > longest)) return undefined;
  const prefix = length === undefined ? longest : Number(length);
  const bytes = binaryAddress(address);
  const first = withHostBits(bytes, prefix, 0);
  const last = withHostBits(bytes, prefix, 255);
  return { address, family: version === 6 ? 'ipv6' : 'ipv4', prefix, first, last, hasHostBits: bytes !== first };
}

/** The bytes of an address with all bits beyond the prefix as in `bits`: 0 or 255. */
function withHostBits(address: string, prefix: number, bits: number): string {
  const whole = prefix >> 3;
  if (whole >= address.length) return address;
  const mask = 255 >> (prefix & 7);
  const mixed = (address.charCodeAt(whole) & ~mask) | (bits & mask);
  return address.slice(0, whole) + String.fromCharCode(mixed) + String.fromCharCode(bits).repeat(address.length - whole - 1);
}

/** A v4 client of a v6 socket is a v4 client. To BlockList it is in the v6 networks around its mapped address too; to nginx it is not. */
function inNetwork({ address: network, prefix, family }: Network): Clients {
  const list = new BlockList();
  list.addSubnet(network, prefix, family);
  const kind = family === 'ipv6' ? 6 : 4;
  return (address) => {
    const plain = address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
    return isIP(plain) === kind && list.check(plain, family);
  };
}

/** An address with the port that is after it; 0: none does. */
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

/** The address that a proxy sends by the PROXY protocol, whose version 1 has it in any spelling: IPv6 in its shortest form. */
export function proxiedClient(source: AddressAndPort): AddressAndPort {
  return isIP(source.address) === 6 ? (v6Address(source.address, source.port) ?? source) : source;
}

/** A zone (`fe80::1%eth0`) means something on one machine only. */
function v6Address(text: string, port: number): AddressAndPort | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined;
  return { address: new SocketAddress({ address: text, family: 'ipv6' }).address, port };
}

/**
 * The client that trusted proxies tell of in a field such as X-Forwarded-For. Its addresses are in the order of the proxies: the last one was
 * added by the one that is connected.
 * @param address of the one that is connected
 * @param isRecursive the last address that is not trusted is meant, instead of the last one
 * @returns undefined: there is no other client than `address`
 */
export function forwardedClient(
  field: string | undefined,
  address: string,
  isTrusted: Clients,
  isRecursive: boolean,
): AddressAndPort | undefined {
  if (field === undefined || !isTrusted(address)) return undefined;
  let found: AddressAndPort | undefined;
  for (const text of field.split(/[ ,]+/).reverse()) {
    if (text === '') continue;
    const next = parseClientAddress(text);
    if (next === undefined) break;
    found = next;
    if (!isRecursive || !isTrusted(next.address)) break;
  }
  return found;
}
