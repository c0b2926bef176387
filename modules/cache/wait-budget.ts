import { readFileSync } from 'node:fs';

/** Milliseconds: what takes longer was no look into memory. */
const NOTICEABLE = 2;
/** Milliseconds of waiting for each millisecond of time, at once, and as many as count at most. */
const SHARE = 0.1;
const AT_ONCE = 20;
const MOST = 1000;
/** Milliseconds between two looks at how long the thread has waited for a processor. */
const LOOK_EVERY = 50;

/**
 * How long a thread may itself wait for files of a folder: a tenth of the time. On a slow disk others wait for them. Waiting for a processor does not count:
 * on a busy machine each call may take that long, and a switch of threads more.
 */
export class WaitBudget {
  #spent = 0;
  /** When it was so, on the clock of performance.now(). */
  #at = 0;
  #waited = 0;
  #nextLook = -Infinity;

  /** @param waited milliseconds for which the thread has waited for a processor so far */
  constructor(
    private readonly clock: () => number = () => performance.now(),
    private readonly waited: () => number = waitedForProcessor,
  ) {}

  get isSpent(): boolean {
    if (this.#spent === 0) return false;
    const now = this.clock();
    this.#spent = Math.max(0, this.#spent - (now - this.#at) * SHARE);
    this.#at = now;
    return this.#spent > AT_ONCE;
  }

  /** Counts how long a call takes. */
  run<A extends readonly unknown[], T>(call: (...args: A) => T, ...args: A): T {
    let start = this.clock();
    if (start >= this.#nextLook) {
      this.#waited = this.waited();
      start = this.clock();
      this.#nextLook = start + LOOK_EVERY;
    }
    try {
      return call(...args);
    } finally {
      this.#took(start);
    }
  }

  #took(start: number): void {
    const now = this.clock();
    if (now - start <= NOTICEABLE) return;
    const waited = this.waited();
    const took = now - start - (waited - this.#waited);
    this.#waited = waited;
    if (took <= NOTICEABLE) return;
    this.#spent = Math.min(MOST, this.#spent + took);
    this.#at = now;
  }
}

/** The second number is in nanoseconds (proc(5)). 0 where the kernel does not count it. */
function waitedForProcessor(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[1]) / 1e6 || 0;
  } catch {
    return 0;
  }
}
