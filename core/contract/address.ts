/** Addresses of members, as `server` lines and the API name them. */
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { ArgError, type ArgType } from './spec.js';

/** Where a member listens. */
export type Address = { readonly host: string; readonly port: number } | { readonly path: string };

/** A `server` argument taken apart: an address, or a name that has to be looked up first. */
export type ParsedAddress = { readonly address: Address } | { readonly name: string; readonly port: number };

/** Reason why an address is rejected, in the words of ngx_parse_url. */
export class AddressError extends Error {
  constructor(
    readonly reason: string,
    text: string,
  ) {
    super(`${reason} in upstream "${text}"`);
  }
}

/** Bytes in the path of a unix socket: sun_path of Linux, without the final NUL. */
export const MAX_SOCKET_PATH = 107;

/**
 * Takes the text of `server ADDRESS` apart: `ip`, `ip:port`, `[v6]:port`, `unix:/path`, `name`, `name:port`.
 *
 * @param defaultPort undefined: a port is needed (stream)
 * @throws AddressError `invalid port in upstream "10.0.0.1:99999"`, `no host in upstream ":80"` …
 */
export function parseAddress(text: string, defaultPort: number | undefined): ParsedAddress {
  if (/^unix:/i.test(text)) return { address: { path: parsePath(text) } };
  // A URL is not an address, whatever its colon is followed by.
  if (/[/?]/.test(text)) throw new AddressError('invalid host', text);
  if (text.startsWith('[')) return parseIPv6(text, defaultPort);
  const colon = text.indexOf(':');
  const host = colon < 0 ? text : text.slice(0, colon);
  if (host === '') throw new AddressError('no host', text);
  const port = parsePort(text, colon < 0 ? undefined : text.slice(colon + 1), defaultPort);
  if (isIPv4(host)) return { address: { host, port } };
  if (!isHostName(host)) throw new AddressError('invalid host', text);
  return { name: host.toLowerCase(), port };
}

/** The one form of a `server` argument: the port written out, names in lower case, IPv6 in its shortest form (RFC 5952). */
export function canonicalAddress(parsed: ParsedAddress): string {
  return 'name' in parsed ? `${parsed.name}:${parsed.port}` : formatAddress(parsed.address);
}

/** The one form an address is shown and compared in: `ip:port`, `[v6]:port`, `unix:/path`. */
export function formatAddress(address: Address): string {
  if ('path' in address) return `unix:${address.path}`;
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`;
}

/** The address of a member as the control API takes it, where a `server` line would leave something open. */
export interface MemberAddress {
  /** The one form in which addresses are compared and shown. */
  readonly canonical: string;
  /** A host name, which has to be looked up. */
  readonly isName: boolean;
  /** Path of a unix socket. */
  readonly path?: string;
}

/**
 * `ip`, `ip:port`, `[v6]`, `[v6]:port`, `unix:/path`, `name`, `name:port`.
 *
 * @throws AddressError also for a relative path and for an IPv6 address without brackets
 */
export function parseMemberAddress(text: string, defaultPort: number): MemberAddress {
  if (/^unix:(?!\/)/i.test(text) || text.includes('\0')) throw new AddressError('a unix socket needs an absolute path', text);
  if (/^[^[]*:.*:/.test(text) && !/^unix:/i.test(text)) throw new AddressError('an IPv6 address needs brackets', text);
  const parsed = parseAddress(text, defaultPort);
  const canonical = canonicalAddress(parsed);
  if ('name' in parsed) return { canonical, isName: true };
  return 'path' in parsed.address ? { canonical, isName: false, path: parsed.address.path } : { canonical, isName: false };
}

function parsePath(text: string): string {
  const path = text.slice('unix:'.length);
  if (path === '') throw new AddressError('no path in the unix domain socket', text);
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) throw new AddressError('too long path in the unix domain socket', text);
  return path;
}

function parseIPv6(text: string, defaultPort: number | undefined): ParsedAddress {
  const end = text.indexOf(']');
  const rest = text.slice(end + 1);
  if (end < 0 || (rest !== '' && !rest.startsWith(':'))) throw new AddressError('invalid host', text);
  const host = text.slice(1, end);
  if (host === '') throw new AddressError('no host', text);
  if (!isIPv6(host) || host.includes('%')) throw new AddressError('invalid IPv6 address', text);
  // The URL parser writes every form of an address in the same, shortest way.
  const shortest = new URL(`http://[${host}]`).hostname.slice(1, -1);
  return { address: { host: shortest, port: parsePort(text, rest === '' ? undefined : rest.slice(1), defaultPort) } };
}

function parsePort(text: string, port: string | undefined, defaultPort: number | undefined): number {
  if (port === undefined) {
    if (defaultPort === undefined) throw new AddressError('no port', text);
    return defaultPort;
  }
  const value = /^0*\d{1,5}$/.test(port) ? Number(port) : 0;
  if (value < 1 || value > 65535) throw new AddressError('invalid port', text);
  return value;
}

/** Letters, digits, hyphen, underscore in labels. A text like `300.1.1.1`, which looks like an IPv4 address, is not a name either. */
function isHostName(host: string): boolean {
  return (
    host.length <= 253 &&
    /^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i.test(host) &&
    !/^[\d.]+$/.test(host)
  );
}

/**
 * The address of a server, as {@link parseAddress} reads it; the value is its text.
 * @param defaultPort undefined: a port is needed (stream)
 */
export function address(defaultPort: number | undefined): ArgType<string, string> {
  const description = 'an address: ip:port, [v6]:port, unix:/path or name:port';
  return {
    kind: 'text',
    form: 'address',
    parse(value) {
      try {
        parseAddress(value, defaultPort);
      } catch (error) {
        throw error instanceof AddressError ? new ArgError(error.message, description) : error;
      }
      return value;
    },
    print: (value) => value,
    json: {
      schema: { type: 'string', maxLength: 300, pattern: String.raw`^[^\x00-\x1f\x7f]*$`, description },
      shown: { type: 'string' },
      show: (value) => value,
      text: (value) => value,
    },
  };
}

/** The local address that connections come from, in the terms of `net.connect`. */
export interface SourceAddress {
  readonly localAddress: string;
  readonly localPort?: number;
}

/** Reads the address of `proxy_bind`, which may have a port. Undefined: it is none. */
export function parseSource(text: string): SourceAddress | undefined {
  const [, host = '', port] = isIP(text) === 0 ? (/^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? []) : ['', text];
  return isIP(host) === 0 ? undefined : { localAddress: host, ...(port !== undefined && { localPort: Number(port) }) };
}
