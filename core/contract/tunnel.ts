/** Tunnels of CONNECT requests, to servers that clients name and to members of upstreams. */
import type { ExchangePlan } from './exchanges.js';
import type { ExplainNotes } from './explain.js';
import type { ConnectionEnd } from './client-connection.js';
import type { Handler, HttpRequest, Result } from './http.js';

/** How a tunnel is opened. Times in milliseconds. */
export interface TunnelPlan {
  /** One at least, tried in this order: the next one when one fails, or has not connected within 250 ms (RFC 8305, 5). */
  readonly addresses: readonly ConnectionEnd[];
  /** Where connections come from (proxy_connect_bind); undefined: the system chooses. Port 0: any. */
  readonly from: ConnectionEnd | undefined;
  /** For all addresses together. */
  readonly connectTimeout: number;
  /** The tunnel ends when no byte moves for so long. */
  readonly idleTimeout: number;
  /** The response that opens the tunnel, once it is connected; undefined: that of the server. */
  head(facts: TunnelFacts): TunnelHead | undefined;
}

/** The head of a response to CONNECT. */
export interface TunnelHead {
  readonly status: number;
  readonly reason: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Facts about a tunnel, also after its end. Times in milliseconds since its beginning, -1: it did not get that far. */
export interface TunnelFacts {
  /** The address it is connected to, or was tried last. */
  readonly address: ConnectionEnd | undefined;
  readonly connectTime: number;
  readonly firstByteTime: number;
}

/** How the tunnels of one server or location lead to members of an upstream. Times in milliseconds. */
export interface MemberTunnelPlan extends Pick<
  ExchangePlan,
  'target' | 'bind' | 'socketKeepalive' | 'connectTimeout' | 'sendTimeout' | 'next' | 'scope' | 'fail'
> {
  /** The tunnel ends when no byte moves for so long. */
  readonly idleTimeout: number;
}

/** Joins clients with servers (CONNECT). */
export abstract class Tunnels {
  /** Takes the request over, which gets an error response if no address can be connected to. For handlers `connect`, which return DONE. */
  abstract open(request: HttpRequest, plan: TunnelPlan): TunnelFacts;
  /**
   * Makes the handler `connect` for tunnels to the members of an upstream, or to an address, as `Exchanges.compile` makes that of a
   * location: members are chosen by the balancing of the upstream, and the tunnel counts as a request of its member until it ends.
   */
  abstract compile(plan: MemberTunnelPlan): Handler;
  /** See `Exchanges.explain`. @param handler as {@link compile} has made it */
  abstract explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result;
}
