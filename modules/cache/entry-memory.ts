import type { StoredHead } from './entry-file.js';

/** A response that is in memory as a whole: the bytes of its file, in which the body begins at `start`. */
export interface EntryCopy {
  readonly stored: StoredHead;
  readonly bytes: Buffer;
  readonly start: number;
}

interface Kept extends EntryCopy {
  /** The number of the last change of the file: of another one it is a copy no more. */
  readonly stamp: number;
  uses: number;
}

/** Requests after which a response is kept. */
const FEWEST_USES = 2;

/**
 * Small responses that are requested often, in the memory of one worker (`memory` of proxy_cache_path). A response takes the place of another one if it
 * was requested more often; one that stays loses half of its count, so that former favourites make room.
 */
export class EntryMemory {
  /** In the order of their last comparison. */
  readonly #entries = new Map<string, Kept>();
  #bytes = 0;

  /** @param limit bytes */
  constructor(private readonly limit: number) {}

  get(name: string, stamp: number): EntryCopy | undefined {
    const kept = this.#entries.get(name);
    if (kept === undefined) return undefined;
    if (kept.stamp !== stamp) {
      this.#remove(name, kept);
      return undefined;
    }
    kept.uses++;
    return kept;
  }

  /** @param uses requests for it so far, in all workers */
  offer(name: string, stamp: number, uses: number, { stored, bytes, start }: EntryCopy): void {
    if (uses < FEWEST_USES || bytes.length > this.limit) return;
    const former = this.#entries.get(name);
    if (former !== undefined) this.#remove(name, former);
    while (this.#bytes + bytes.length > this.limit) if (!this.#evict(uses)) return;
    // The copy has the size that it needs, and not that of the read.
    this.#entries.set(name, { stored, bytes: Buffer.from(bytes), start, stamp, uses });
    this.#bytes += bytes.length;
  }

  /** @returns false if the next one was requested as often: it stays */
  #evict(uses: number): boolean {
    for (const [name, kept] of this.#entries) {
      this.#remove(name, kept);
      if (kept.uses < uses) return true;
      kept.uses = Math.floor(kept.uses / 2);
      this.#entries.set(name, kept);
      this.#bytes += kept.bytes.length;
      return false;
    }
    return false;
  }

  #remove(name: string, { bytes }: Kept): void {
    this.#entries.delete(name);
    this.#bytes -= bytes.length;
  }
}
