import { isAlive, type PairChange, type PairData } from './key-value-copy.js';

/** The pairs of this node in the memory of the main thread. */
export class PairMemory {
  readonly #pairs = new Map<string, PairData>();
  /** Keys whose time will be over. */
  readonly #expiring = new Set<string>();
  #size = 0;

  constructor(pairs: Iterable<PairData>) {
    for (const pair of pairs) this.#put(pair);
  }

  get all(): ReadonlyMap<string, PairData> {
    return this.#pairs;
  }

  alive(key: string): PairData | undefined {
    const pair = this.#pairs.get(key);
    return pair !== undefined && isAlive(pair) ? pair : undefined;
  }

  /** Of a pair as this node knows it; 0: there is none. */
  known(key: string): Pick<PairData, 'key' | 'version'> {
    return { key, version: this.#pairs.get(key)?.version ?? 0 };
  }

  /** Bytes of all keys and values, once this pair is one of them. */
  sizeWith(key: string, value: string): number {
    const old = this.#pairs.get(key);
    return this.#size + sizeOf(key, value) - (old === undefined ? 0 : sizeOf(key, old.value));
  }

  /** True if there are pairs whose time will be over. */
  get expires(): boolean {
    return this.#expiring.size > 0;
  }

  /** Keys of pairs whose time is over. */
  over(): string[] {
    return [...this.#expiring].filter((key) => this.alive(key) === undefined);
  }

  /** @returns the change */
  take(change: PairChange): PairChange {
    for (const pair of change.set) {
      this.#remove(pair.key);
      this.#put(pair);
    }
    for (const key of change.deleted) this.#remove(key);
    return change;
  }

  #put(pair: PairData): void {
    const { key, value, expires } = pair;
    this.#pairs.set(key, pair);
    this.#size += sizeOf(key, value);
    if (expires !== 0) this.#expiring.add(key);
  }

  #remove(key: string): void {
    const known = this.#pairs.get(key);
    if (known !== undefined) this.#size -= sizeOf(key, known.value);
    this.#pairs.delete(key);
    this.#expiring.delete(key);
  }
}

/** Bytes of a pair. */
export const sizeOf = (key: string, value: string): number => Buffer.byteLength(key) + Buffer.byteLength(value);
