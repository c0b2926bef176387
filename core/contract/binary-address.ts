import { isIPv4 } from 'node:net';

/** The bytes of a client's address as a latin1 string: 4 of IPv4, 16 of IPv6, the text `unix:` of a unix socket (nginx: $binary_remote_addr). */
export function binaryAddress(address: string): string {
  if (isIPv4(address)) return ipv4Bytes(address);
  return address.includes(':') && address !== 'unix:' ? ipv6Bytes(address) : address;
}

/** In front of the bytes of an IPv4 address in IPv6 form (RFC 4291, 2.5.5.2). */
const MAPPED_V4 = `${'\0'.repeat(10)}\xff\xff`;

/** {@link binaryAddress}; of an IPv4 address in IPv6 form, in any spelling, the 4 bytes of the IPv4 address: the system connects to that. */
export function plainBytes(address: string): string {
  const bytes = binaryAddress(address);
  return bytes.length === 16 && bytes.startsWith(MAPPED_V4) ? bytes.slice(MAPPED_V4.length) : bytes;
}

/** The IPv4 address that an IPv6 address is another form of, in any spelling, or the same text. */
export function plainAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bytes = plainBytes(address);
  return bytes.length === 4 ? ipv4Text(bytes) : address;
}

/** The text of 4 bytes: `127.0.0.1`. */
export function ipv4Text(bytes: string): string {
  return [...Buffer.from(bytes, 'latin1')].join('.');
}

function ipv4Bytes(address: string): string {
  let bytes = '';
  let value = 0;
  for (let at = 0; at < address.length; at++) {
    const code = address.charCodeAt(at);
    if (code >= 48) value = value * 10 + code - 48;
    else {
      bytes += String.fromCharCode(value);
      value = 0;
    }
  }
  return bytes + String.fromCharCode(value);
}

function ipv6Bytes(address: string): string {
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const first = groupBytes(head);
  if (tail === undefined) return first;
  const last = groupBytes(tail);
  return first + '\0'.repeat(Math.max(16 - first.length - last.length, 0)) + last;
}

/** Groups of hexadecimal digits; the last one may be an IPv4 address. */
function groupBytes(text: string): string {
  let bytes = '';
  for (const group of text.split(':')) {
    if (group.includes('.')) bytes += ipv4Bytes(group);
    else if (group !== '') bytes += String.fromCharCode(Number.parseInt(group, 16) >>> 8, Number.parseInt(group, 16) & 255);
  }
  return bytes;
}
