import { isIPv4 } from 'node:net';

/** The bytes of a client's address as a latin1 string: 4 of IPv4, 16 of IPv6, the text `unix:` of a unix socket (nginx: $binary_remote_addr). */
export function binaryAddress(address: string): string {
  if (isIPv4(address)) return ipv4Bytes(address);
  return address.includes(':') && address !== 'unix:' ? ipv6Bytes(address) : address;
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
