import type { ControlListener } from '../net/control-listeners.js';
import type { ListenOptions } from '../net/listen-options.js';

/** Announces the listeners of this process to the master before they are opened: the data plane makes no connection to the control plane. */
export class ListenAnnouncements {
  #listeners: readonly ControlListener[] = [];
  /** One for each announcement that is not confirmed yet, the first one first. */
  readonly #waiting: (() => void)[] = [];

  /** @param send all listeners; the master confirms each message */
  constructor(private readonly send: (listeners: readonly ControlListener[]) => void) {}

  /** A socket is about to be opened. Resolves when the whole data plane knows it. */
  opening(options: ListenOptions): Promise<void> {
    return this.#announce([...this.#listeners, ...listenersOf([options])]);
  }

  /** These are open, and no others. */
  async settled(listens: readonly ListenOptions[]): Promise<void> {
    await this.#announce(listenersOf(listens));
  }

  confirmed(): void {
    this.#waiting.shift()?.();
  }

  #announce(listeners: readonly ControlListener[]): Promise<void> {
    this.#listeners = listeners;
    const confirmed = new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.send(listeners);
    return confirmed;
  }
}

function listenersOf(listens: readonly ListenOptions[]): ControlListener[] {
  return listens.filter(({ udp }) => !udp).map(({ host, port, path, ipv6Only }) => ({ host, port, path, ipv6Only }));
}
