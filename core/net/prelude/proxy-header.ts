/** The PROXY protocol, versions 1 and 2 (haproxy's doc/proxy-protocol.txt): who speaks through the proxy in front of us. */
import { isIP, SocketAddress } from 'node:net';
import type { ProxyHeader } from '../../contract/client-connection.js';

/** A header that was found, and the offset after it. */
export interface ProxyHeaderFound {
  readonly header: ProxyHeader;
  readonly end: number;
}

/** Longest line of version 1, CRLF included. */
const MAX_LINE = 107;
/** Longest header of version 2, as in nginx. */
const MAX_HEADER = 4096;
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Signature, version and command, family and transport, length. */
const FIXED = 16;
const VERSION_2 = 2;
const COMMAND_PROXY = 1;
const TCP_OVER_IPV4 = 0x11;
const TCP_OVER_IPV6 = 0x21;

const NO_TLVS = Buffer.alloc(0);
/** Without addresses. */
const UNSPECIFIED: ProxyHeader = { source: undefined, destination: undefined, tlvs: NO_TLVS };

/**
 * Reads the header at the start of `bytes`, which may be a part of it.
 * @returns undefined: more bytes are needed; null: this is none, or a malformed one
 */
export function parseProxyHeader(bytes: Buffer): ProxyHeaderFound | undefined | null {
  const signature = Math.min(bytes.length, SIGNATURE.length);
  if (bytes.compare(SIGNATURE, 0, signature, 0, signature) === 0) return bytes.length < FIXED ? undefined : parseVersion2(bytes);
  return parseVersion1(bytes);
}

/** Checks the received part of a line of version 1. Text of another protocol is rejected, whether its line ends or not. */
const PART = /^(?:TCP4(?: [\d. ]*)?|TCP6(?: [\da-fA-F:. ]*)?|UNKNOWN(?: [^\r]*)?)\r?$/;
const FAMILIES = ['TCP4', 'TCP6', 'UNKNOWN'];

/** `PROXY TCP4 192.0.2.1 203.0.113.7 5000 80` */
function parseVersion1(bytes: Buffer): ProxyHeaderFound | undefined | null {
  const text = bytes.latin1Slice(0, Math.min(bytes.length, MAX_LINE));
  const prefix = 'PROXY '.slice(0, text.length);
  if (!text.startsWith(prefix)) return null;
  const lineEnd = text.indexOf('\r\n');
  if (lineEnd < 0) return bytes.length < MAX_LINE && isPart(text.slice(prefix.length)) ? undefined : null;
  const end = lineEnd + 2;
  const [, family, source = '', destination = '', sourcePort = '', destinationPort = '', ...more] = text.slice(0, lineEnd).split(' ');
  if (family === 'UNKNOWN') return { header: UNSPECIFIED, end };
  const kind = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : -1;
  const isValid =
    [source, destination].every((address) => isIP(address) === kind && !address.includes('%')) &&
    [sourcePort, destinationPort].every(isPort);
  if (!isValid || more.length > 0) return null;
  const ends = {
    source: { address: source, port: Number(sourcePort) },
    destination: { address: destination, port: Number(destinationPort) },
  };
  return { header: { ...ends, tlvs: NO_TLVS }, end };
}

/** @param text what has come of a line after `PROXY ` */
function isPart(text: string): boolean {
  return FAMILIES.some((family) => family.startsWith(text)) || PART.test(text);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

function parseVersion2(bytes: Buffer): ProxyHeaderFound | undefined | null {
  const versionAndCommand = bytes.readUInt8(12);
  const kind = bytes.readUInt8(13);
  const end = FIXED + bytes.readUInt16BE(14);
  if (versionAndCommand >> 4 !== VERSION_2 || end > MAX_HEADER) return null;
  if (bytes.length < end) return undefined;
  const width = kind === TCP_OVER_IPV4 ? 4 : kind === TCP_OVER_IPV6 ? 16 : 0;
  if ((versionAndCommand & 15) !== COMMAND_PROXY || width === 0) return { header: UNSPECIFIED, end };
  const ports = FIXED + 2 * width;
  const tlvs = ports + 4;
  if (end < tlvs) return null;
  const source = { address: addressText(bytes, FIXED, width), port: bytes.readUInt16BE(ports) };
  const destination = { address: addressText(bytes, FIXED + width, width), port: bytes.readUInt16BE(ports + 2) };
  return { header: { source, destination, tlvs: Buffer.from(bytes.subarray(tlvs, end)) }, end };
}

function addressText(bytes: Buffer, at: number, width: number): string {
  if (width === 4) return bytes.subarray(at, at + width).join('.');
  const groups = Array.from({ length: 8 }, (_, group) => bytes.readUInt16BE(at + 2 * group).toString(16));
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address;
}
