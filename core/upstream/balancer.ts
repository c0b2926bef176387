import type { UpstreamMemory } from './upstream-memory.js';
import type { Peer } from './peer.js';

/**
 * A method of choosing members. One object for each upstream and thread. It is told about every change of the members as it comes into force
 * in this thread, so that a change costs what it is and not what the upstream is; what it shares with other threads is in the upstream's memory.
 */
export interface Balancer {
  /**
   * The member for a request, or undefined when none may be chosen. Called with the zone's lock held.
   *
   * @param now epoch milliseconds
   * @param tried members that this request had before
   * @param key what the method chooses by (hash, ip_hash), made by the engine
   */
  pick(now: number, tried: readonly Peer[] | undefined, key: string | undefined): Peer | undefined;
  added?(peer: Peer): void;
  removed?(peer: Peer): void;
  /** Weight, limits or flags of the member have changed. */
  changed?(peer: Peer): void;
}

/** What a balancer knows of its upstream. */
export interface BalancerUpstream {
  readonly memory: UpstreamMemory;
  /** The peer whose record is at this offset; undefined if this thread does not know it. */
  peerAt(record: number): Peer | undefined;
}
