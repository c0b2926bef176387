import { MalformedBody } from '../../contract/http.js';
import type { BodyStore } from './body-store.js';
import type { Lender } from './lender.js';
import type { StoreReader, StoreSink } from './store-reader.js';

/** Bytes that are read of the file at once. */
const FILE_PIECE = 65_536;

type Step = IteratorResult<Buffer, undefined>;

/** A reading of a stored body for a module: in pieces, as fast as they are consumed. */
export class StoredPieces implements AsyncIterableIterator<Buffer, undefined>, StoreSink {
  readonly #reader: StoreReader;
  #piece: Buffer | undefined = undefined;
  #closed = false;
  /** Continues the `next` that waits. */
  #wake: (() => void) | undefined = undefined;

  constructor(private readonly store: BodyStore) {
    this.#reader = store.open(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    while (!this.#closed) {
      if (this.#piece === undefined) this.#reader.pull(FILE_PIECE);
      const value = this.#piece;
      this.#piece = undefined;
      if (value !== undefined) return { value, done: false };
      if (this.#reader.isDone) this.#finish();
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return { value: undefined, done: true };
  }

  /** The module wants no more of it. */
  async return(): Promise<Step> {
    this.#close();
    return { value: undefined, done: true };
  }

  onPiece(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const piece = chunk.subarray(from, to);
    this.#piece = lender === undefined ? piece : Buffer.from(piece);
  }

  onMore(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #finish(): void {
    this.#close();
    if (this.store.truncated) throw new MalformedBody('the body is not complete');
  }

  #close(): void {
    this.#closed = true;
    this.#reader.close();
    this.onMore();
  }
}
