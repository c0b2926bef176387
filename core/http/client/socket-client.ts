import type { Socket } from 'node:net';
import type { ClientConnection } from '../../module/http.js';
import type { ServerNames } from '../site/server-names.js';
import type { HttpVariables } from '../site/variables.js';

/** The address that accepted a connection, as its connections see it. */
export interface ConnectionListener {
  readonly address: string;
  readonly isUnix: boolean;
  readonly secure: boolean;
  /** It accepts no more, and its connections end. */
  readonly draining: boolean;
  readonly names: ServerNames;
  readonly variables: HttpVariables;
}

/** Facts about the client of one socket, whatever protocol it speaks. */
export class SocketClient implements ClientConnection {
  requests = 0;

  constructor(
    readonly id: number,
    private readonly socket: Socket,
    private readonly listener: ConnectionListener,
    /** As it was when the connection was accepted: the socket forgets it with a reset, and access rules depend on it. */
    readonly remoteAddress: string,
    /** It speaks TLS. On a TLS listener all do but those that are told so. */
    readonly secure: boolean,
  ) {}

  get remotePort(): number {
    return this.socket.remotePort ?? 0;
  }
  get localAddress(): string {
    return this.listener.isUnix ? this.listener.address : (this.socket.localAddress ?? '');
  }
  get localPort(): number {
    return this.socket.localPort ?? 0;
  }
}
