import type { PeerState } from '../contract/upstreams.js';
import { Flag } from './layout.js';

/** @param downstart since when it is unavailable (epoch milliseconds); 0: it is not */
export function stateOf(flags: number, downstart: number): PeerState {
  if ((flags & Flag.DOWN) !== 0) return 'down';
  if ((flags & Flag.UNHEALTHY) !== 0) return 'unhealthy';
  if ((flags & Flag.DRAIN) !== 0) return 'draining';
  if ((flags & Flag.CHECKING) !== 0) return 'checking';
  return downstart === 0 ? 'up' : 'unavail';
}

export interface StateChange {
  readonly before: PeerState;
  readonly state: PeerState;
  /** For people. */
  readonly reason: string;
}
