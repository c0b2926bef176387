import type { ReadBuffers } from './buffers.js';

/** Bytes that the system passes on in one step: at most, to begin with, and to a target that does not keep up, for which memory holds the rest. */
const MOST = 524_288;
const FIRST = 131_072;
const LEAST = 65_536;
/** Whole steps in a row after which a target is trusted with larger ones: memory for the rest of a step costs more than many steps save. */
const WHOLE_STEPS = 4;

/**
 * Size of the next step of what a connection passes on without reading it (`Connection.passTo`), larger as long as the target keeps up; and the account
 * of what the target has not accepted.
 */
export class PassedSize {
  bytes = FIRST;
  #wholeSteps = 0;
  /** Bytes that wait in memory of no pool. */
  #waiting = 0;

  constructor(private readonly buffers: Pick<ReadBuffers, 'count'>) {}

  /** @param isWhole the target has accepted all of the step */
  adapt(count: number, isWhole: boolean): void {
    if (!isWhole) {
      this.bytes = Math.max(this.bytes / 2, LEAST);
      this.#wholeSteps = 0;
    } else if (count === this.bytes && ++this.#wholeSteps === WHOLE_STEPS) {
      this.bytes = Math.min(this.bytes * 2, MOST);
      this.#wholeSteps = 0;
    }
  }

  /** As many bytes wait for the target now. */
  countWaiting(bytes: number): void {
    this.buffers.count(bytes - this.#waiting);
    this.#waiting = bytes;
  }
}
