import type { KeyTable } from './store-tables.js';

/** Address of a block, and the next key in it. */
export type GivenKeys = readonly [block: string, next: number];

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

  /** By the address of a block the key after the last one that was given out. */
  get given(): readonly GivenKeys[] {
    return [...this.#next];
  }

  /** Counts the keys that another node gave out. */
  take(given: readonly GivenKeys[]): void {
    for (const [block, next] of given) this.#next.set(block, next);
  }

  /** None is given out any more. */
  save(): void {
    for (const [block, next] of this.#next) this.keys.setNext(block, next);
    this.#next.clear();
  }
}
