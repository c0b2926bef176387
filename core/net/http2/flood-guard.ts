import { Http2ErrorCode, Http2Error } from './protocol.js';

/** Allowance for useless frames of a client. */
const ALLOWANCE = 1000;
/** Restored with every second. */
const PER_SECOND = 20;
/** Bytes of a request or a response that give one back: pieces of the size that the client chooses. */
const BYTES_EACH = 1024;

/** A frame without use: PING, SETTINGS, WINDOW_UPDATE, PRIORITY, CONTINUATION, empty DATA. */
export const FRAME_COST = 1;
/** A stream that was opened and reset, by the client or because of what it sent: it has cost a backend something. */
export const RESET_COST = 5;
/** A piece of a response that is as long as the server likes; the client responds to it with window updates. */
export const PIECE_EARNS = 4;
/** A response that was sent to its end. */
export const RESPONSE_EARNS = 10;

/**
 * Bounds what one connection may cost without getting or sending anything: resets by either side, pings, settings, empty frames, windows
 * opened byte by byte (CVE-2019-9511 to 9518, CVE-2023-44487, CVE-2024-27316, CVE-2025-8671). Useful traffic and time give the allowance back.
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
    if (this.#left < 0) throw new Http2Error(Http2ErrorCode.EnhanceYourCalm, 'http2 flood detected');
  }

  earn(amount: number): void {
    this.#left = Math.min(ALLOWANCE, this.#left + amount);
  }

  earnBytes(length: number): void {
    this.earn(Math.floor(length / BYTES_EACH));
  }
}
