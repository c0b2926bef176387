import type { Peer } from './peer.js';
import type { UpstreamMemory } from './upstream-memory.js';

/** An upstream as seen by health checks, states and events of its members. */
export interface WatchedUpstream {
  readonly name: string;
  /** This thread alone changes its memory. */
  readonly owned: boolean;
  readonly size: number;
  readonly peers: Iterable<Peer>;
  readonly memory: UpstreamMemory;
  /** The member with this record. */
  peerAt(record: number): Peer | undefined;
  /** @param reason undefined: no event */
  turnHealth(peer: Peer, flag: number, reason: string | undefined): void;
}
