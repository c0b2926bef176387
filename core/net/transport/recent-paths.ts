import type { Clock } from '../clock.js';

/** Milliseconds for which a path is remembered, and up to twice as long. */
const REMEMBERED = 500;
/** Paths that are remembered at most, twice. */
const MOST = 2048;

/** Paths that the system had in memory a moment ago, and so has now. */
export class RecentPaths {
  #recent = new Set<string>();
  #before = new Set<string>();
  #turnedAt = 0;

  constructor(private readonly clock: Pick<Clock, 'now'>) {}

  add(path: string): void {
    if (this.#recent.size >= MOST) this.#turn();
    this.#recent.add(path);
  }

  has(path: string): boolean {
    const age = this.clock.now - this.#turnedAt;
    if (age > REMEMBERED) this.#turn();
    // The clock may have been set back.
    if (age > 2 * REMEMBERED || age < 0) this.#forget();
    return this.#recent.has(path) || this.#before.has(path);
  }

  #forget(): void {
    this.#turn();
    this.#before.clear();
  }

  #turn(): void {
    this.#turnedAt = this.clock.now;
    [this.#before, this.#recent] = [this.#recent, this.#before];
    this.#recent.clear();
  }
}
