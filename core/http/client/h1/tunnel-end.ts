import type { Tunnel } from '../../request/client-stream.js';
import type { Connection, ConnectionUser } from '../../../net/transport/connection.js';

/** The client's end of a tunnel: its socket carries bytes, no requests. */
export class TunnelEnd implements ConnectionUser {
  constructor(
    private readonly socket: Connection,
    /** The connection that the socket belonged to. */
    private readonly connection: ConnectionUser,
    private readonly tunnel: Tunnel,
  ) {}

  /** @param early what came after the request */
  start(early: Buffer | undefined): void {
    this.socket.client = this;
    // It was, for a client that sent much before there was a tunnel.
    this.socket.resume();
    if (early !== undefined) this.tunnel.fromClient(early, false);
  }

  onData(chunk: Buffer, borrowed: boolean): void {
    this.tunnel.fromClient(chunk, borrowed);
  }

  onEnd(): void {
    this.tunnel.clientEnded();
  }

  onClose(): void {
    this.tunnel.clientClosed();
    this.connection.onClose();
  }

  onDrain(): void {
    this.connection.onDrain();
  }
}
