/** How a module chooses the member of an upstream that a request is sent to. */
import type { Address } from './address.js';
import type { HttpRequest } from './http.js';
import type { Conf, Directives, EngineName } from './spec.js';
import type { StreamSession } from './stream.js';
import type { Directive } from './tree.js';

/** A member of an upstream. Changing values are read from shared memory without a lock, so it may be a moment old. */
export interface UpstreamPeer {
  /** Identity of the member in its upstream, lasting and the same in all workers. */
  readonly id: number;
  /** Grows with every member that comes: the order of the configuration, the same in all workers. */
  readonly order: number;
  readonly address: Address;
  /** The address, `ip:port`, `[v6]:port` or `unix:/path`. */
  readonly server: string;
  /** The address as it is written in the configuration. */
  readonly name: string;
  /** As configured. */
  readonly weight: number;
  /** `route=` of its line, which names it for sticky sessions; empty: it has none. */
  readonly route: string;
  readonly backup: boolean;
  /** False: it is `down`, or drains. */
  readonly isServing: boolean;
  /** Effective weight, 0 to {@link weight}: failures and a slow start lower it for a while. */
  readonly effectiveWeight: number;
  /** Requests on it now, of all workers. */
  readonly active: number;
  /** Moving averages over all workers, in milliseconds: to a connection (of sessions alone), to the head of the response or the first byte, and to the end. */
  readonly connectTime: number;
  readonly headerTime: number;
  readonly responseTime: number;
  /** False while it is down, draining, has `max_conns` requests, or waits for its `fail_timeout`. */
  readonly isUsable: boolean;
  /** A whole number from 0 to 2^32-1 that the balancer keeps with the member, the same in all workers. 0 at first; the orders by time need them. @param index 0 or 1 */
  spare(index: number): number;
  setSpare(index: number, value: number): void;
}

/** The choice for one request. The same object again when the request is sent on to another member. */
export interface Pick {
  /** Undefined if it is not a request of HTTP. */
  readonly request: HttpRequest | undefined;
  /** Undefined if it is not a session of `stream`. */
  readonly session?: StreamSession | undefined;
  /** True for a member that this request has tried, or that could not be claimed for it. */
  wasTried(peer: UpstreamPeer): boolean;
  /** State of the balancer for this request, between its proposals. */
  state: unknown;
}

/**
 * A method in one thread. It is called for each member that is added, changed or removed, so that the cost of a change does not depend on
 * the number of members. Exceptions are logged, and the request goes to the next member in turn.
 */
export interface Balancer {
  /**
   * Proposes a member. No lock is held. The member is claimed then; if it cannot be, because another worker has taken its last place, the
   * balancer is asked again. Undefined: the next one in the order of the upstream, backup members last.
   */
  propose(pick: Pick): UpstreamPeer | undefined;
  /** A new member. */
  added?(peer: UpstreamPeer): void;
  /** Weight or other parameters of a member have changed. */
  changed?(peer: UpstreamPeer): void;
  removed?(peer: UpstreamPeer): void;
}

/** An upstream as its balancer sees it. */
export interface BalancedUpstream {
  readonly name: string;
  /** Current members. */
  readonly size: number;
  readonly peers: Iterable<UpstreamPeer>;
  /** Weights of all members that are not backup. */
  readonly totalWeight: number;
  /** The member that holds unit `point` of {@link totalWeight}, members in their order. Costs O(log n). @param point from 0 */
  peerAtWeight(point: number): UpstreamPeer | undefined;
  /** As {@link totalWeight} and {@link peerAtWeight}, of members that are neither `down` nor draining. */
  readonly servingWeight: number;
  servingAtWeight(point: number): UpstreamPeer | undefined;
  /** Claims the next usable member in the order of the upstream, for {@link Balancer.propose} to return. Backup members last. */
  next(pick: Pick): UpstreamPeer | undefined;
}

/** Result of the hook `balancer` of a module. */
export interface BalancingMethod {
  /**
   * `turns` (default): smooth weighted round robin. `load`: the fewest active requests for the weight, of all workers; ties in turn.
   * `connect_time`, `header_time`, `response_time`: the least product of {@link UpstreamPeer.connectTime}, headerTime or responseTime and active
   * requests, one more than there are, for the weight; each 64th request goes to any member, so that its time stays known.
   */
  readonly order?: 'turns' | 'load' | 'connect_time' | 'header_time' | 'response_time';
  /** By time: as long as nothing has come back from a member with requests on it, it is as slow as that. */
  readonly inflight?: boolean;
  /** The member follows from the request and the usable members alone, as with a hash: an explanation asks a balancer of its own for it. */
  readonly byRequest?: true;
  /** False: the method knows no backup members, and the configuration is rejected where there are some. Default: true. */
  readonly backup?: boolean;
  /** False: the method knows no slow start of members, and the configuration is rejected where there is one. Default: true. */
  readonly slowStart?: boolean;
  /** Makes the balancer of one thread. Its members are added afterwards. Absent: the order alone decides. */
  create?(upstream: BalancedUpstream): Balancer;
}

/** The `upstream` block that a module is asked to balance. */
export interface UpstreamScope<D extends Directives = Directives> {
  readonly name: string;
  /** The traffic engine that the upstream is for. */
  readonly engine: EngineName;
  readonly conf: Conf<D>;
  readonly directive: Directive;
  /** Rejects the configuration at the directive called `place` in the block, or at the block; in the hook `members` at the line. Throws. */
  fail(message: string, place?: string, hint?: string): never;
}
