/** How a module finds out whether the members of an upstream are fit for requests (active health checks). */
import type { Address } from './address.js';

/** Health of a member by its checks. `checking`: it was not checked yet, and gets no requests before it has passed. */
export type HealthState = 'up' | 'checking' | 'unhealthy';

/** Result of the hook `health` of a module for an `upstream` block. */
export interface HealthPlan {
  /**
   * Makes the checker of the upstream. Called in the master alone, when the plan takes effect or the upstream is made.
   * @param former the checker that the plan before had: what it knows of members may be taken over. It is stopped afterwards.
   */
  create(upstream: CheckedUpstream, former: HealthChecker | undefined): HealthChecker;
}

/** An upstream as its checker sees it. */
export interface CheckedUpstream {
  readonly name: string;
  /** Current members. */
  readonly size: number;
  readonly peers: Iterable<CheckedPeer>;
}

/**
 * Checks the members of one upstream, once a node. It is called for each member that is added, changed or removed. Exceptions are logged;
 * the members stay as they are.
 */
export interface HealthChecker {
  /** The upstream is active: checks may begin. For a checker that takes over as well, with the members in {@link CheckedUpstream.peers}. */
  start(): void;
  /**
   * A member takes effect: the state that it begins with. A checker of an upstream that had none of its module is called for the existing
   * members, before {@link start}: they get requests until it has found them unhealthy, whatever their state begins with.
   */
  added(peer: CheckedPeer): HealthState;
  /** Parameters of a member have changed. */
  changed(peer: CheckedPeer): void;
  removed(peer: CheckedPeer): void;
  /** The upstream is gone, or another checker has taken over. */
  stop(): void;
}

/** A member as its checker sees it: the same object as long as it is a member. */
export interface CheckedPeer {
  /** Identity of the member in its upstream, lasting. */
  readonly id: number;
  readonly address: Address;
  /** The address, `ip:port`, `[v6]:port` or `unix:/path`. */
  readonly server: string;
  /** The address as it is written in the configuration. */
  readonly name: string;
  /** It is marked `down`. */
  readonly isDown: boolean;
  readonly health: HealthState;
  /**
   * Its health in the program that this one replaces (an upgrade), for {@link HealthChecker.added}. Undefined: nothing is known.
   */
  readonly earlier: HealthState | undefined;
  /** Requests of all workers that are over and have not failed. Begins again when the statistics are reset. */
  readonly succeeded: number;
  /** When it was last chosen for a request. Epoch milliseconds, 0: never. */
  readonly selected: number;
  /**
   * Counts a check.
   * @param error why it has failed; undefined: it has passed. Callers of the API read it: it must hold no part of a response.
   */
  count(error: string | undefined): void;
  /**
   * Changes the state, in all workers at once. Requests that the member has go on; one that is up again starts slowly (`slow_start`).
   * @param reason for events
   */
  turn(state: HealthState, reason: string): void;
}

/** The checks of a member, counted. */
export interface HealthFigures {
  readonly checks: number;
  readonly fails: number;
  /** How often it became unhealthy. */
  readonly unhealthy: number;
  /** Of the last check. Epoch milliseconds, 0: there was none. */
  readonly lastAt: number;
  readonly lastPassed: boolean;
  /** Of the last check that failed; empty: none has. */
  readonly lastError: string;
}
