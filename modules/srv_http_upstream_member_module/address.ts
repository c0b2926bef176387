import { AddressError, canonicalAddress, parseAddress } from '../../core/module/address.js';
import { ApiError } from '../../core/module/control.js';

/** Where a member is, as the API was told. */
export interface MemberAddress {
  /** The one form in which addresses are compared and shown. */
  readonly canonical: string;
  /** A host name, which has to be looked up. */
  readonly isName: boolean;
}

const DEFAULT_PORT = 80;

/**
 * `ip`, `ip:port`, `[v6]`, `[v6]:port`, `unix:/path`, `name`, `name:port`.
 * @throws ApiError 400 `UpstreamBadAddress`
 */
export function memberAddress(text: string): MemberAddress {
  if (/^unix:(?!\/)/i.test(text) || text.includes('\0')) throw bad(text, 'a unix socket needs an absolute path');
  if (/^[^[]*:.*:/.test(text) && !/^unix:/i.test(text)) throw bad(text, 'an IPv6 address is written in brackets');
  try {
    const parsed = parseAddress(text, DEFAULT_PORT);
    return { canonical: canonicalAddress(parsed), isName: 'name' in parsed };
  } catch (error) {
    throw error instanceof AddressError ? bad(text, error.reason) : error;
  }
}

function bad(text: string, reason: string): ApiError {
  return new ApiError(400, 'UpstreamBadAddress', `bad address "${text}": ${reason}`);
}
