/** Headers of the PROXY protocol, version 2, as a proxy in front of the server writes them. */
import { isIPv4 } from 'node:net';

export interface ProxyHeader2 {
  readonly version?: number;
  /** 0: LOCAL, 1: PROXY. */
  readonly command?: number;
  /** Family and transport; by the addresses if absent. */
  readonly kind?: number;
  readonly from?: string;
  readonly to?: string;
  readonly ports?: readonly [from: number, to: number];
  readonly tlvs?: Buffer;
  /** What the header says of its length, if not the truth. */
  readonly length?: number;
}

export function proxyHeader2(header: ProxyHeader2): Buffer {
  const { version = 2, command = 1, from = '192.0.2.1', to = '192.0.2.2', ports = [1, 2], tlvs = Buffer.alloc(0) } = header;
  const numbers = Buffer.alloc(4);
  numbers.writeUInt16BE(ports[0], 0);
  numbers.writeUInt16BE(ports[1], 2);
  const rest = Buffer.concat([addressBytes(from), addressBytes(to), numbers, tlvs]);
  const fixed = Buffer.from('\r\n\r\n\0\r\nQUIT\n    ', 'latin1');
  fixed[12] = (version << 4) | command;
  fixed[13] = header.kind ?? (isIPv4(from) ? 0x11 : 0x21);
  fixed.writeUInt16BE(header.length ?? rest.length, 14);
  return Buffer.concat([fixed, rest]);
}

export function tlv(type: number, value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'latin1') : value;
  const head = Buffer.from([type, 0, 0]);
  head.writeUInt16BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

const groups = (part: string): string[] => part.split(':').filter((group) => group !== '');

/** Of an IPv6 address that may end in an IPv4 one. */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const text = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [left = '', right] = text.split('::');
  const [before, after] = [groups(left), groups(right ?? '')];
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
