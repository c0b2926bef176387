import type { ReadBuffers } from '../../net/buffers.js';
import type { BodyStore } from './body-store.js';
import type { Lender } from './lender.js';

/** Whom a reader reads for. */
export interface StoreSink {
  /** The bytes that were pulled. @param lender undefined: they are the sink's; else see {@link Lender} */
  onPiece(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void;
  /** It may pull again: after a piece of the file, and when what a pull found missing may be there, bytes or the end. */
  onMore(): void;
}

/** One reading of a {@link BodyStore}, from its beginning: as fast as the sink pulls, whatever others do. */
export class StoreReader implements Lender {
  /** Bytes that were passed on, or are being read. */
  position: number;
  /** A read of the file is under way. */
  #isReading = false;
  /** There was nothing. */
  #isWaiting = false;
  #closed = false;
  /** Memory that the file is read into. */
  #buffer: Buffer | undefined = undefined;

  constructor(
    private readonly store: BodyStore,
    private readonly buffers: ReadBuffers,
    private readonly sink: StoreSink,
    position: number,
  ) {
    this.position = position;
  }

  /** Everything that there will ever be was passed on. */
  get isDone(): boolean {
    const { store } = this;
    return store.lost || (store.ended && !this.#isReading && this.position === store.length);
  }

  /** A pull has not passed its bytes on yet. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /**
   * Passes the next bytes on: those of the memory at once, those of the file when they are read.
   * @param most bytes of the file
   * @returns true: they were passed on. False: {@link StoreSink.onMore} follows unless {@link isDone}
   */
  pull(most: number): boolean {
    if (this.#closed || this.#isReading) return false;
    const piece = this.store.lost ? undefined : this.store.pieceAt(this.position);
    const length = piece === undefined ? 0 : this.store.readable(piece, this.position);
    if (piece === undefined || length <= 0) {
      this.#isWaiting = true;
      return false;
    }
    this.#isWaiting = false;
    const at = this.position - piece.start;
    if (piece.bytes === undefined) {
      this.#readFile(piece.fileAt + at, Math.min(length, most));
      return false;
    }
    const { bytes } = piece;
    this.position += length;
    this.sink.onPiece(bytes, at, at + length, undefined);
    if (!this.#closed) this.store.free();
    return true;
  }

  /** From the store: there is more, or there is an end. */
  wake(): void {
    // A read of a file that is lost does not come back.
    const isLost = this.#isReading && this.store.lost;
    if (!this.#isWaiting && !isLost) return;
    if (isLost) this.#giveReadUp();
    this.#isWaiting = false;
    this.sink.onMore();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#buffer !== undefined && this.#isReading) this.buffers.lose(this.#buffer);
    else this.#releaseBuffer();
    this.#buffer = undefined;
    this.store.leave(this);
  }

  // As a lender of what it reads from the file.

  get hasOwnBuffer(): boolean {
    return this.#buffer !== undefined;
  }

  keepBuffer(): Buffer | undefined {
    const kept = this.#buffer;
    this.#buffer = undefined;
    return kept;
  }

  #readFile(start: number, length: number): void {
    const buffer = (this.#buffer ??= this.buffers.take());
    this.#isReading = true;
    this.store.readFile(start, buffer.subarray(0, length), (bytes) => {
      if (this.#closed || !this.#isReading) return;
      this.#isReading = false;
      this.position += bytes;
      this.sink.onPiece(buffer, 0, bytes, this);
      this.#releaseBuffer();
      if (this.#closed) return;
      this.store.free();
      this.sink.onMore();
    });
  }

  #giveReadUp(): void {
    if (this.#buffer !== undefined) this.buffers.lose(this.#buffer);
    this.#buffer = undefined;
    this.#isReading = false;
  }

  #releaseBuffer(): void {
    if (this.#buffer !== undefined) this.buffers.give(this.#buffer);
    this.#buffer = undefined;
  }
}
