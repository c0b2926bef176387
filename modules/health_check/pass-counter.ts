import type { HealthState } from '../../core/contract/health.js';

/** Counts the checks of a member in a row: what they make of it. */
export class PassCounter {
  #passes = 0;
  #fails = 0;

  constructor(public state: HealthState) {}

  /**
   * Counts one check.
   * @param passes that a member needs to be up, @param fails that make it unhealthy
   * @returns whether the state is another one now
   */
  count(isPassed: boolean, passes: number, fails: number): boolean {
    const before = this.state;
    this.#passes = isPassed ? this.#passes + 1 : 0;
    this.#fails = isPassed ? 0 : this.#fails + 1;
    if (this.#passes >= passes) this.state = 'up';
    else if (this.#fails >= fails) this.state = 'unhealthy';
    return this.state !== before;
  }
}
