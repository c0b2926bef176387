/** Durable storage of a module, for unit tests: in memory. */
import { Storage, type StorageChanges } from '../core/contract/storage.js';

/** Entries of one test. A write that is to fail throws {@link failure}. */
export class FakeStorage extends Storage {
  failure: Error | undefined;
  readonly #entries: Map<string, string>;

  /** @param entries existing ones */
  constructor(entries: Readonly<Record<string, string>> = {}) {
    super();
    this.#entries = new Map(Object.entries(entries));
  }

  get(key: string): string | undefined {
    return this.#entries.get(key);
  }

  entries(prefix = ''): [key: string, value: string][] {
    return [...this.#entries].filter(([key]) => key.startsWith(prefix)).sort(([one], [other]) => (one < other ? -1 : 1));
  }

  write(changes: StorageChanges): void {
    if (this.failure !== undefined) throw this.failure;
    for (const [key, value] of Object.entries(changes)) {
      if (value === undefined) this.#entries.delete(key);
      else this.#entries.set(key, value);
    }
  }
}
