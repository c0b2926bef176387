/** Tunnels of a forward proxy: what `Tunnels.open` is told, and what it tells. */
import type { ConnectionEnd } from './http.js';

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

/** What is known of a tunnel, also after its end. Times in milliseconds since it was begun, -1: it did not come to that. */
export interface TunnelFacts {
  /** The address it is connected to, or was tried last. */
  readonly address: ConnectionEnd | undefined;
  readonly connectTime: number;
  readonly firstByteTime: number;
}
