import type { LogVersion } from './commit-log.js';
import type { PairChange, PairData } from './key-value-copy.js';
import type { Store } from './store.js';

/** How late a change of pairs may be on disk. Milliseconds. */
const SAVE_MS = 1000;

/**
 * Changes of pairs on their way to the disk. Of several nodes the log has each change: a node that dies reads again the changes that it has not saved. One
 * transaction for all of them, since each waits for the disk.
 */
export class UnsavedPairs {
  /** By key; undefined: it was deleted. */
  #pairs = new Map<string, PairData | undefined>();
  #version: LogVersion | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param save writes into the store; its exceptions leave the changes here */
  constructor(private readonly save: (work: (store: Store) => void) => void) {}

  /** That of the last change; undefined: all are on disk. */
  get version(): LogVersion | undefined {
    return this.#version;
  }

  add({ set, deleted }: PairChange, version: LogVersion): void {
    for (const pair of set) this.#pairs.set(pair.key, pair);
    for (const key of deleted) this.#pairs.set(key, undefined);
    this.#version = version;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, SAVE_MS).unref();
  }

  /** Writes them. If that fails, they follow with the next change. */
  flush(): void {
    const [pairs, version] = [this.#pairs, this.#version];
    if (version === undefined) return;
    try {
      this.save((store) => {
        for (const [key, pair] of pairs) {
          if (pair === undefined) store.pairs.delete(key);
          else store.pairs.put(pair);
        }
        store.pairVersion = version.number;
        store.pairMark = version.mark ?? 0;
      });
    } catch {
      // Logged where it was written.
      return;
    }
    this.drop();
  }

  /** They are not needed any more. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pairs = new Map();
    this.#version = undefined;
  }
}
