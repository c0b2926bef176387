import type { SourceAddress } from '../contract/address.js';
import type { ConnectTarget } from './tls-client.js';

/** A member with the local address that a connection to it comes from. */
export function fromSource(address: ConnectTarget, source: SourceAddress | undefined): ConnectTarget {
  return source === undefined || 'path' in address ? address : { ...address, ...source };
}
