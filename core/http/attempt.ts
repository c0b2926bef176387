import type { Clock } from '../net/clock.js';

/** One attempt at a member, for `$upstream_*` and logs. Times in milliseconds, -1: it did not come to that. */
export class Attempt {
  status = 0;
  connectTime = -1;
  headerTime = -1;
  responseTime = -1;
  sent = 0;
  received = 0;
  /** Bytes of `received` that were heads. */
  headLength = 0;
  readonly #clock: Clock;
  readonly #startedAt: number;

  /**
   * @param address of the member; the group's name where there was none to ask
   * @param first the first one after an internal redirect, or of all
   */
  constructor(
    readonly address: string,
    readonly first: boolean,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#startedAt = clock.now;
  }

  get elapsed(): number {
    return this.#clock.now - this.#startedAt;
  }

  /** @param reused the connection was there already */
  connected(reused: boolean): void {
    this.connectTime = reused ? 0 : this.elapsed;
  }

  /** @param bodyBytes what came with the head and is not of it */
  answered(status: number, bodyBytes: number): void {
    this.status = status;
    this.headerTime = this.elapsed;
    this.headLength = this.received - bodyBytes;
  }

  failed(status: number): void {
    this.status = status;
    this.responseTime = this.elapsed;
  }

  completed(): void {
    this.responseTime = this.elapsed;
  }
}
