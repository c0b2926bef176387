import { ChunkedDecoder, type ChunkSink } from '../../net/http1/chunked.js';
import type { RequestFile } from './request-file.js';

/** Who reads a request body. Called inside the socket's callbacks. */
export interface BodyReader {
  /** The bytes stay valid. */
  onBody(chunk: Buffer): void;
  onBodyEnd(): void;
  /** Instead of both: all of it, which somebody else has read before. The file is the reader's now. */
  onBodyFile(file: RequestFile): void;
  /** The client went away, was too slow or sent nonsense; nothing follows. */
  onBodyFailed(status: number): void;
}

/** Bytes kept while nobody reads; then the client's socket is paused. */
const HIGH_WATER = 65_536;

/** The body of one request: it takes the framing off and keeps what comes until somebody reads. */
export class RequestBody implements ChunkSink {
  readonly #decoder: ChunkedDecoder | undefined;
  #remaining: number;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** The whole body, instead of what is kept. */
  #file: RequestFile | undefined = undefined;
  #reader: BodyReader | undefined;
  #discarding = false;
  #ended = false;
  #borrowed = false;
  #limit = Infinity;
  /** Its own bytes that have come. */
  received = 0;
  /** Bytes of the connection that were its: with the lengths of chunks. */
  taken = 0;
  complete = false;
  /** A part of it went to an upstream and was not kept: nobody else can have it whole. */
  consumed = false;
  /** Status to answer with when the body itself is refused: 400 malformed, 413 too long. */
  failure = 0;

  /**
   * @param contentLength -1 if it is not known
   * @param isChunked without a length: chunks tell the end; else {@link endStream} does
   */
  constructor(
    readonly contentLength: number,
    isChunked = contentLength < 0,
  ) {
    this.#decoder = isChunked ? new ChunkedDecoder() : undefined;
    this.#remaining = contentLength < 0 ? Infinity : contentLength;
  }

  /** True while the socket should rest because nobody takes what came. */
  get isFull(): boolean {
    return this.#reader === undefined && !this.#discarding && this.#keptBytes >= HIGH_WATER;
  }

  /** What comes is thrown away. */
  get isDiscarded(): boolean {
    return this.#discarding;
  }

  /**
   * Takes bytes of the connection from `from` on.
   * @param borrowed the bytes are only valid during the call: those that are kept or passed on are copied.
   * @returns where the body ended in `chunk`, or its length when all of it was taken.
   */
  feed(chunk: Buffer, from: number, borrowed: boolean): number {
    this.#borrowed = borrowed;
    if (this.#decoder !== undefined) return this.#feedChunked(this.#decoder, chunk, from);
    const to = Math.min(chunk.length, from + this.#remaining);
    this.#remaining -= to - from;
    this.taken += to - from;
    if (to > from) this.onData(chunk, from, to);
    if (this.#remaining === 0) this.#end();
    return to;
  }

  /** The stream of a body without chunks is over. False: bytes are missing. */
  endStream(): boolean {
    if (this.complete) return true;
    if (this.contentLength >= 0) return false;
    this.#end();
    return true;
  }

  onData(chunk: Buffer, from: number, to: number): void {
    this.received += to - from;
    if (this.received > this.#limit) {
      this.fail(413);
      return;
    }
    if (this.#discarding || this.failure > 0) return;
    const part = from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to);
    const piece = this.#borrowed ? Buffer.from(part) : part;
    if (this.#reader !== undefined) this.#reader.onBody(piece);
    else {
      this.#kept.push(piece);
      this.#keptBytes += piece.length;
    }
  }

  /** Sets the most bytes that are accepted (client_max_body_size), 0: any number. @returns false if there are more already. */
  limitTo(bytes: number): boolean {
    this.#limit = bytes === 0 || this.#discarding ? Infinity : bytes;
    return this.received <= this.#limit;
  }

  /** Gives everything kept and all that follows to `reader`. */
  read(reader: BodyReader): void {
    this.#reader = reader;
    const kept = this.#kept;
    const file = this.#file;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#file = undefined;
    if (this.failure > 0) {
      reader.onBodyFailed(this.failure);
      return;
    }
    if (file !== undefined) {
      reader.onBodyFile(file);
      return;
    }
    for (const piece of kept) reader.onBody(piece);
    if (this.complete) reader.onBodyEnd();
  }

  /**
   * The reader answers the request no more: who does so in its place may read the body from its beginning.
   * @param read the pieces that came so far, or the file with the whole; undefined if it was not kept
   */
  returnBody(reader: BodyReader, read: Buffer[] | RequestFile | undefined): void {
    if (this.#reader !== reader || this.#ended) {
      if (!Array.isArray(read)) read?.close();
      return;
    }
    if (read === undefined) {
      this.consumed = true;
      this.discard();
      return;
    }
    this.#reader = undefined;
    if (Array.isArray(read)) {
      this.#kept = read;
      for (const piece of read) this.#keptBytes += piece.length;
    } else this.#file = read;
  }

  /** The request is over: nobody can read it any more. */
  end(): void {
    this.#ended = true;
    this.#closeFile();
  }

  /** Nobody wants it (any more): what comes is thrown away, so that the connection can go on. */
  discard(): void {
    this.#closeFile();
    this.#discarding = true;
    this.#reader = undefined;
    this.#kept = [];
    this.#keptBytes = 0;
  }

  fail(status: number): void {
    if (this.complete || this.failure > 0) return;
    this.failure = status;
    this.#reader?.onBodyFailed(status);
  }

  #closeFile(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  #feedChunked(decoder: ChunkedDecoder, chunk: Buffer, from: number): number {
    const end = decoder.decode(chunk, from, chunk.length, this);
    this.taken += end - from;
    if (decoder.failed) this.fail(400);
    else if (decoder.done) this.#end();
    return end;
  }

  #end(): void {
    if (this.failure > 0) return;
    this.complete = true;
    this.#reader?.onBodyEnd();
  }
}
