/** Events at once, and each second from then on. */
const BURST = 4000;
const RATE = 1000;
const SECOND = 1000;

/**
 * How many events a thread may tell of: a change of 100,000 members is no reason to be busy with their events for seconds. What is too much is
 * left out, and counted.
 */
export class EventBudget {
  #left = BURST;
  #filledAt = performance.now();
  #dropped = 0;

  /** @param onDropped told a moment later how many were left out since it was told last */
  constructor(private readonly onDropped: (count: number) => void) {}

  /** Whether one more may be told of. */
  admits(): boolean {
    const now = performance.now();
    this.#left = Math.min(BURST, this.#left + ((now - this.#filledAt) / SECOND) * RATE);
    this.#filledAt = now;
    if (this.#left >= 1) {
      this.#left--;
      return true;
    }
    if (this.#dropped === 0) setTimeout(() => this.#tell(), SECOND).unref();
    this.#dropped++;
    return false;
  }

  #tell(): void {
    this.onDropped(this.#dropped);
    this.#dropped = 0;
  }
}
