/** Size of one read from an upstream: what the kernel hands over at once on loopback and fast networks. */
const SIZE = 65_536;
/** Size of one read from a file: a quarter of the system calls, and it still stays in the processor's cache until it is sent. */
const LARGE_SIZE = 262_144;
/** Size while memory is scarce. */
const SMALL_SIZE = 16_384;
/** Free buffers kept; beyond that they are left to the garbage collector. */
const KEPT = 128;
const KEPT_LARGE = 16;
/** Bytes of bodies that a thread holds for clients and members before it becomes sparing with memory. */
const PLENTY = 50_331_648;

/**
 * Memory for reads from upstreams and files. All idle connections read into one shared buffer, whose bytes are used up inside the callback.
 * A connection with a large body gets buffers of its own, which go to the client's socket as they are and come back when they are sent.
 *
 * Lent buffers are counted, with other memory of bodies: beyond a limit memory is scarce, and every connection uses little.
 */
export class ReadBuffers {
  readonly shared: Buffer = Buffer.allocUnsafeSlow(SIZE);
  #short: Buffer = this.shared;
  readonly #free: Buffer[] = [];
  readonly #freeLarge: Buffer[] = [];
  #held = 0;

  /** Nothing more is read ahead of slow readers, and reads are short. */
  get isScarce(): boolean {
    return this.#held > PLENTY;
  }

  /** The first bytes of a buffer. Nearly all reads of members are of one size, into the shared buffer. */
  shortened(buffer: Buffer, length: number): Buffer {
    if (buffer !== this.shared) return buffer.subarray(0, length);
    if (this.#short.length !== length) this.#short = buffer.subarray(0, length);
    return this.#short;
  }

  take(): Buffer {
    const buffer = this.isScarce ? Buffer.allocUnsafeSlow(SMALL_SIZE) : (this.#free.pop() ?? Buffer.allocUnsafeSlow(SIZE));
    this.#held += buffer.length;
    return buffer;
  }

  takeLarge(): Buffer {
    if (this.isScarce) return this.take();
    this.#held += LARGE_SIZE;
    return this.#freeLarge.pop() ?? Buffer.allocUnsafeSlow(LARGE_SIZE);
  }

  /** @param buffer a whole one, of any size */
  give(buffer: Buffer): void {
    this.lose(buffer);
    if (buffer.length === LARGE_SIZE) {
      if (this.#freeLarge.length < KEPT_LARGE) this.#freeLarge.push(buffer);
    } else if (buffer.length === SIZE && this.#free.length < KEPT) this.#free.push(buffer);
  }

  /** The buffer is left to the garbage collector: a read or a write of the system may not be over. */
  lose(buffer: Buffer): void {
    this.#held -= buffer.length;
  }

  /** Counts bytes that wait in memory of another kind. @param bytes below 0: they wait no more */
  count(bytes: number): void {
    this.#held += bytes;
  }
}
