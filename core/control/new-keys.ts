import type { KeyTable } from './store-tables.js';

/** Keys that one transaction gives out. They count as used only when {@link save} is called: an aborted transaction uses none. */
export class NewKeys {
  readonly #next = new Map<string, number>();

  constructor(private readonly keys: KeyTable) {}

  /** A key that was never used in the block at this address. */
  next(block: string): number {
    const key = this.#next.get(block) ?? this.keys.next(block);
    this.#next.set(block, key + 1);
    return key;
  }

  save(): void {
    for (const [block, next] of this.#next) this.keys.setNext(block, next);
  }
}
