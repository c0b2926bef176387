import { isIPv4, isIPv6 } from 'node:net';
import { binaryAddress } from '../../../contract/binary-address.js';
import { SocketFamily } from './socket-family.js';

/** An address of the system (`struct sockaddr`) as Node.js writes it. */
export interface SocketAddress {
  /** Undefined: a unix socket. */
  readonly address: string | undefined;
  readonly port: number;
}

/** Longest path of a unix socket, with its end (unix(7)). */
const PATH_SIZE = 108;

/** @param bytes begin with a `struct sockaddr` of Linux */
export function readAddress(bytes: Buffer): SocketAddress {
  const family = bytes.readUInt16LE(0);
  if (family === SocketFamily.IPv4) return { address: `${bytes[4]}.${bytes[5]}.${bytes[6]}.${bytes[7]}`, port: bytes.readUInt16BE(2) };
  if (family === SocketFamily.IPv6) return { address: ipv6Text(bytes, 8), port: bytes.readUInt16BE(2) };
  return { address: undefined, port: 0 };
}

/** A `struct sockaddr` of Linux. Undefined: the host is a name, or an address with a zone. */
export function addressBytes(host: string, port: number): Buffer | undefined {
  if (isIPv4(host)) {
    const bytes = Buffer.allocUnsafeSlow(16).fill(0);
    bytes.writeUInt16LE(SocketFamily.IPv4, 0);
    bytes.writeUInt16BE(port, 2);
    bytes.write(binaryAddress(host), 4, 'latin1');
    return bytes;
  }
  if (!isIPv6(host) || host.includes('%')) return undefined;
  const bytes = Buffer.allocUnsafeSlow(28).fill(0);
  bytes.writeUInt16LE(SocketFamily.IPv6, 0);
  bytes.writeUInt16BE(port, 2);
  bytes.write(binaryAddress(host), 8, 'latin1');
  return bytes;
}

/** A `struct sockaddr_un`. Undefined: the path is too long. */
export function pathBytes(path: string): Buffer | undefined {
  const text = Buffer.from(path);
  if (text.length >= PATH_SIZE) return undefined;
  const bytes = Buffer.allocUnsafeSlow(2 + text.length + 1).fill(0);
  bytes.writeUInt16LE(SocketFamily.Unix, 0);
  text.copy(bytes, 2);
  return bytes;
}

/** In the form of RFC 5952, and of inet_ntop(3) for IPv4 addresses in IPv6 form. */
function ipv6Text(bytes: Buffer, at: number): string {
  const groups = Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(at + 2 * group));
  const [from, length] = longestZeros(groups);
  const isMapped = length === 5 && groups[5] === 0xffff;
  if (from === 0 && (length === 6 || isMapped)) return `::${isMapped ? 'ffff:' : ''}${bytes.subarray(at + 12, at + 16).join('.')}`;
  return length < 2 ? groupText(groups) : `${groupText(groups.slice(0, from))}::${groupText(groups.slice(from + length))}`;
}

function groupText(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':');
}

/** The first of the longest runs. */
function longestZeros(groups: readonly number[]): readonly [from: number, length: number] {
  let best: readonly [number, number] = [0, 0];
  for (let from = 0; from < groups.length; from++) {
    let to = from;
    while (groups[to] === 0) to++;
    if (to - from > best[1]) best = [from, to - from];
  }
  return best;
}
