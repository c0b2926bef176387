import type { ClaimableUpstream } from './balanced-members.js';
import { ModuleBalancer, type ChosenMethod } from './balancer.js';
import { inPieces } from './in-pieces.js';
import type { KeepalivePool } from './keepalive.js';
import { MemberBindings } from './member-bindings.js';
import type { MemberChecks } from './member-checks.js';
import type { MemberStates } from './member-states.js';
import type { Member } from './member.js';
import { orderFor } from './method-order.js';
import type { Peer, PeerHome } from './peer.js';
import { RequestQueue, type QueuedUpstream, type QueueSettings } from './request-queue.js';
import { ZoneFull, type MemberSet } from './member-set.js';
import type { UpstreamOptions } from './upstream-options.js';
import type { WatchedUpstream } from './watched-upstream.js';

/** Half of a change: nothing of it is active yet. Exactly one of the two is called, and neither throws. */
export interface PreparedMember {
  readonly peer: Peer;
  commit(): void;
  abort(): void;
}

export interface PreparedMethod extends Pick<PreparedMember, 'commit' | 'abort'> {
  /** Undefined: at once. */
  readonly ready: Promise<void> | undefined;
}

/** Why the state of a member changes with its line. */
const CHANGED = 'its settings were changed';

/** Parts of an upstream that choose members or wait for them. */
export class Choosers {
  /** Undefined: the order of the upstream decides. */
  balancer: ModuleBalancer | undefined = undefined;
  /** Undefined: no client is bound to a member. */
  bindings: MemberBindings | undefined = undefined;
  /** Undefined: it never had one. */
  queue: RequestQueue | undefined = undefined;
}

/** Parts of an upstream that its changes concern. */
export interface ChangedParts {
  readonly members: MemberSet;
  readonly choosers: Choosers;
  readonly states: MemberStates;
  readonly keepalive: KeepalivePool;
  readonly checks: MemberChecks | undefined;
}

/** Changes of an upstream in one thread: of its members, its balancing method, its queue. */
export class UpstreamUpdates {
  /** Makes the changes that all threads see, and carries no traffic. */
  readonly #isMaster: boolean;

  constructor(
    private readonly upstream: ClaimableUpstream & PeerHome & QueuedUpstream & WatchedUpstream,
    private readonly parts: ChangedParts,
    private readonly options: UpstreamOptions,
  ) {
    this.#isMaster = options.worker < 0;
  }

  /** Adds the members of an upstream that is not active yet. @throws ZoneFull */
  load(members: readonly Member[]): readonly Peer[] {
    return members.map((member) => {
      const prepared = this.prepareAdd(member, false);
      prepared.commit();
      return prepared.peer;
    });
  }

  /**
   * @param pending a change of an active upstream, not an upstream that is being built
   * @param late others carry its traffic already: it may start slowly
   * @throws ZoneFull
   */
  prepareAdd(member: Member, pending: boolean, late = pending): PreparedMember {
    const { members, choosers, checks } = this.parts;
    const peer = members.prepare(member, pending);
    return {
      peer,
      commit: () => {
        checks?.added(peer);
        if (this.options.owner) this.#locked((now) => this.upstream.memory.link(peer.offset, now, late));
        members.add(peer);
        choosers.balancer?.added(peer);
        choosers.bindings?.added(peer);
        choosers.queue?.serveSoon();
        if (this.#isMaster) this.options.onAdded?.(peer, this.upstream);
      },
      abort: () => members.discard(peer),
    };
  }

  /** Other parameters for a member; record, counters and connections stay. @throws ZoneFull */
  prepareChange(peer: Peer, member: Member): PreparedMember {
    const { options } = this;
    const { memory } = this.upstream;
    const { members, choosers, states, checks } = this.parts;
    const weightClass = options.owner ? this.#locked(() => memory.reserve(peer.offset, member.settings)) : 0;
    if (options.owner && weightClass === 0) throw new ZoneFull();
    return {
      peer,
      commit: () => {
        if (options.owner)
          states.around(peer, CHANGED, () => this.#locked((now) => memory.change(peer.offset, member.settings, weightClass, now)));
        members.change(peer, member);
        choosers.balancer?.changed(peer);
        choosers.bindings?.changed(peer);
        choosers.queue?.serveSoon();
        checks?.changed(peer);
      },
      abort: () => {
        if (options.owner) this.#locked(() => memory.cancel(member.settings, weightClass));
      },
    };
  }

  /** The member leaves; requests that it has go on. */
  prepareRemove(peer: Peer): PreparedMember {
    const { members, choosers, states, checks, keepalive } = this.parts;
    return {
      peer,
      commit: () => {
        if (this.options.owner) {
          this.#locked((now) => this.upstream.memory.unlink(peer.offset, now));
          states.tellTurned('no other member is left');
        }
        if (this.#isMaster) this.options.watch?.removed(peer, this.upstream);
        members.remove(peer);
        choosers.balancer?.removed(peer);
        choosers.bindings?.removed(peer);
        checks?.removed(peer);
        keepalive.drop(peer);
      },
      abort: () => {},
    };
  }

  /**
   * Another balancing method, which knows all members before it is active. Committed when it is `ready`, before changes of members are.
   * @param method undefined: round robin
   * @throws ZoneFull
   */
  prepareMethod(method: ChosenMethod | undefined): PreparedMethod {
    const { options, upstream } = this;
    const { memory } = upstream;
    const order = orderFor(method);
    if (options.owner && !this.#locked(() => memory.reserveOrder(order))) throw new ZoneFull();
    const balancer = method?.create === undefined || options.worker < 0 ? undefined : new ModuleBalancer(upstream, method);
    const bindings = method?.affinity === undefined || options.worker < 0 ? undefined : new MemberBindings(upstream, method.affinity);
    const tell = (peer: Peer): void => {
      balancer?.added(peer);
      bindings?.added(peer);
    };
    return {
      ready: balancer === undefined && bindings === undefined ? undefined : inPieces(upstream.peers, tell),
      commit: () => {
        if (options.owner) this.#locked((now) => memory.setOrder(order, now));
        this.parts.choosers.balancer = balancer;
        this.parts.choosers.bindings = bindings;
      },
      abort: () => {},
    };
  }

  /**
   * Lets requests wait from now on, or no more of them.
   * @throws ZoneFull
   */
  prepareQueue(settings: QueueSettings | undefined): Pick<PreparedMember, 'commit' | 'abort'> {
    const { options, upstream } = this;
    const { choosers } = this.parts;
    if (settings !== undefined && options.owner && !this.#locked(() => upstream.memory.queue.reserve())) throw new ZoneFull();
    return {
      commit: () => {
        if (choosers.queue !== undefined) choosers.queue.settings = settings;
        else if (settings !== undefined)
          choosers.queue = new RequestQueue(settings, upstream, options.worker, options.clock, options.timers);
      },
      abort: () => {},
    };
  }

  #locked<T>(section: (now: number) => T): T {
    return this.upstream.memory.locked(this.upstream.now, section);
  }
}
