import { ByteQueue } from '../../net/byte-queue.js';
import { BodyTooLarge } from './body-too-large.js';
import type { Lender } from './lender.js';
import type { BodyReader, BodyRequest } from './request-body.js';
import type { BodyStore } from './body-store.js';
import type { StoreReader, StoreSink } from './store-reader.js';

/** Bytes that wait for the handler before the client has to stop sending. */
const HIGH_WATER = 65_536;
const FILE_PIECE = 65_536;

type Step = IteratorResult<Buffer, undefined>;

/** The body of a request in pieces, see {@link HttpRequest.streamBody}. The client sends as fast as they are consumed. */
export class BodyStream implements AsyncIterableIterator<Buffer, undefined>, BodyReader, StoreSink {
  readonly #waiting = new ByteQueue();
  #bytes = 0;
  #begun = false;
  #ended = false;
  #failure: Error | undefined = undefined;
  /** Of a body that was stored before. */
  #store: BodyStore | undefined = undefined;
  #reader: StoreReader | undefined = undefined;
  /** Continues the `next` that waits. */
  #wake: (() => void) | undefined = undefined;

  constructor(
    private readonly request: BodyRequest,
    private readonly limit: number,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Step> {
    this.#begin();
    for (;;) {
      const piece = this.#waiting.shift();
      if (piece !== undefined) {
        this.#consumed(piece);
        return { value: piece, done: false };
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return { value: undefined, done: true };
      if (this.#pull()) continue;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** The handler wants no more of it: the rest is discarded. */
  async return(): Promise<Step> {
    this.#begun = true;
    this.#finish();
    this.#waiting.clear();
    return { value: undefined, done: true };
  }

  onBody(chunk: Buffer, borrowed: boolean): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.limit) {
      this.onBodyFailed(413);
      return;
    }
    this.#waiting.push(chunk, borrowed);
    if (this.#waiting.length >= HIGH_WATER) this.request.pauseBody();
    this.#continue();
  }

  onBodyEnd(): void {
    this.#finish();
  }

  onPiece(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.#waiting.push(chunk.subarray(from, to), lender !== undefined);
  }

  onMore(): void {
    if (this.#store?.lost === true) this.onBodyFailed(500);
    else this.#continue();
  }

  onBodyFailed(status: number): void {
    if (this.#ended || this.#failure !== undefined) return;
    if (status === 413) this.request.keepAlive = false;
    this.#failure = status === 413 ? new BodyTooLarge(this.limit) : new Error('request body not complete');
    this.#finish();
  }

  #begin(): void {
    const { body } = this.request;
    if (this.#begun) return;
    this.#begun = true;
    if (body === undefined) {
      this.#ended = true;
      return;
    }
    if (this.request.contentLength > this.limit) {
      this.onBodyFailed(413);
      return;
    }
    if (body.stored?.isWhole === true) {
      this.#readStored(body.stored.store);
      return;
    }
    this.request.wantBody();
    body.read(this);
    this.request.resumeBody();
  }

  #consumed(piece: Buffer): void {
    const { length } = this.#waiting;
    if (length < HIGH_WATER && length + piece.length >= HIGH_WATER) this.request.resumeBody();
  }

  /** Reads on in what is stored. True: there is something new. */
  #pull(): boolean {
    const reader = this.#reader;
    if (reader === undefined) return false;
    if (reader.pull(FILE_PIECE)) return true;
    if (!reader.isDone || this.#ended) return false;
    this.#finish();
    return true;
  }

  #readStored(store: BodyStore): void {
    if (store.length > this.limit) this.onBodyFailed(413);
    else {
      this.#store = store;
      this.#reader = store.open(this);
    }
  }

  /** There is no reader after this one: consumed data is gone. */
  #finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { body } = this.request;
    this.#reader?.close();
    this.#reader = undefined;
    if (body !== undefined) body.returnBody(this, undefined);
    this.#continue();
  }

  #continue(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
