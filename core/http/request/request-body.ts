import { ByteQueue } from '../../net/byte-queue.js';
import { ChunkedDecoder, type ChunkSink } from '../../net/http1/chunked.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { Location } from '../site/location.js';
import type { StoredBody } from './stored-body.js';
import type { StoreOwner } from './temporary-file.js';

/** The request of a body, as readers of the body know it. */
export interface BodyRequest extends StoreOwner {
  readonly body: RequestBody | undefined;
  /** Bytes; -1: not known. */
  readonly contentLength: number;
  readonly location: Location;
  /** The connection can carry another request: false makes reading the rest of the body needless. */
  keepAlive: boolean;
  /** The body will be read: notifies a client that waits for it (RFC 9110, 10.1.1). */
  wantBody(): void;
  /** The body has a reader, or is discarded: what the client holds back may come. */
  resumeBody(): void;
  /** No more of the body is consumed for now. */
  pauseBody(): void;
}

/** Reader of a request body. Called inside the socket's callbacks. */
export interface BodyReader {
  /** @param borrowed the bytes are only valid during the call */
  onBody(chunk: Buffer, borrowed: boolean): void;
  onBodyEnd(): void;
  /** The client went away, was too slow or sent nonsense; nothing follows. */
  onBodyFailed(status: number): void;
}

/** Bytes kept without a reader; then the client's socket is paused. */
const HIGH_WATER = 65_536;
/** Bytes at the end of a body that are always read: with them it is complete. */
const LAST = 4096;

/** The body of one request: it removes the framing and keeps received data until it is read. */
export class RequestBody implements ChunkSink {
  readonly #decoder: ChunkedDecoder | undefined;
  #remaining: number;
  readonly #kept = new ByteQueue();
  /** All of it, for any number of readers, if that was requested. */
  stored: StoredBody | undefined = undefined;
  #reader: BodyReader | undefined;
  #discarding = false;
  #ended = false;
  /** Data of the chunks of the current read, moved together. */
  #runStart = -1;
  #runEnd = -1;
  #limit = Infinity;
  /** Its own bytes that have come. */
  received = 0;
  /** Bytes of the connection that were its: with the lengths of chunks. */
  taken = 0;
  complete = false;
  /** It has, or had, a reader. */
  isRead = false;
  /** A part of it went to an upstream and was not kept: it is not complete for others. */
  consumed = false;
  /** Status to respond with when the body itself is rejected: 400 malformed, 413 too long. */
  failure = 0;
  /** Fields after the body, each line with its CRLF; known when it is complete. */
  trailers = '';

  /**
   * @param contentLength -1 if it is not known
   * @param isChunked without a length: chunks tell the end; else {@link endStream} does
   * @param limits of a trailer section after chunks
   */
  constructor(
    readonly contentLength: number,
    isChunked = contentLength < 0,
    limits?: HeadLimits,
  ) {
    this.#decoder = isChunked ? new ChunkedDecoder(false, limits) : undefined;
    this.#remaining = contentLength < 0 ? Infinity : contentLength;
  }

  /** A body that another request has stored. */
  static ofStored(stored: StoredBody): RequestBody {
    const { length } = stored.store;
    const body = new RequestBody(length);
    stored.share();
    body.stored = stored;
    body.received = body.taken = length;
    body.complete = body.isRead = true;
    body.#remaining = 0;
    return body;
  }

  /** True while the socket should be paused because received data is not consumed. */
  get isFull(): boolean {
    return this.#reader === undefined && !this.#discarding && this.#kept.length >= HIGH_WATER;
  }

  /** Received data is dropped. */
  get isDiscarded(): boolean {
    return this.#discarding;
  }

