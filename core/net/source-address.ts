import type { SourceAddress } from '../contract/address.js';
import type { Endpoint } from './tls-client.js';

/** A member with the local address that a connection to it comes from. */
export function fromSource(address: Endpoint, source: SourceAddress | undefined): Endpoint {
  return source === undefined || 'path' in address ? address : { ...address, ...source };
}
