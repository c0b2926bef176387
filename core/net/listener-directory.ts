import { formatAddress, type Address } from '../contract/address.js';
import type { AcceptedConnection } from './accepted-connection.js';
import type { EngineListener } from './listener-set.js';

/** Receiver of connections that others have accepted. */
export interface ConnectionTaker {
  /**
   * Takes over a connection as if it had accepted it.
   * @param rest what its client has sent so far, to be read again
   * @param hasEnded the client sends no more
   */
  take(connection: AcceptedConnection, rest: Buffer | undefined, hasEnded: boolean): void;
}

/** The listeners of one traffic engine. */
interface Listeners {
  /**
   * The one at an address. Over UDP there is nothing to take over.
   * @param address as `listen` names it: `0.0.0.0:80`
   */
  at(address: string): EngineListener | undefined;
}

/** The listeners of one thread, those of every traffic engine: for connections that a server passes on to another one. */
export class ListenerDirectory {
  readonly #engines: Listeners[] = [];

  add(listeners: Listeners): void {
    this.#engines.push(listeners);
  }

  /** The one that serves an address: its own, or all addresses of the family at its port. */
  find(address: Address): ConnectionTaker | undefined {
    const exact = this.#at(formatAddress(address));
    if (exact !== undefined || 'path' in address) return exact;
    return this.#at(`${address.host.includes(':') ? '[::]' : '0.0.0.0'}:${address.port}`);
  }

  #at(address: string): ConnectionTaker | undefined {
    for (const listeners of this.#engines) {
      const found = listeners.at(address);
      if (found !== undefined && takesConnections(found)) return found;
    }
    return undefined;
  }
}

function takesConnections(listener: EngineListener): listener is EngineListener & ConnectionTaker {
  return listener.take !== undefined;
}
