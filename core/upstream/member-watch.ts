import type { StateChange } from './member-state.js';
import type { Peer } from './peer.js';
import type { Upstream } from './upstream.js';

/** Hears of what becomes of members, once: in the thread in which it happens. */
export interface MemberWatch {
  changed(peer: Peer, upstream: Upstream, change: StateChange): void;
  /** It is not a member any more. In the master only. */
  removed(peer: Peer, upstream: Upstream): void;
  /** Its name was resolved to its address, or is not any more. In the master only. */
  discovered?(peer: Peer, upstream: Upstream, change: Discovered): void;
}

/** What has become of a member whose name is looked up. */
export interface Discovered {
  readonly type: 'added' | 'removed';
  /** For people. */
  readonly reason: string;
}
