import type { Directive } from '../module/tree.js';
import { formatAddress, type Address } from '../module/address.js';
import type { MemberSettings } from './upstream-memory.js';
import type { IdleEntry } from './idle-entry.js';
import { memberId } from './layout.js';

/** The parameters of a `server` line. Lines that say the same share one object. Times in milliseconds. */
export interface MemberParameters extends MemberSettings {
  readonly slowStart: number;
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
  /** The address as it is written. */
  readonly name: string;
  readonly settings: MemberParameters;
  /** Undefined for the one member of an implicit upstream. */
  readonly directive: Directive | undefined;
}

/**
 * A member of an upstream, as one thread knows it. Its figures and its place in the rotation are in the upstream's memory, at {@link offset}.
 * With another address it would be another member, so this one's never changes.
 */
export class Peer {
  readonly id: number;
  readonly address: Address;
  /** `ip:port`, `[v6]:port`, `unix:/path`. */
  readonly server: string;
  /** Requests of this thread that are on it now. */
  picked = 0;
  /** Not a member any more; its record stays as long as requests are on it. */
  removed = false;
  /** Idle connections to it in this thread, the one used last first. Kept by the pool. */
  idle: IdleEntry | undefined = undefined;

  constructor(
    public member: Member,
    readonly offset: number,
    /** Its place in the tables of every thread. */
    readonly slot: number,
  ) {
    this.id = memberId(member.key, member.addressIndex);
    this.address = member.address;
    const text = formatAddress(member.address);
    // One string in memory where both are the same.
    this.server = text === member.name ? member.name : text;
  }
}
