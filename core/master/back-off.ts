const FIRST_MS = 100;
const LONGEST_MS = 10_000;
/** A process that lived as long, in milliseconds, did not die of its start. */
const STEADY_MS = 10_000;

/** How long to wait before something that died is started again: not at all, then twice as long each time. */
export class BackOff {
  readonly #delays = new Map<number, number>();

  /**
   * @param key what died
   * @param lived milliseconds since its start
   * @returns milliseconds to wait
   */
  next(key: number, lived: number): number {
    const delay = lived >= STEADY_MS ? 0 : (this.#delays.get(key) ?? 0);
    this.#delays.set(key, Math.min(Math.max(delay * 2, FIRST_MS), LONGEST_MS));
    return delay;
  }

  /** Its start was right: it died of something else. */
  reset(key: number): void {
    this.#delays.delete(key);
  }
}
