import type { Address } from '../contract/address.js';
import type { Directive } from '../contract/tree.js';
import type { FoundAddress } from './discovery/found-address.js';
import type { MemberSettings } from './upstream-memory.js';

/** The parameters of a `server` line. Lines that say the same share one object. Times in milliseconds. */
export interface MemberParameters extends MemberSettings {
  readonly route: string;
}

/** A member as the configuration has it, with its address known. */
export interface Member {
  /** Lasting identity of its `server` line, and which of the addresses of its name this is. */
  readonly key: number;
  readonly addressIndex: number;
  readonly address: Address;
  /** The address was found by a name. */
  readonly resolved: boolean;
  /** Its data from name servers, if its line has `resolve`. */
  readonly found?: FoundAddress;
  /** The address as it is written. */
  readonly name: string;
  readonly settings: MemberParameters;
  /** Undefined for the one member of an implicit upstream. */
  readonly directive: Directive | undefined;
}
