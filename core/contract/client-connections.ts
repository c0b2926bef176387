/** Connections of clients as they come and go, at the listeners of both traffic engines. */
import type { ConnectionTls } from './client-connection.js';

/** Addresses are as `listen` has them: `0.0.0.0:80`, `unix:/path`, over UDP `0.0.0.0:53 udp`. Exceptions are logged, and do not affect the connection. */
export interface ConnectionObserver {
  accepted(address: string): void;
  /** A connection was closed at once, because there are too many. */
  rejected(address: string): void;
  /** One that was accepted is closed. */
  closed(address: string): void;
  handshake(address: string, tls: ConnectionTls): void;
  /** @param reason in the words of the error log */
  handshakeFailed(address: string, reason: string): void;
}

/** The connections of one worker. */
export abstract class ClientConnections {
  /** Adds an observer, from the start of the module to its end. */
  abstract observe(observer: ConnectionObserver): void;
}
