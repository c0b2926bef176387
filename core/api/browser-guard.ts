import { isIPv4 } from 'node:net';
import { plainAddress } from '../contract/binary-address.js';
import { ApiError } from '../contract/control.js';

/** Fields that the guard checks. */
export interface GuardedRequest {
  header(lowerName: string): string | undefined;
  /** Address the request came in on. */
  readonly localAddress: string;
}

/**
 * Keeps web pages in an operator's browser from driving the API. Without it a page could send requests to 127.0.0.1 by itself (visible in
 * `Origin` and `Sec-Fetch-Site`), or have a name of its own resolve to 127.0.0.1 (DNS rebinding, visible in `Host`).
 */
export class BrowserGuard {
  /** @param names what the server is called besides localhost: its `server_name` words */
  constructor(private readonly names: readonly string[]) {}

  /** Why the request is rejected; undefined: it may go on. */
  refusal(request: GuardedRequest): ApiError | undefined {
    const host = request.header('host')?.toLowerCase();
    if (host !== undefined && !this.#isOurs(hostName(host), request.localAddress)) {
      return new ApiError(403, 'ForbiddenHost', '"Host" is not a name of this API');
    }
    const site = request.header('sec-fetch-site');
    const origin = request.header('origin')?.toLowerCase();
    const foreign = origin !== undefined && origin.replace(/^https?:\/\//, '') !== host;
    if (foreign || site === 'cross-site' || site === 'same-site') {
      return new ApiError(403, 'ForbiddenOrigin', 'web pages of other sites are not allowed to use this API');
    }
    return undefined;
  }

  #isOurs(name: string, localAddress: string): boolean {
    if (name === 'localhost' || name === '[::1]' || (isIPv4(name) && name.startsWith('127.'))) return true;
    // An address in the place of a name cannot be rebound: it is the listener itself, or not of this server.
    const local = plainAddress(localAddress);
    if (name === local || name === `[${local}]`) return true;
    return this.names.some((own) => matches(own.toLowerCase(), name));
  }
}

/** The host of `host:port`, an IPv6 address in its brackets. */
function hostName(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '');
}

/** Names and leading wildcards, as `server_name` has them. */
function matches(own: string, name: string): boolean {
  if (own.startsWith('*.')) return name.endsWith(own.slice(1));
  if (own.startsWith('.')) return name === own.slice(1) || name.endsWith(own);
  return own !== '' && own === name;
}
