import type { StateChange } from './member-state.js';
import type { Peer } from './peer.js';
import type { WatchedUpstream } from './watched-upstream.js';

/** Hears of what becomes of members, once: in the thread in which it happens. */
export interface MemberWatch {
  changed(peer: Peer, upstream: WatchedUpstream, change: StateChange): void;
  /** It is not a member any more. In the master only. */
  removed(peer: Peer, upstream: WatchedUpstream): void;
  /** Its name was resolved to its address, or is not any more. In the master only. */
  discovered?(peer: Peer, upstream: WatchedUpstream, change: Discovered): void;
}

/** Change of a member whose name is looked up. */
export interface Discovered {
  readonly type: 'added' | 'removed';
  /** For people. */
  readonly reason: string;
}
