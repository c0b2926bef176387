/** Size of one read from an upstream: what the kernel hands over at once on loopback and fast networks. */
const SIZE = 65_536;
/** Free buffers kept; beyond that they are left to the garbage collector. */
const KEPT = 32;

/**
 * Memory for reads from upstreams. All idle connections read into one shared buffer, whose bytes are used up inside the callback.
 * A connection with a large body gets buffers of its own, which go to the client's socket as they are and come back when they are sent.
 */
export class ReadBuffers {
  readonly shared: Buffer = Buffer.allocUnsafeSlow(SIZE);
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(SIZE);
  }

  give(buffer: Buffer): void {
    if (this.#free.length < KEPT) this.#free.push(buffer);
  }
}