  /**
   * Takes bytes of the connection from `from` on.
   * @param chunk chunks are moved together in it: what comes in pieces of a byte is passed on in one of many
   * @param borrowed the bytes are only valid during the call
   * @returns where the body ended in `chunk`, or its length when all of it was taken.
   */
  feed(chunk: Buffer, from: number, borrowed: boolean): number {
    if (this.#decoder !== undefined) return this.#feedChunked(this.#decoder, chunk, from, borrowed);
    const to = Math.min(chunk.length, from + this.#remaining);
    this.#remaining -= to - from;
    this.taken += to - from;
    if (to > from) this.#pass(chunk, from, to, borrowed);
    if (this.#remaining === 0) this.#end();
    return to;
  }

  /** Bytes of a body of known length that are still to come, without its last ones, and that need not be read; 0: it is another one. */
  get passable(): number {
    if (this.#discarding || this.failure > 0 || this.contentLength > this.#limit) return 0;
    return this.contentLength < 0 ? 0 : Math.max(this.#remaining - LAST, 0);
  }

  /** So many of them went to the reader past the body. */
  skip(count: number): void {
    this.#remaining -= count;
    this.received += count;
    this.taken += count;
  }

  /** The stream of a body without chunks is over. False: bytes are missing. */
  endStream(): boolean {
    if (this.complete) return true;
    if (this.contentLength > 0) return false;
    this.#end();
    return true;
  }

  /** From the decoder. */
  onData(chunk: Buffer, from: number, to: number): void {
    if (this.#runStart < 0) {
      this.#runStart = from;
      this.#runEnd = to;
      return;
    }
    chunk.copyWithin(this.#runEnd, from, to);
    this.#runEnd += to - from;
  }

  /** Sets the most bytes that are accepted (client_max_body_size), 0: any number. @returns false if there are more already. */
  limitTo(bytes: number): boolean {
    this.#limit = bytes === 0 || this.#discarding ? Infinity : bytes;
    return this.received <= this.#limit;
  }

  /** Gives everything kept and all that follows to `reader`. */
  read(reader: BodyReader): void {
    this.#reader = reader;
    this.isRead = true;
    const kept = this.#kept.take();
    if (this.failure > 0) {
      reader.onBodyFailed(this.failure);
      return;
    }
    for (const piece of kept) reader.onBody(piece, false);
    if (this.complete) reader.onBodyEnd();
  }

  /**
   * The reader no longer responds: what does so in its place may read the body from its beginning.
   * @param read the pieces that came so far; undefined if they were not kept
   */
  returnBody(reader: BodyReader, read: readonly Buffer[] | undefined): void {
    if (this.#reader !== reader || this.#ended) return;
    if (read === undefined) {
      this.consumed = true;
      this.discard();
      return;
    }
    this.#reader = undefined;
    for (const piece of read) this.#kept.push(piece, false);
  }

  /** The request is over: it cannot be read any more. */
  end(): void {
    this.#ended = true;
    this.#releaseStored();
  }

  /** It is not needed (any more): received data is dropped, so that the connection can go on. */
  discard(): void {
    this.#releaseStored();
    this.#discarding = true;
    this.#reader = undefined;
    this.#kept.clear();
  }

  fail(status: number): void {
    if (this.complete || this.failure > 0) return;
    this.failure = status;
    this.#reader?.onBodyFailed(status);
  }

  #releaseStored(): void {
    this.stored?.release();
    this.stored = undefined;
  }

  #pass(chunk: Buffer, from: number, to: number, borrowed: boolean): void {
    this.received += to - from;
    if (this.received > this.#limit) {
      this.fail(413);
      return;
    }
    if (this.#discarding || this.failure > 0) return;
    const part = from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to);
    if (this.#reader === undefined) this.#kept.push(part, borrowed);
    else this.#reader.onBody(part, borrowed);
  }

  #feedChunked(decoder: ChunkedDecoder, chunk: Buffer, from: number, borrowed: boolean): number {
    this.#runStart = -1;
    const end = decoder.decode(chunk, from, chunk.length, this);
    this.taken += end - from;
    if (this.#runStart >= 0 && this.#runEnd > this.#runStart) this.#pass(chunk, this.#runStart, this.#runEnd, borrowed);
    if (decoder.failed) this.fail(400);
    else if (decoder.done) {
      this.trailers = decoder.trailers;
      this.#end();
    }
    return end;
  }

  #end(): void {
    if (this.failure > 0) return;
    this.complete = true;
    this.#reader?.onBodyEnd();
  }
}
