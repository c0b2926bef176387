import type { Connection } from './transport/connection.js';
import type { ConnectionTls } from '../contract/client-connection.js';
import type { ConnectionObserver } from '../contract/client-connections.js';
import type { Log } from '../contract/log.js';
import { stackOf } from '../contract/thrown.js';

/** Reports connections to modules. Costs nothing without observers. */
export class ConnectionWatch {
  readonly observers = new Set<ConnectionObserver>();

  constructor(private readonly log: Log) {}

  get isWatched(): boolean {
    return this.observers.size > 0;
  }

  /** A connection came in. @param isAdmitted false: it is closed at once */
  came(address: string, socket: Connection, isAdmitted: boolean): void {
    if (!this.isWatched) return;
    this.#tell((observer) => (isAdmitted ? observer.accepted(address) : observer.rejected(address)));
    if (isAdmitted) socket.once('close', () => this.closed(address));
  }

  accepted(address: string): void {
    if (this.isWatched) this.#tell((observer) => observer.accepted(address));
  }

  rejected(address: string): void {
    if (this.isWatched) this.#tell((observer) => observer.rejected(address));
  }

  closed(address: string): void {
    if (this.isWatched) this.#tell((observer) => observer.closed(address));
  }

  handshake(address: string, tls: ConnectionTls): void {
    if (this.isWatched) this.#tell((observer) => observer.handshake(address, tls));
  }

  handshakeFailed(address: string, reason: string): void {
    if (this.isWatched) this.#tell((observer) => observer.handshakeFailed(address, reason));
  }

  #tell(step: (observer: ConnectionObserver) => void): void {
    for (const observer of this.observers) {
      try {
        step(observer);
      } catch (error) {
        this.log.write('crit', `an observer of connections failed: ${stackOf(error)}`);
      }
    }
  }
}
