/** Upstreams and their members, with their figures. */
import type { HealthFigures } from './health.js';
import type { MemberLimits } from './members.js';
import type { Directive } from './tree.js';

/** State of a member, the first of these that holds. `resolving`: it is a name that has no address yet, or none any more. */
export type PeerState = 'resolving' | 'down' | 'unhealthy' | 'draining' | 'checking' | 'unavail' | 'up';

/** A member of an upstream with its figures over all workers. */
export interface PeerView {
  readonly id: number;
  /** `ip:port`, `[v6]:port`, `unix:/path`. */
  readonly server: string;
  /** As written in the configuration. */
  readonly name: string;
  readonly directive: Directive;
  /** Id of the `server` line, if its name is looked up again and again and this is one of its addresses. */
  readonly parent?: number;
  /** Parameters that its source (`members_from`) gives it, in place of those of the line. */
  readonly limits?: MemberLimits;
  readonly backup: boolean;
  readonly weight: number;
  readonly maxConns: number;
  readonly state: PeerState;
  readonly active: number;
  readonly requests: number;
  /** Responses by class, index 1 is 1xx. */
  readonly responses: readonly number[];
  readonly codes: Readonly<Record<string, number>>;
  readonly sent: number;
  readonly received: number;
  /** Failed attempts, and how often it became unavailable. */
  readonly fails: number;
  readonly unavail: number;
  readonly health: HealthFigures;
  /** Milliseconds it was unavailable, unhealthy or not checked yet, and since when it is (epoch ms, 0: it is not). */
  readonly downtime: number;
  readonly downstart: number;
  /** When it was last chosen (epoch ms, 0: never). */
  readonly selected: number;
  /** Moving averages, ms: to a connection (of sessions alone), to the head or the first byte, to the end. */
  readonly connectTime: number;
  readonly headerTime: number;
  readonly responseTime: number;
}

/** Requests that wait for a member (`queue`). */
export interface QueueView {
  /** Requests that wait now, and how many may wait. */
  readonly size: number;
  readonly maxSize: number;
  /** Requests that found the queue full. */
  readonly overflows: number;
}

export interface UpstreamView {
  readonly name: string;
  readonly directive: Directive;
  /** Name of its zone; undefined: static, not to be changed by API. */
  readonly zone: string | undefined;
  /** Idle connections to members in all workers. */
  readonly keepalive: number;
  /** Members that are removed but still busy. */
  readonly zombies: number;
  /** Undefined: it has none. */
  readonly queue: QueueView | undefined;
  /** With the `server` lines whose names have no address. */
  readonly peers: Iterable<PeerView>;
  readonly size: number;
  peer(id: number): PeerView | undefined;
  /** The addresses of a `server` line whose name is looked up again and again. Undefined: its addresses stay as they are. */
  addresses(line: Directive): readonly PeerView[] | undefined;
  /** Sets its statistics to zero; members stay. */
  resetStatistics(): void;
}

/** The current upstreams. */
export abstract class Upstreams {
  abstract get(name: string): UpstreamView | undefined;
  abstract all(): Iterable<UpstreamView>;
}
