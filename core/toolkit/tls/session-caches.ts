import { BroadcastChannel } from 'node:worker_threads';
import { SessionCache } from './session-cache.js';

/** Message from a worker to the others. */
interface Stored {
  readonly cache: string;
  readonly id: string;
  readonly session: Uint8Array;
  readonly expires: number;
}

/** The session caches of one thread by name. Each worker has a copy of the shared ones and sends its additions to the others. */
export class SessionCaches {
  readonly #caches = new Map<string, WeakRef<SessionCache>>();
  #channel: BroadcastChannel | undefined;
  #channelName: (() => string) | undefined;

  /** @param size bytes; the same name with another size is another cache */
  shared(name: string, size: number): SessionCache {
    return this.#cache(`${name} ${size}`, size, (cache) => (id, session, expires) => {
      this.#channel?.postMessage({ cache, id, session, expires } satisfies Stored);
    });
  }

  /** Of this thread alone. */
  builtin(size: number): SessionCache {
    return this.#cache(`builtin ${size}`, size, () => () => undefined);
  }

  /**
   * Hears of the other workers from now on, as soon as there is a cache: a server without TLS needs neither channel nor cryptography.
   * @param name gives a name for the channel that only the threads of this server know
   */
  connect(name: () => string): void {
    this.#channelName = name;
    if (this.#caches.size > 0) this.#open();
  }

  #open(): void {
    if (this.#channel !== undefined || this.#channelName === undefined) return;
    this.#channel = new BroadcastChannel(this.#channelName());
    this.#channel.addEventListener('message', (message) => this.#adopt((message as unknown as { data: Stored }).data));
    this.#channel.unref();
  }

  close(): void {
    this.#channel?.close();
    this.#channel = undefined;
    this.#channelName = undefined;
  }

  #cache(key: string, size: number, teller: (key: string) => ConstructorParameters<typeof SessionCache>[1]): SessionCache {
    const known = this.#caches.get(key)?.deref();
    if (known !== undefined) return known;
    const cache = new SessionCache(size, teller(key));
    this.#caches.set(key, new WeakRef(cache));
    this.#open();
    return cache;
  }

  #adopt({ cache, id, session, expires }: Stored): void {
    const known = this.#caches.get(cache)?.deref();
    if (known === undefined) this.#caches.delete(cache);
    else known.adopt(id, Buffer.from(session.buffer, session.byteOffset, session.byteLength), expires);
  }
}
