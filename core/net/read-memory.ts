import type { ReadBuffers } from './buffers.js';

/** Bytes of a read while memory is scarce: they are copied. */
const SHORT_READ = 16_384;

/**
 * The memory that one socket reads into: the thread's shared buffer, whose bytes have to be used up at once, or pooled buffers of its own,
 * which may be kept until another socket has sent them.
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
    // A connection that waits holds its buffer: where memory is scarce there are too many of them.
    if (this.#wantsOwn && this.#own === undefined && !this.buffers.isScarce) this.#own = this.buffers.take();
    const buffer = this.#own ?? this.buffers.shared;
    const most = this.#wantsOwn && this.#own === undefined ? Math.min(this.limitOfReads, SHORT_READ) : this.limitOfReads;
    return most < buffer.length ? this.buffers.shortened(buffer, Math.max(most, 1)) : buffer;
  }

  /** The next read may be into any other memory whose bytes have to be used up at once, and of any length. */
  get isLent(): boolean {
    return !this.#wantsOwn && this.#own === undefined && this.limitOfReads === Infinity;
  }

  /** The bytes of the last read are in memory of this socket alone. */
  get isOwn(): boolean {
    return this.#own !== undefined;
  }

  /** The buffer of the last read is still needed; it comes back through `ReadBuffers.give`. Undefined: it was the shared one. */
  keep(): Buffer | undefined {
    const kept = this.#own;
    this.#own = undefined;
    return kept;
  }

  /** The socket is gone. */
  abandon(): void {
    if (this.#own !== undefined) this.buffers.lose(this.#own);
    this.#own = undefined;
    this.#wantsOwn = false;
  }

  /** Nothing is read any more for now. */
  release(): void {
    if (this.#own !== undefined) this.buffers.give(this.#own);
    this.#own = undefined;
  }
}
