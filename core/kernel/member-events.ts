import type { EngineName } from '../module/spec.js';
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
    /** Upstreams of different engines may have one name. */
    private readonly engine: EngineName,
  ) {}

  changed(peer: Peer, upstream: Upstream, { state, before, reason }: StateChange): void {
    const { id, server, name } = peer;
    // Without a zone each worker has its own view of the member.
    const isView = this.worker >= 0 && upstream.owned;
    const engine = this.engine === 'http' ? undefined : this.engine;
    const data = {
      ...(engine && { engine }),
      upstream: upstream.name,
      id,
      server,
      name,
      state,
      previous: before,
      reason,
      ...(isView && { worker: this.worker }),
    };
    this.events.publish(TYPE, data, this.#subject(upstream.name, server));
  }

  removed({ server }: Peer, { name }: Upstream): void {
    this.events.forget(TYPE, this.#subject(name, server));
  }

  #subject(upstream: string, server: string): string[] {
    return this.engine === 'http' ? [upstream, server] : [this.engine, upstream, server];
  }
}
