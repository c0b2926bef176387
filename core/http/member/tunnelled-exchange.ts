import type { PeerConnection } from '../../net/peer-connection.js';
import type { Request } from '../request/request.js';
import type { MemberRoute } from './member-route.js';
import type { AttemptFailure } from './next-upstream.js';

/** An exchange whose client and member are joined, as the tunnel sees it. */
export interface TunnelledExchange {
  readonly request: Request;
  readonly route: MemberRoute;
  /** The connection to the member, which leaves its protocol. Undefined: the protocol has no such thing. */
  upgrade(): PeerConnection | undefined;
  fail(failure: AttemptFailure, text: string): void;
  /** A filter threw, and nothing of the response is out. */
  filterFailed(): void;
  /** Bytes of the member. */
  tunnelReceived(length: number): void;
  /** The end of the member's accounts. */
  finishTunnel(): void;
}
