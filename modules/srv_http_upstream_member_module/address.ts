import { isIPv4, isIPv6 } from 'node:net';
import { ApiError } from '../../core/module/control.js';

/** Where a member is, as the API was told. */
export interface MemberAddress {
  /** The one form in which addresses are compared and shown: default port written out, IPv6 in its shortest form. */
  readonly canonical: string;
  /** A host name, which has to be looked up. */
  readonly isName: boolean;
}

const DEFAULT_PORT = 80;
/** sun_path of unix(7) without the final zero. */
const LONGEST_PATH = 107;

/**
 * `ip`, `ip:port`, `[v6]`, `[v6]:port`, `unix:/path`, `name`, `name:port`.
 * @throws ApiError 400 `UpstreamBadAddress`
 */
export function memberAddress(text: string): MemberAddress {
  if (/^unix:/i.test(text)) return { canonical: `unix:${socketPath(text)}`, isName: false };
  if (text.startsWith('[')) return { canonical: ipv6(text), isName: false };
  const [host = '', port, ...more] = text.split(':');
  if (more.length > 0) throw bad(text, 'an IPv6 address is written in brackets');
  const number = portNumber(text, port);
  if (isIPv4(host)) return { canonical: `${host}:${number}`, isName: false };
  if (!isHostName(host)) throw bad(text, 'invalid host');
  return { canonical: `${host.toLowerCase()}:${number}`, isName: true };
}

function socketPath(text: string): string {
  const path = text.slice('unix:'.length);
  if (!path.startsWith('/') || path.includes('\0')) throw bad(text, 'a unix socket needs an absolute path');
  if (Buffer.byteLength(path) > LONGEST_PATH) throw bad(text, 'the path of the unix socket is too long');
  return path;
}

function ipv6(text: string): string {
  const match = /^\[([^\]]*)\](?::(.*))?$/s.exec(text);
  const host = match?.[1] ?? '';
  if (!isIPv6(host) || host.includes('%')) throw bad(text, 'invalid IPv6 address');
  const port = portNumber(text, match?.[2]);
  // The URL parser writes every form of an address in the same, shortest way (RFC 5952).
  return `${new URL(`http://[${host}]`).hostname}:${port}`;
}

function portNumber(text: string, port: string | undefined): number {
  if (port === undefined) return DEFAULT_PORT;
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 0;
  if (number < 1 || number > 65535) throw bad(text, 'invalid port');
  return number;
}

/** Labels of letters, digits, hyphens and underscores. What looks like an IPv4 address and is none is no name either. */
function isHostName(host: string): boolean {
  return (
    host.length <= 253 &&
    /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i.test(host) &&
    !/^[\d.]+$/.test(host)
  );
}

function bad(text: string, reason: string): ApiError {
  return new ApiError(400, 'UpstreamBadAddress', `bad address "${text}": ${reason}`);
}
