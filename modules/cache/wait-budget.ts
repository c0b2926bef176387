/** Milliseconds: what takes longer was no look into memory. */
const NOTICEABLE = 2;
/** Milliseconds of waiting for each millisecond of time, at once, and as many as count at most. */
const SHARE = 0.1;
const AT_ONCE = 20;
const MOST = 1000;

/** How long a thread may itself wait for files of a folder: a tenth of the time. On a slow disk others wait for them. */
export class WaitBudget {
  #spent = 0;
  /** When it was so, on the clock of performance.now(). */
  #at = 0;

  constructor(private readonly clock: () => number = () => performance.now()) {}

  get isSpent(): boolean {
    if (this.#spent === 0) return false;
    const now = this.clock();
    this.#spent = Math.max(0, this.#spent - (now - this.#at) * SHARE);
    this.#at = now;
    return this.#spent > AT_ONCE;
  }

  /** Counts how long a call takes. */
  run<A extends readonly unknown[], T>(call: (...args: A) => T, ...args: A): T {
    const start = this.clock();
    try {
      return call(...args);
    } finally {
      this.#took(start);
    }
  }

  #took(start: number): void {
    const now = this.clock();
    if (now - start <= NOTICEABLE) return;
    this.#spent = Math.min(MOST, this.#spent + now - start);
    this.#at = now;
  }
}
