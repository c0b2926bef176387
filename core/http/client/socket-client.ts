import type { ClientConnection } from '../../contract/client-connection.js';
import type { AcceptedConnection } from '../../net/accepted-connection.js';
import { ConnectionFacts } from '../../net/connection-facts.js';
import type { ServedConnection } from './connection.js';
import type { HttpServerNames } from '../site/virtual-server.js';
import type { HttpVariables } from '../site/variables.js';

/** The address that accepted a connection, as its connections see it. */
export interface ServedListener {
  readonly address: string;
  readonly isUnix: boolean;
  readonly secure: boolean;
  /** `listen … http2`: all its servers speak HTTP/2. */
  readonly http2: boolean;
  /** It accepts no more, and its connections end. */
  readonly draining: boolean;
  /** Milliseconds that they wait for another request then, unless their own limits are shorter. */
  readonly drainingTime: number;
  readonly names: HttpServerNames;
  readonly variables: HttpVariables;
  readonly connections: Set<ServedConnection>;
}

/** Facts about the client of one socket, whatever protocol it speaks. */
export class SocketClient extends ConnectionFacts implements ClientConnection {
  requests = 0;
  isPipelined = false;

  constructor(
    readonly id: number,
    accepted: AcceptedConnection,
  ) {
    super(accepted);
  }

  get acceptedAt(): number {
    return this.seen.acceptedAt;
  }
}
