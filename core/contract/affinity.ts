/** How a module binds clients to members of an upstream, whatever the method is that balances it. */
import type { UpstreamPeer } from './balancer.js';
import type { HttpRequest } from './http.js';

/** Result of the hook `affinity` of a module. */
export interface Affinity {
  /** Makes the bindings of one thread. The members are added afterwards. */
  create(): Bindings;
}

/**
 * Bindings in one thread. Exceptions are logged, and the method of the upstream chooses the member. So does one whose member
 * cannot be had: it is down, unavailable, full, or has been tried. A draining member gets the requests that are bound to it;
 * a backup member does while no primary can be had.
 */
export interface Bindings {
  /** The member that the client of a request is bound to; undefined: to none. */
  find(request: HttpRequest): UpstreamPeer | undefined;
  /** The head of the response has arrived from this member. Header fields of the response may be added. */
  responded?(request: HttpRequest, peer: UpstreamPeer): void;
  /** The response has arrived to its end. */
  completed?(request: HttpRequest, peer: UpstreamPeer): void;
  /** A new member. */
  added?(peer: UpstreamPeer): void;
  /** Parameters of a member have changed. */
  changed?(peer: UpstreamPeer): void;
  removed?(peer: UpstreamPeer): void;
}
