import type { SystemCalls } from './calls.js';

const HALF = 4_294_967_296;

/** Memory of calls of a ring, kept permanently. All its addresses have the same upper half, so that the lower one of each is a sum of small numbers. */
export class RingMemory {
  readonly bytes: Buffer;
  /** Halves of its address, as numbers of 32 bits with a sign. */
  readonly low: number;
  readonly high: number;

  /** @param size bytes, far below 4 GiB */
  constructor(calls: SystemCalls, size: number) {
    const memory = Buffer.allocUnsafeSlow(2 * size);
    const at = Number(calls.pointer(memory));
    const left = HALF - (at % HALF);
    // It begins at the border of two halves if it would be on both sides: untouched memory costs nothing.
    const from = left < size ? left : 0;
    this.bytes = memory.subarray(from, from + size);
    this.low = ((at + from) % HALF) | 0;
    this.high = Math.floor((at + from) / HALF);
  }
}
