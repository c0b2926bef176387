/** The coarse clock of one thread: refreshed once per turn of work, read for free. */
export class Clock {
  /** Milliseconds since the epoch. */
  now = Date.now();
  #second = 0;
  #httpDate = '';

  /** Call at the entry of every I/O callback that starts work; timers do it on every tick. */
  refresh(): number {
    return (this.now = Date.now());
  }

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
