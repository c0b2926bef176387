import type { KeyTable } from './store-tables.js';

/** Keys that one transaction gives out. They count as used only when {@link save} is called: an aborted transaction uses none. */
export class NewKeys {
  #next = new Map<string, number>();

  constructor(private readonly keys: KeyTable) {}

  /** A key that was never used in the block at this address. */
  next(block: string): number {
    const key = this.#next.get(block) ?? this.keys.next(block);
    this.#next.set(block, key + 1);
    return key;
  }

  /** Gives those back that were given out since, when the returned function is called. */
  mark(): () => void {
    const next = new Map(this.#next);
    return () => (this.#next = next);
  }

  /** None is given out any more. */
  save(): void {
    for (const [block, next] of this.#next) this.keys.setNext(block, next);
    this.#next.clear();
  }
}
