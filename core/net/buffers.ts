/** Size of one read from an upstream: what the kernel hands over at once on loopback and fast networks. */
const SIZE = 65_536;
/** Size of one read from a file: a quarter of the system calls, and it still stays in the processor's cache until it is sent. */
const LARGE_SIZE = 262_144;
/** Free buffers kept; beyond that they are left to the garbage collector. */
const KEPT = 128;
const KEPT_LARGE = 16;

/**
 * Memory for reads from upstreams and files. All idle connections read into one shared buffer, whose bytes are used up inside the callback.
 * A connection with a large body gets buffers of its own, which go to the client's socket as they are and come back when they are sent.
 */
export class ReadBuffers {
  readonly shared: Buffer = Buffer.allocUnsafeSlow(SIZE);
  readonly #free: Buffer[] = [];
  readonly #freeLarge: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SIZE);
  }

  takeLarge(): Buffer {
    return this.#freeLarge.pop() ?? Buffer.allocUnsafeSlow(LARGE_SIZE);
  }

  /** @param buffer a whole one, of either size */
  give(buffer: Buffer): void {
    if (buffer.length === LARGE_SIZE) {
      if (this.#freeLarge.length < KEPT_LARGE) this.#freeLarge.push(buffer);
    } else if (this.#free.length < KEPT) this.#free.push(buffer);
  }
}
