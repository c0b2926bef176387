import type { Pick, UpstreamPeer } from '../contract/balancer.js';
import type { HttpRequest } from '../contract/http.js';
import type { StreamSession } from '../contract/stream.js';
import type { Peer } from './peer.js';

/** The choice of members for one request: which ones are out of the question by now. */
export class Choice implements Pick {
  /** Undefined: none. Most requests end where they went first. */
  tried: Peer[] | undefined = undefined;
  /** Proposed, and could not be claimed. */
  #refused: Peer[] | undefined = undefined;
  /** Claimed for the proposal that is being made. */
  claimed: Peer | undefined = undefined;
  state: unknown = undefined;

  constructor(
    readonly request: HttpRequest | undefined,
    readonly session?: StreamSession,
  ) {}

  /** The member is not asked again for this request. */
  exclude(peer: Peer): void {
    (this.tried ??= []).push(peer);
  }

  /** The member could not be claimed. */
  refuse(peer: Peer): void {
    (this.#refused ??= []).push(peer);
  }

  /** Forgets which members could not be had: they may be there by now. */
  restart(): void {
    this.#refused = undefined;
    this.state = undefined;
  }

  wasTried(peer: UpstreamPeer): boolean {
    return this.tried?.includes(peer as Peer) === true || this.#refused?.includes(peer as Peer) === true;
  }
}
