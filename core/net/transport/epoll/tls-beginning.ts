import type { Connection, ConnectingUser } from '../connection.js';
import type { TlsConnectingUser } from '../tls.js';
import { EpollConnection } from './epoll-connection.js';

/** A connection that is to speak TLS, until it is made: then the handshake begins. */
export class TlsBeginning implements ConnectingUser {
  #connection: Connection | undefined = undefined;

  private constructor(private readonly user: TlsConnectingUser) {}

  /** @param connect begins to connect, and reports nothing before it returns */
  static of(user: TlsConnectingUser, connect: (beginning: ConnectingUser) => Connection): Connection {
    const beginning = new TlsBeginning(user);
    return (beginning.#connection = connect(beginning));
  }

  onConnect(): void {
    const { user } = this;
    const connection = this.#connection;
    user.onConnect();
    if (!(connection instanceof EpollConnection) || connection.destroyed) return;
    try {
      if (user.preamble !== '') connection.write(user.preamble, 'latin1');
      connection.connectTls(user.handshake(), user);
    } catch (error) {
      // Made for the first handshake. That it can be was checked by another thread.
      connection.destroy(error as Error);
    }
  }

  onData(chunk: Buffer, borrowed: boolean): void {
    this.user.onData(chunk, borrowed);
  }
  onEnd(): void {
    this.user.onEnd();
  }
  onDrain(): void {
    this.user.onDrain();
  }
  onError(error: NodeJS.ErrnoException): void {
    this.user.onError(error);
  }
  onClose(): void {
    this.user.onClose();
  }
}
