import type { TlsSettings } from '../../module/manifest.js';
import { serverTls, type ServerTls } from './server-tls.js';

/** TLS contexts by what they are made of: a thousand servers with one certificate share one. */
export class TlsContexts {
  readonly #contexts = new Map<string, WeakRef<ServerTls>>();
  readonly #numbers = new WeakMap<object, number>();
  #last = 0;

  /** @throws the error of OpenSSL */
  of(settings: TlsSettings): ServerTls {
    const key = JSON.stringify(Object.entries(settings).map(([name, value]) => [name, this.#keyOf(value)]));
    const known = this.#contexts.get(key)?.deref();
    if (known !== undefined) return known;
    const context = serverTls(settings);
    for (const [old, reference] of this.#contexts) if (reference.deref() === undefined) this.#contexts.delete(old);
    this.#contexts.set(key, new WeakRef(context));
    return context;
  }

  /** Objects are compared by identity: the bytes of a file are the same object as long as it does not change. */
  #keyOf(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#keyOf(item));
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return value;
    const known = this.#numbers.get(value) ?? ++this.#last;
    this.#numbers.set(value, known);
    return { object: known };
  }
}
