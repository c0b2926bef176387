import { ClientConnections, type ConnectionObserver } from '../contract/client-connections.js';
import type { ConnectionWatch } from '../net/connection-watch.js';
import type { Belonging } from './module-life.js';

/** The connections of a thread for one module: its observers end with it. */
export class ModuleConnections extends ClientConnections implements Belonging {
  readonly #own: ConnectionObserver[] = [];
  #hasBegun = false;

  constructor(private readonly watch: ConnectionWatch) {
    super();
  }

  begin(): void {
    this.#hasBegun = true;
    for (const observer of this.#own) this.watch.observers.add(observer);
  }

  close(): void {
    for (const observer of this.#own) this.watch.observers.delete(observer);
  }

  observe(observer: ConnectionObserver): void {
    this.#own.push(observer);
    if (this.#hasBegun) this.watch.observers.add(observer);
  }
}
