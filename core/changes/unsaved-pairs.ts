import type { LogVersion } from './commit-log.js';
import type { PairChange, PairData } from './key-value-copy.js';
import type { Store } from './store.js';

/** How late a change of another node may be on disk. Milliseconds. */
const SAVE_MS = 1000;
/** Changes of this node wait for each other, so that the disk takes at most a fifth of the time, but not longer than this. Milliseconds. */
const SHARE = 4;
const LONGEST_MS = 100;

/**
 * Changes of pairs on their way to the disk. Of several nodes the log has each change: a node that dies reads again the changes that it has not saved. One
 * transaction for all of them, since each waits for the disk.
 */
export class UnsavedPairs {
  /** By key; undefined: it was deleted. */
  #pairs = new Map<string, PairData | undefined>();
  #version: LogVersion | undefined;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  #saved: PromiseWithResolvers<void> | undefined;
  /** Duration of the last transaction. Milliseconds. */
  #took = 0;

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
    this.#timer ??= setTimeout(() => this.flush(), SAVE_MS).unref();
  }

  /** Resolves soon, when the changes so far are on disk. If they cannot be written, the log says so: the other nodes have them. */
  saved(): Promise<void> {
    if (this.#version === undefined) return Promise.resolve();
    this.#saved ??= Promise.withResolvers();
    this.#soon ??= setTimeout(() => this.flush(), Math.min(LONGEST_MS, SHARE * this.#took));
    return this.#saved.promise;
  }

  /** Writes them. If that fails, they follow with the next change. */
  flush(): void {
    const began = performance.now();
    try {
      if (this.#version !== undefined) this.save((store) => this.writeInto(store));
      this.drop();
    } catch {
      // Logged where it was written.
      this.#settle();
    }
    this.#took = performance.now() - began;
  }

  /** Writes them as a part of another transaction; after it they are dropped. */
  writeInto(store: Store): void {
    if (this.#version === undefined) return;
    for (const [key, pair] of this.#pairs) {
      if (pair === undefined) store.pairs.delete(key);
      else store.pairs.put(pair);
    }
    store.pairVersion = this.#version.number;
    store.pairMark = this.#version.mark ?? 0;
  }

  /** They are not needed any more. */
  drop(): void {
    this.#pairs = new Map();
    this.#version = undefined;
    this.#settle();
  }

  #settle(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#soon);
    this.#timer = this.#soon = undefined;
    this.#saved?.resolve();
    this.#saved = undefined;
  }
}
