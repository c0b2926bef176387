import type { PairListener, PairWatch } from '../contract/key-value.js';

interface Watched {
  readonly prefix: string;
  readonly changed: PairListener;
}

/** Watchers of key-value pairs in this thread. */
export class PairWatches {
  readonly #all = new Set<Watched>();

  watch(prefix: string, changed: PairListener): PairWatch {
    const watched = { prefix, changed };
    this.#all.add(watched);
    return { end: () => void this.#all.delete(watched) };
  }

  /** @param value undefined: there is no such pair any more */
  tell(key: string, value: string | undefined): void {
    for (const { prefix, changed } of this.#all) if (key.startsWith(prefix)) changed(key, value);
  }
}
