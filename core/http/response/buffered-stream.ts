import { BodyStore, type StoreWriter } from '../request/body-store.js';
import type { ClientStream } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import type { Request } from '../request/request.js';
import type { StoreReader, StoreSink } from '../request/store-reader.js';
import type { StorePlan } from '../site/temporary-path.js';
import { FrontStream, UnsentRest } from './front-stream.js';

/** Bytes that are read of the file although the client has room for fewer. */
const LEAST_READ = 4096;

/**
 * The client stream of a response that its client reads slowly (proxy_buffering): data that the client has not read yet is stored, after
 * the body filters, which therefore run at the pace of the source.
 */
export class BufferedStream extends FrontStream implements StoreWriter, StoreSink {
  readonly takesLargePieces = false;
  readonly awaitsDrain = false;
  readonly room = Infinity;
  readonly #store: BodyStore;
  readonly #reader: StoreReader;
  #isSending = false;
  #over = false;

  constructor(
    inner: ClientStream,
    request: Request,
    plan: StorePlan,
    /** Most bytes that are read of the file at once (proxy_busy_buffers_size). */
    private readonly readSize: number,
    /** Lets filters and source go on. */
    private readonly drained: (request: Request) => void,
  ) {
    super(inner, request);
    this.#store = new BodyStore(request, plan, this, false);
    this.#reader = this.#store.open(this);
  }

  get isBehind(): boolean {
    return this.#store.isFull;
  }

  protected get holds(): boolean {
    return !this.#over;
  }

  override get holdsHead(): boolean {
    return this.#store.length === 0 && this.inner.holdsHead;
  }

  /** The client's turn, or one after what waits already. */
  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (this.#over || this.#store.ended) return;
    if (this.#isEmpty && !this.#mustWait) this.inner.write(request, chunk, from, to, lender);
    else this.#store.append(chunk.subarray(from, to), lender !== undefined, lender);
  }

  end(): void {
    this.#store.end();
    this.send();
  }

  /** The client gets what is here, and sees that it is not everything. */
  abort(request: Request): void {
    this.#store.end(true);
    if (this.#over || this.#store.lost) this.inner.abort(request);
    else {
      this.finish(request);
      this.send();
    }
  }

  protected release(): void {
    this.#over = true;
    this.#reader.close();
    this.#store.close();
  }

  protected send(): void {
    const { inner, request } = this;
    if (this.#isSending || this.#over) return;
    this.#isSending = true;
    while (!this.#mustWait && this.#reader.pull(Math.min(this.readSize, Math.max(inner.room, LEAST_READ))));
    this.#isSending = false;
    if (this.#over) return;
    if (this.#reader.isDone && this.#store.ended) this.#finish();
    else this.watchSending(request);
  }

  onPiece(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.inner.write(this.request, chunk, from, to, lender);
  }

  onMore(): void {
    this.send();
  }

  onStoreRoom(): void {
    if (!this.request.finished) this.drained(this.request);
  }

  /** The response cannot be completed. */
  onStoreLost(): void {
    const { request } = this;
    const { owner } = request;
    this.release();
    request.owner = undefined;
    owner?.discard();
    if (!request.finished) this.inner.abort(request);
  }

  get #isEmpty(): boolean {
    return this.#reader.position === this.#store.length && !this.#reader.isReading;
  }

  /** The client has no room: what waits does so here. */
  get #mustWait(): boolean {
    return this.inner.awaitsDrain || this.inner.isBehind;
  }

  #finish(): void {
    const { inner, request } = this;
    const { truncated } = this.#store;
    this.release();
    if (truncated) {
      request.owner = undefined;
      inner.abort(request);
      return;
    }
    inner.end(request);
    // Its filters may still hold it: they finish it then.
    if (!(request.owner instanceof UnsentRest)) return;
    request.owner = undefined;
    inner.finish(request);
  }
}
