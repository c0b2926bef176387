import type { Pick, UpstreamPeer } from '../module/balancer.js';
import type { HttpRequest } from '../module/http.js';
import type { StreamSession } from '../module/stream.js';
import type { Peer } from './peer.js';

/** The choice of members for one request: which ones are out of the question by now. */
export class Choice implements Pick {
  readonly tried: Peer[] = [];
  /** Proposed, and could not be claimed. */
  readonly refused: Peer[] = [];
  /** Claimed for the proposal that is being made. */
  claimed: Peer | undefined = undefined;
  state: unknown = undefined;

  constructor(
    readonly request: HttpRequest | undefined,
    readonly session?: StreamSession,
  ) {}

  /** Forgets which members could not be had: they may be there by now. */
  restart(): void {
    this.refused.length = 0;
    this.state = undefined;
  }

  wasTried(peer: UpstreamPeer): boolean {
    return this.tried.includes(peer as Peer) || this.refused.includes(peer as Peer);
  }
}
