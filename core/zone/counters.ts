/** Limit of the low word before a carry. One bit is left free for additions that meet a carry. */
const CARRY = 2 ** 31;
/** Where the low word begins again, if a carry is late. */
const WRAP = 2 ** 32;
/** Total that a carry adds to the high word, and the worth of a wrap of the low word there. */
const CARRIED = 2;
const WRAPPED = (WRAP / CARRY) * CARRIED;

/**
 * 64-bit counters in shared memory, two 32-bit words each, exact under contention and without a lock. The low word counts to 2^31; the one
 * thread whose addition crosses that line moves it to the high word. The high word grows by one before and after the move: odd means "the
 * move is under way", and half of it is the number of carries.
 *
 * A thread that gets no processor in the middle of a move lets the low word grow until it wraps: the thread that wraps it, upwards or
 * downwards, settles that in the high word. A value read in such a moment may be off by a carry; no addition is lost.
 */
export class Counters {
  /** Bytes of shared memory for one counter. */
  static readonly BYTES = 8;
  readonly #words: Uint32Array;

  /**
   * @param buffer shared memory, zero when new
   * @param offset of the first counter in bytes, a multiple of 4
   */
  constructor(
    buffer: ArrayBufferLike,
    offset: number,
    readonly length: number,
  ) {
    this.#words = new Uint32Array(buffer, offset, length * 2);
  }

  /** Adds `amount`, a whole number from 0 to 2^53. */
  add(counter: number, amount: number): void {
    const words = this.#words;
    const low = counter * 2;
    if (amount >= CARRY / 2) {
      this.#addLarge(counter, amount);
      return;
    }
    const before = Atomics.add(words, low, amount);
    const after = before + amount;
    if (after < CARRY) return;
    if (before < CARRY) {
      Atomics.add(words, low + 1, CARRIED / 2);
      if (Atomics.sub(words, low, CARRY) < CARRY) Atomics.sub(words, low + 1, WRAPPED);
      Atomics.add(words, low + 1, CARRIED / 2);
    } else if (after >= WRAP) Atomics.add(words, low + 1, WRAPPED);
  }

  /** The value at one moment; exact up to 2^53. */
  read(counter: number): number {
    const words = this.#words;
    const low = counter * 2;
    for (;;) {
      const high = Atomics.load(words, low + 1);
      const rest = Atomics.load(words, low);
      if (Atomics.load(words, low + 1) !== high) continue;
      // During a move the low word shows on which side of it we are.
      const carries = rest < CARRY ? (high + 1) >>> 1 : high >>> 1;
      return carries * CARRY + rest;
    }
  }

  /** Sets it to zero; additions of that moment may or may not be lost. */
  reset(counter: number): void {
    Atomics.store(this.#words, counter * 2, 0);
    Atomics.store(this.#words, counter * 2 + 1, 0);
  }

  #addLarge(counter: number, amount: number): void {
    const carries = Math.floor(amount / CARRY);
    if (carries > 0) Atomics.add(this.#words, counter * 2 + 1, carries * CARRIED);
    let rest = amount % CARRY;
    for (; rest >= CARRY / 2; rest -= CARRY / 4) this.add(counter, CARRY / 4);
    this.add(counter, rest);
  }
}
