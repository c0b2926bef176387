import type { EngineName } from '../contract/spec.js';
import type { Events } from '../contract/events.js';
import type { StateChange } from '../upstream/member-state.js';
import type { Peer } from '../upstream/peer.js';
import type { Discovered, MemberWatch } from '../upstream/member-watch.js';
import type { WatchedUpstream } from '../upstream/watched-upstream.js';

const TYPE = 'member.state';
/** Change of an address of a name: the bus keeps the last of the two. */
const DISCOVERED = { added: 'member.added', removed: 'member.removed' } as const;

/** Publishes the states of members. */
export class MemberEvents implements MemberWatch {
  constructor(
    private readonly events: Events,
    private readonly worker: number,
    /** Upstreams of different engines may have one name. */
    private readonly engine: EngineName,
  ) {}

  changed(peer: Peer, upstream: WatchedUpstream, { state, before, reason }: StateChange): void {
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

  removed({ server }: Peer, { name }: WatchedUpstream): void {
    this.events.forget(TYPE, this.#subject(name, server));
  }

  discovered({ id, server, name, member }: Peer, { name: upstream }: WatchedUpstream, { type, reason }: Discovered): void {
    const subject = this.#subject(upstream, server);
    const engine = this.engine === 'http' ? undefined : this.engine;
    this.events.forget(type === 'added' ? DISCOVERED.removed : DISCOVERED.added, subject);
    this.events.publish(DISCOVERED[type], { ...(engine && { engine }), upstream, id, server, name, parent: member.key, reason }, subject);
  }

  #subject(upstream: string, server: string): string[] {
    return this.engine === 'http' ? [upstream, server] : [this.engine, upstream, server];
  }
}
