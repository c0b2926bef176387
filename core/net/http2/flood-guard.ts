import { ErrorCode, Http2Error } from './protocol.js';

/** What a client may do without anything coming of it. */
const ALLOWANCE = 1000;
/** Given back with every second. */
const PER_SECOND = 20;

/**
 * Bounds what one connection may cost without getting or sending anything: resets, pings, settings, empty frames (CVE-2019-9512 to 9518,
 * CVE-2023-44487). Useful traffic and time give the allowance back.
 */
export class FloodGuard {
  #left = ALLOWANCE;
  #since: number;

  /** @param now epoch milliseconds */
  constructor(now: number) {
    this.#since = now;
  }

  /** @throws Http2Error ENHANCE_YOUR_CALM when the allowance is used up */
  spend(cost: number, now: number): void {
    this.#left -= cost;
    if (this.#left >= 0) return;
    this.earn(Math.floor(((now - this.#since) / 1000) * PER_SECOND));
    this.#since = now;
    if (this.#left < 0) throw new Http2Error(ErrorCode.EnhanceYourCalm, 'http2 flood detected');
  }

  earn(amount: number): void {
    this.#left = Math.min(ALLOWANCE, this.#left + amount);
  }
}
