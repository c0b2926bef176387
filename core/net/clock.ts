/** Gives the time in one thread. */
export abstract class Clock {
  /** Milliseconds since the epoch. */
  abstract readonly now: number;
  #second = 0;
  #httpDate = '';

  /** Call at the entry of every I/O callback that starts work; timers do it on every tick. */
  abstract refresh(): number;

  /** Reads the time, which {@link refresh} then leaves as it is until {@link release}: for work of which one piece follows another at once. */
  hold(): void {}
  release(): void {}

  /** The Date header's value (RFC 9110, 5.6.7), made once a second. */
  httpDate(): string {
    const second = Math.floor(this.now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#httpDate = new Date(second * 1000).toUTCString();
    }
    return this.#httpDate;
  }
}

/**
 * The clock of a thread that serves traffic: refreshed once per turn of work, read for free. Whatever begins work has to refresh it, which sockets
 * and timers of the core do.
 */
export class CoarseClock extends Clock {
  now = Date.now();
  #isHeld = false;

  refresh(): number {
    return this.#isHeld ? this.now : (this.now = Date.now());
  }

  override hold(): void {
    this.#isHeld = true;
    this.now = Date.now();
  }

  override release(): void {
    this.#isHeld = false;
  }
}

/** The clock of every other thread, where work begins in many places (checks, discovery, calls): it asks the system each time it is read. */
export class ExactClock extends Clock {
  get now(): number {
    return Date.now();
  }

  refresh(): number {
    return Date.now();
  }
}
