import { normalize } from 'node:path';
import { AddressError, parseMemberAddress, type MemberAddress } from '../../core/contract/address.js';
import { ApiError } from '../../core/contract/control.js';

const DEFAULT_PORT = 80;

/** @throws ApiError 400 `UpstreamBadAddress` */
export function memberAddress(text: string): MemberAddress {
  try {
    return parseMemberAddress(text, DEFAULT_PORT);
  } catch (error) {
    throw error instanceof AddressError ? badAddress(text, error.reason) : error;
  }
}

/** True if a word is an address rather than a misspelt id. */
export function isMemberAddress(text: string): boolean {
  try {
    return /[.:]/.test(text) && memberAddress(text).canonical !== '';
  } catch {
    return false;
  }
}

/** @param reason what is wrong with it */
export function badAddress(text: string, reason: string): ApiError {
  const message = `invalid address "${text}": ${reason}`;
  return new ApiError(400, 'UpstreamBadAddress', message, [{ pointer: '/server', message }]);
}

/**
 * True for a path below one of the folders. A path with `.`, `..` or `//` is below none: after a symbolic link it would lead elsewhere.
 */
export function isBelow(path: string, folders: readonly string[]): boolean {
  return normalize(path) === path && folders.some((folder) => path.startsWith(`${folder.replace(/\/+$/, '')}/`));
}
