import type { Events } from '../module/events.js';
import type { StateChange } from '../upstream/member-state.js';
import type { Peer } from '../upstream/peer.js';
import type { MemberWatch, Upstream } from '../upstream/upstream.js';

const TYPE = 'member.state';

/** Tells of the states of members. */
export class MemberEvents implements MemberWatch {
  constructor(
    private readonly events: Events,
    private readonly worker: number,
  ) {}

  changed(peer: Peer, upstream: Upstream, { state, before, reason }: StateChange): void {
    const { id, server, name } = peer;
    // Without a zone each worker has its own view of the member.
    const isView = this.worker >= 0 && upstream.owned;
    const data = { upstream: upstream.name, id, server, name, state, previous: before, reason, ...(isView && { worker: this.worker }) };
    this.events.publish(TYPE, data, [upstream.name, server]);
  }

  removed({ server }: Peer, { name }: Upstream): void {
    this.events.forget(TYPE, [name, server]);
  }
}
