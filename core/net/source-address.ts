import type { SourceAddress } from '../contract/address.js';
import type { Target } from './transport/transport.js';

/** A member with the local address that a connection to it comes from. */
export function fromSource(address: Target, source: SourceAddress | undefined): Target {
  return source === undefined || 'path' in address ? address : { ...address, ...source };
}
