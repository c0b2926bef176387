import type { ReadBuffers } from './buffers.js';

/**
 * The memory that one socket reads into: the thread's shared buffer, whose bytes have to be used up at once, or pooled buffers of its own,
 * which may be kept until somebody else has sent them.
 */
export class ReadMemory {
  #own: Buffer | undefined = undefined;
  #wantsOwn = false;

  /** @param limit most bytes of the first read */
  constructor(
    private readonly buffers: ReadBuffers,
    private limitOfReads = Infinity,
  ) {}

  /** From now on reads get memory that may be kept, or the shared buffer again. */
  useOwn(wanted: boolean): void {
    this.#wantsOwn = wanted;
    if (!wanted) this.release();
  }

  /** Most bytes of the next read. */
  limit(bytes: number): void {
    this.limitOfReads = bytes;
  }

  /** For the next read. */
  next(): Buffer {
    const buffer = this.#wantsOwn ? (this.#own ??= this.buffers.take()) : this.buffers.shared;
    return this.limitOfReads < buffer.length ? buffer.subarray(0, Math.max(this.limitOfReads, 1)) : buffer;
  }

  /** The bytes of the last read lie in memory of this socket alone. */
  get isOwn(): boolean {
    return this.#own !== undefined;
  }

  /** The buffer of the last read is still needed; it comes back through `ReadBuffers.give`. Undefined: it was the shared one. */
  keep(): Buffer | undefined {
    const kept = this.#own;
    this.#own = undefined;
    return kept;
  }

  /** Nothing is read any more for now. */
  release(): void {
    if (this.#own !== undefined) this.buffers.give(this.#own);
    this.#own = undefined;
  }
}
