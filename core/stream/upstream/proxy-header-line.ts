import { isIPv4, isIPv6 } from 'node:net';
import type { SessionClient } from '../../contract/stream.js';

/** The header of the PROXY protocol, version 1, with the address of a client for a member. */
export function proxyHeaderLine({ remoteAddress, remotePort, localAddress, localPort }: SessionClient): string {
  const isOfFamily = isIPv4(remoteAddress) ? isIPv4 : isIPv6;
  if (!isOfFamily(remoteAddress) || !isOfFamily(localAddress)) return 'PROXY UNKNOWN\r\n';
  return `PROXY TCP${isOfFamily === isIPv4 ? 4 : 6} ${remoteAddress} ${localAddress} ${remotePort} ${localPort}\r\n`;
}
