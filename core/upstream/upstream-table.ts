import type { Upstream } from './upstream.js';

/** Upstreams of targets that requests name. Their number is bounded: the oldest one is removed first, with its idle connections. */
export class UpstreamTable<Entry extends { readonly upstream: Upstream }> {
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly most: number) {}

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Requests on an upstream that is replaced go on. */
  set(key: string, entry: Entry): void {
    this.#entries.get(key)?.upstream.retire();
    this.#entries.set(key, entry);
    if (this.#entries.size > this.most) this.#forgetOldest();
  }

  close(): void {
    for (const { upstream } of this.#entries.values()) upstream.retire();
    this.#entries.clear();
  }

  #forgetOldest(): void {
    for (const [key, { upstream }] of this.#entries) {
      upstream.retire();
      this.#entries.delete(key);
      return;
    }
  }
}
