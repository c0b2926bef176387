/** Events at once, and each second from then on. */
const BURST = 4000;
const RATE = 1000;
/** Milliseconds. */
const SECOND = 1000;

/**
 * Limit of events of a thread: a change of 100,000 members must not keep it busy with their events for seconds. Further ones are left out,
 * and counted.
 */
export class EventBudget {
  #left = BURST;
  /** Seconds: to load `performance` takes milliseconds of each thread that starts. */
  #filledAt = process.uptime();
  #dropped = 0;

  /** @param onDropped called a moment later with the number left out since its last call */
  constructor(private readonly onDropped: (count: number) => void) {}

  /** True if one more may be published. */
  admits(): boolean {
    const now = process.uptime();
    this.#left = Math.min(BURST, this.#left + (now - this.#filledAt) * RATE);
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
