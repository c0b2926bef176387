import type { AddressStore, KeptLine } from '../../core/upstream/discovery/kept-addresses.js';

/** Addresses that outlive a node. */
export class MemoryStore implements AddressStore {
  readonly #lines = new Map<string, KeptLine>();

  lines(): Iterable<KeptLine> {
    return this.#lines.values();
  }

  write(changed: readonly KeptLine[], gone: readonly Pick<KeptLine, 'upstream' | 'key'>[]): void {
    for (const { upstream, key } of gone) this.#lines.delete(`${upstream} ${key}`);
    for (const line of changed) this.#lines.set(`${line.upstream} ${line.key}`, line);
  }
}
