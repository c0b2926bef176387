import type { AcceptedConnection } from './accepted-connection.js';
import { ConnectionView } from './connection-view.js';

/** Facts about an accepted connection for modules, the same in both traffic engines. */
export abstract class ConnectionFacts extends ConnectionView<AcceptedConnection> {
  get remoteAddress(): string {
    return this.seen.remoteAddress;
  }
  get remotePort(): number {
    return this.seen.remotePort;
  }
}
