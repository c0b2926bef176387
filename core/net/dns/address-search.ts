import type { Found, RecordSearch } from './record-search.js';

/** Searches for IPv4 and IPv6 addresses of a name at the same time. Once there are some of one family, waits only a moment for the other. */
export class AddressSearch {
  readonly #searches: readonly RecordSearch[];
  readonly #found: (Found | undefined)[];
  #left: number;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param begins make the searches
   * @param patience milliseconds
   * @param onEnd is called once, with undefined for a search that was too slow
   */
  constructor(
    begins: readonly ((onEnd: (found: Found) => void) => RecordSearch)[],
    private readonly patience: number,
    private readonly onEnd: (found: readonly (Found | undefined)[]) => void,
  ) {
    this.#left = begins.length;
    this.#found = begins.map(() => undefined);
    this.#searches = begins.map((begin, at) => begin((found) => this.#onFound(at, found)));
  }

  #onFound(at: number, found: Found): void {
    this.#found[at] = found;
    this.#left--;
    if (this.#left === 0) this.#end();
    else if (found.records.length > 0) this.#timer ??= setTimeout(() => this.#end(), this.patience);
  }

  #end(): void {
    clearTimeout(this.#timer);
    for (const search of this.#searches) search.close();
    this.onEnd(this.#found);
  }
}
