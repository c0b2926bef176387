import { ChunkedDecoder, type ChunkSink } from '../../net/http1/chunked.js';
import { BODY_CHUNKED, BODY_LENGTH } from '../../net/http1/response-head.js';

/** What a read did to the body of a member's response. */
export const enum Progress {
  /** More is to come. */
  Open,
  Complete,
  /** Complete, and bytes follow that nobody asked for: the connection is not to be used again. */
  Overrun,
  Broken,
}

/** The body of a member's response without its framing. The bytes are valid during the call, or lent, see {@link Lender}. */
export interface FramedBody {
  write(chunk: Buffer, from: number, to: number): void;
}

/** Takes the framing off a member's response (RFC 9112, 6.3) and passes its content on. */
export class BodyFraming implements ChunkSink {
  readonly #decoder: ChunkedDecoder | undefined;
  #remaining: number;

  /**
   * @param kind BODY_LENGTH, BODY_CHUNKED or BODY_UNTIL_CLOSE
   * @param length of a body with a known one
   */
  constructor(
    readonly kind: number,
    length: number,
    private readonly body: FramedBody,
  ) {
    this.#decoder = kind === BODY_CHUNKED ? new ChunkedDecoder() : undefined;
    this.#remaining = length;
  }

  take(chunk: Buffer, from: number): Progress {
    if (this.#decoder !== undefined) return this.#takeChunked(this.#decoder, chunk, from);
    if (this.kind !== BODY_LENGTH) {
      this.body.write(chunk, from, chunk.length);
      return Progress.Open;
    }
    const to = Math.min(chunk.length, from + this.#remaining);
    this.#remaining -= to - from;
    this.body.write(chunk, from, to);
    if (this.#remaining > 0) return Progress.Open;
    return to < chunk.length ? Progress.Overrun : Progress.Complete;
  }

  /** From the chunked decoder. */
  onData(chunk: Buffer, from: number, to: number): void {
    this.body.write(chunk, from, to);
  }

  #takeChunked(decoder: ChunkedDecoder, chunk: Buffer, from: number): Progress {
    const end = decoder.decode(chunk, from, chunk.length, this);
    if (decoder.failed) return Progress.Broken;
    if (!decoder.done) return Progress.Open;
    return end < chunk.length ? Progress.Overrun : Progress.Complete;
  }
}
