import type { HealthState } from '../contract/health.js';
import type { Clock } from '../net/clock.js';
import type { TimerWheel } from '../net/timers.js';
import type { KeepaliveSettings } from './keepalive.js';
import type { MemberWatch } from './member-watch.js';
import type { Peer } from './peer.js';
import type { WatchedUpstream } from './watched-upstream.js';

export interface UpstreamOptions {
  readonly clock: Clock;
  /** Absent: idle connections are only closed when one looks for them. */
  readonly timers?: TimerWheel;
  /** 0-based number of this worker; -1 in a thread that carries no traffic. */
  readonly worker: number;
  /** True if this thread changes the upstream's memory. True for memory of its own. */
  readonly owner: boolean;
  readonly keepalive: KeepaliveSettings;
  /** A member failed so often that it gets no requests for its fail_timeout. */
  readonly onUnavailable: (peer: Peer, upstream: WatchedUpstream) => void;
  /** The balancer of a module has thrown. */
  readonly onBalancerError?: (module: string, error: unknown, upstream: WatchedUpstream) => void;
  /** A member takes effect. In the master only. */
  readonly onAdded?: (peer: Peer, upstream: WatchedUpstream) => void;
  /** The health checker of a module has thrown. */
  readonly onCheckerError?: (module: string, error: unknown, upstream: WatchedUpstream) => void;
  readonly watch?: MemberWatch;
  /** Health of a member in the program that this one replaces. */
  readonly earlierHealth?: (peer: Peer, upstream: WatchedUpstream) => HealthState | undefined;
}
