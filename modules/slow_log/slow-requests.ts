import type { SlowEntry } from './slow-entry.js';

/** Requests that are kept, and requests that one worker sends in a second at most. */
const KEPT = 500;
const MOST = 20;
const SECOND = 1000;

/** A request as the API shows it. */
export interface SlowRequest extends SlowEntry {
  readonly worker: number;
}

export interface SlowPage {
  /** The newest first. */
  readonly requests: readonly SlowRequest[];
  /** Slow requests since the start of the server, and those of them that were too many at once to be kept. */
  readonly total: number;
  readonly lost: number;
}

/** Message of a worker to the main thread. */
export interface SlowMessage {
  readonly entry: SlowEntry;
  /** Entries that were left out before it. */
  readonly lost: number;
}

/** The last slow requests of all workers, in the main thread. */
export class SlowRequests {
  #requests: SlowRequest[] = [];
  #total = 0;
  #lost = 0;

  add({ entry, lost }: SlowMessage, worker: number): void {
    this.#total += 1 + lost;
    this.#lost += lost;
    this.#requests.push({ ...entry, worker });
    if (this.#requests.length >= 2 * KEPT) this.#requests = this.#requests.slice(-KEPT);
  }

  page(limit: number): SlowPage {
    return { requests: this.#requests.slice(-Math.min(limit, KEPT)).reverse(), total: this.#total, lost: this.#lost };
  }
}

/** Sends the slow requests of one worker, a limited number a second. */
export class SlowSender {
  #since = 0;
  #sent = 0;
  #lost = 0;

  constructor(private readonly send: (message: SlowMessage) => void) {}

  /** @param now epoch milliseconds */
  offer(make: () => SlowEntry, now: number): void {
    if (now - this.#since >= SECOND || now < this.#since) {
      this.#since = now;
      this.#sent = 0;
    }
    if (++this.#sent > MOST) {
      this.#lost++;
      return;
    }
    this.send({ entry: make(), lost: this.#lost });
    this.#lost = 0;
  }
}
