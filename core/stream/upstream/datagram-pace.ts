import type { Timed, TimerWheel } from '../../net/timers.js';

/** Limit of datagrams that wait in one direction of a session; more are dropped. */
const MOST_BYTES = 131_072;
const MOST_DATAGRAMS = 256;

/** The clock and timers of the thread. */
interface PaceContext {
  readonly clock: { readonly now: number };
  readonly timers: TimerWheel;
}

/** Delays datagrams so that no more than so many bytes a second pass (proxy_upload_rate, proxy_download_rate). */
export class DatagramPace implements Timed {
  deadline = 0;
  slot = -1;
  readonly #waiting: Buffer[] = [];
  #bytes = 0;
  /** Epoch milliseconds at which all that has passed is within the rate. */
  #freeAt = 0;

  constructor(
    private readonly context: PaceContext,
    /** Bytes a second. */
    private readonly rate: number,
    private readonly pass: (bytes: Buffer) => void,
  ) {}

  /** @param bytes are copied if they have to wait */
  push(bytes: Buffer): void {
    if (this.#waiting.length === 0 && this.#freeAt <= this.context.clock.now) this.#pass(bytes);
    else if (this.#waiting.length < MOST_DATAGRAMS && this.#bytes + bytes.length <= MOST_BYTES) {
      this.#waiting.push(Buffer.from(bytes));
      this.#bytes += bytes.length;
    }
  }

  stop(): void {
    this.context.timers.forget(this);
    this.#waiting.length = 0;
  }

  onDeadline(): void {
    while (this.#freeAt <= this.context.clock.now) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#bytes -= next.length;
      this.#pass(next);
    }
    this.#wait();
  }

  #pass(bytes: Buffer): void {
    this.#freeAt = this.context.clock.now + (bytes.length * 1000) / this.rate;
    this.pass(bytes);
    if (this.slot < 0) this.#wait();
  }

  #wait(): void {
    this.context.timers.arm(this, Math.max(this.#freeAt - this.context.clock.now, 0));
  }
}
