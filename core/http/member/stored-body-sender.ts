import type { ReadBuffers } from '../../net/buffers.js';
import type { MemberStream } from './member-stream.js';
import type { BodyStore } from '../request/body-store.js';
import type { Lender } from '../request/lender.js';
import type { StoreReader, StoreSink } from '../request/store-reader.js';

/** Largest piece that is read of a file at once: what a pooled buffer holds. */
const LARGEST_PIECE = 65_536;

/** Whose body is sent. */
export interface BodyOwner {
  /** A piece is on its way to the member. */
  onBodySent(stream: MemberStream, isLast: boolean): void;
  onBodyUnreadable(): void;
}

/** Sends a stored body to one member: the next piece is read when the member has taken the last one. */
export class StoredBodySender implements StoreSink {
  readonly #reader: StoreReader;
  /** Memory of the piece that the socket has. */
  #buffer: Buffer | undefined = undefined;
  /** The socket has not sent the last piece yet. */
  #isSending = false;
  #stopped = false;

  constructor(
    private readonly store: BodyStore,
    private readonly stream: MemberStream,
    private readonly buffers: ReadBuffers,
    private readonly owner: BodyOwner,
  ) {
    this.#reader = store.open(this);
  }

  start(): void {
    this.#next();
  }

  /** All of it is on its way to the member. */
  get isDone(): boolean {
    return this.#reader.isDone;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#reader.close();
    // The last write may not be over.
    if (this.#buffer !== undefined) this.buffers.lose(this.#buffer);
    this.#buffer = undefined;
  }

  onPiece(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.#buffer = lender?.keepBuffer();
    this.#isSending = true;
    this.stream.write(chunk.subarray(from, to), () => this.#taken());
    this.owner.onBodySent(this.stream, this.isDone);
  }

  onMore(): void {
    if (this.store.lost) this.owner.onBodyUnreadable();
    else if (!this.#isSending) this.#next();
  }

  #next(): void {
    this.#reader.pull(LARGEST_PIECE);
  }

  #taken(): void {
    if (this.#stopped) return;
    if (this.#buffer !== undefined) this.buffers.give(this.#buffer);
    this.#buffer = undefined;
    this.#isSending = false;
    if (!this.isDone) this.#next();
  }
}
