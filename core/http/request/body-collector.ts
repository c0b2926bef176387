import { ByteQueue } from '../../net/byte-queue.js';
import type { BodyStore } from './body-store.js';
import type { BodyReader, RequestBody } from './request-body.js';
import type { StoreReader, StoreSink } from './store-reader.js';

/**
 * Collects a whole body for {@link HttpRequest.readBody}. Then it is available again: the final handler (another phase, a location the
 * request is redirected to) may need it as well.
 */
export class BodyCollector implements BodyReader {
  readonly #bytes = new ByteQueue();

  constructor(
    private readonly body: RequestBody,
    private readonly limit: number,
    private readonly done: (body: Buffer) => void,
    private readonly failed: (status: number) => void,
  ) {}

  onBody(chunk: Buffer, borrowed: boolean): void {
    this.#bytes.push(chunk, borrowed);
    if (this.#bytes.length > this.limit) this.onBodyFailed(413);
  }

  onBodyEnd(): void {
    if (this.#bytes.length > this.limit) return;
    const whole = this.#bytes.takeWhole();
    this.body.returnBody(this, [whole]);
    this.done(whole);
  }

  onBodyFailed(status: number): void {
    this.body.returnBody(this, undefined);
    this.failed(status);
  }
}

/** Collects a body that is stored already. It stays stored. */
export class StoredCollector implements StoreSink {
  readonly #whole: Buffer;
  readonly #reader: StoreReader;
  #length = 0;

  constructor(
    private readonly store: BodyStore,
    private readonly done: (body: Buffer) => void,
    private readonly failed: (status: number) => void,
  ) {
    this.#whole = Buffer.allocUnsafe(store.length);
    this.#reader = store.open(this);
  }

  start(): void {
    this.#pull();
  }

  onPiece(chunk: Buffer, from: number, to: number): void {
    this.#length += chunk.copy(this.#whole, this.#length, from, to);
  }

  onMore(): void {
    this.#pull();
  }

  #pull(): void {
    while (this.#reader.pull(this.#whole.length));
    if (!this.#reader.isDone) return;
    this.#reader.close();
    if (this.store.lost) this.failed(500);
    else this.done(this.#whole);
  }
}
