import type { PeerState } from '../contract/upstreams.js';
import { F, W } from './layout.js';
import { stateOf } from './member-state.js';
import type { MemberWatch } from './member-watch.js';
import type { Peer } from './peer.js';
import type { WatchedUpstream } from './watched-upstream.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** Publishes the states of an upstream's members. */
export class MemberStates {
  constructor(
    private readonly upstream: WatchedUpstream,
    private readonly watch: MemberWatch | undefined,
    private readonly isMaster: boolean,
  ) {
    if (watch !== undefined) upstream.memory.tally.turned = [];
  }

  /** Publishes members that traffic has found unavailable, or available again. */
  tellTurned(reason: string): void {
    const { upstream, watch } = this;
    for (const record of upstream.memory.tally.turned?.splice(0) ?? []) {
      const peer = upstream.peerAt(record);
      if (peer === undefined) continue;
      const state = this.#stateOf(peer);
      // Of one that is down or drained this is not the state.
      if (state === 'unavail') watch?.changed(peer, upstream, { before: 'up', state, reason });
      else if (state === 'up') watch?.changed(peer, upstream, { before: 'unavail', state, reason });
    }
  }

  /** Changes a member and publishes its new state. @param reason undefined: it is not published */
  around(peer: Peer, reason: string | undefined, change: () => void): void {
    const { upstream, watch } = this;
    const before = this.#stateOf(peer);
    change();
    upstream.memory.tally.turned?.splice(0);
    const state = this.#stateOf(peer);
    if (state !== before && this.isMaster && reason !== undefined) watch?.changed(peer, upstream, { before, state, reason });
  }

  #stateOf(peer: Peer): PeerState {
    const { u32, f64 } = this.upstream.memory.zone;
    return stateOf(u32[wordOf(peer.offset) + W.flags]!, f64[numberOf(peer.offset) + F.downstart]!);
  }
}
