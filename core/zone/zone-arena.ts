/** Where zones are in memory that they share with others. */
export interface ZonePlace {
  readonly buffer: SharedArrayBuffer;
  readonly start: number;
  readonly size: number;
}

/** The system provides memory of this size when it is first touched; in smaller pieces it is cleared, which touches it. */
const CHUNK = 1024 * 1024;
/** Longer zones have memory of their own. */
const LONGEST = CHUNK / 8;
const PAGE = 4096;

/**
 * Memory for small zones, of which there may be thousands. None of it is used again: the memory of a chunk goes when no thread has a zone in it any
 * more.
 */
export class ZoneArena {
  #chunk: SharedArrayBuffer | undefined;
  #used = 0;

  /** Zeros; undefined: so much has memory of its own. */
  take(size: number): ZonePlace | undefined {
    if (size > LONGEST) return undefined;
    if (this.#chunk === undefined || this.#used + size > CHUNK) {
      this.#chunk = new SharedArrayBuffer(CHUNK);
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += Math.ceil(size / PAGE) * PAGE;
    return { buffer: this.#chunk, start, size };
  }
}
