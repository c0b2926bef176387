import type { PeerState } from '../module/services.js';
import { F, W } from './layout.js';
import { stateOf } from './member-state.js';
import type { MemberWatch } from './member-watch.js';
import type { Peer } from './peer.js';
import type { Upstream } from './upstream.js';
import { numberOf, wordOf } from '../zone/offsets.js';

/** Tells of the states of an upstream's members. */
export class MemberStates {
  constructor(
    private readonly upstream: Upstream,
    private readonly watch: MemberWatch | undefined,
    private readonly isMaster: boolean,
  ) {
    if (watch !== undefined) upstream.memory.tally.turned = [];
  }

  /** Tells of the members that traffic has found unavailable, or available again. */
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

  /** Changes something of a member and tells what has become of its state. @param reason undefined: nobody is told */
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
