/**
 * Lets workers stop the modules that a change has removed: one after the other. A module whose `stop` hangs or ends the thread costs
 * the worker whose turn it is; the others leave theirs as they are.
 */
export class StopTurns<W> {
  #current: W | undefined;
  readonly #waiting = new Set<W>();

  /**
   * @param grant it is the turn of a worker
   * @param skip the worker is not to stop them at all
   */
  constructor(
    private readonly grant: (worker: W) => void,
    private readonly skip: (worker: W) => void,
  ) {}

  /** A worker has modules to stop. */
  ask(worker: W): void {
    this.#waiting.add(worker);
    this.#next();
  }

  /** It has stopped them. */
  done(worker: W): void {
    if (this.#current !== worker) return;
    this.#current = undefined;
    this.#next();
  }

  /** It has ended. @param isLost and unexpectedly @returns how many others were notified not to stop theirs */
  gone(worker: W, isLost: boolean): number {
    this.#waiting.delete(worker);
    if (this.#current !== worker) return 0;
    this.#current = undefined;
    const skipped = isLost ? [...this.#waiting] : [];
    for (const other of skipped) {
      this.#waiting.delete(other);
      this.skip(other);
    }
    this.#next();
    return skipped.length;
  }

  #next(): void {
    const [next] = this.#waiting;
    if (this.#current !== undefined || next === undefined) return;
    this.#waiting.delete(next);
    this.#current = next;
    this.grant(next);
  }
}
