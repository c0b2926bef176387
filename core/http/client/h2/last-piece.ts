import type { RequestBody } from '../../request/request-body.js';

/**
 * The bytes that complete a body of a known length. Until END_STREAM it is open whether such a body is malformed, being longer than its
 * content-length (RFC 9113, 8.1.1): no reader gets all of it before that.
 */
export class LastPiece {
  #bytes: Buffer | undefined = undefined;

  /**
   * Retains a piece that completes the body.
   * @param borrowed the bytes are only valid during the call
   * @param hasEnded END_STREAM came with it
   * @returns `excess`: the body is too long, and gets none of the piece
   */
  retain(body: RequestBody, payload: Buffer, borrowed: boolean, hasEnded: boolean): 'retained' | 'excess' | 'incomplete' {
    const missing = body.contentLength < 0 ? Infinity : body.contentLength - body.taken;
    if (payload.length > missing || (payload.length > 0 && this.#bytes !== undefined)) {
      this.#bytes = undefined;
      return 'excess';
    }
    if (payload.length < missing || hasEnded || body.isDiscarded) return 'incomplete';
    this.#bytes = borrowed ? Buffer.from(payload) : payload;
    return 'retained';
  }

  /** The body is complete, or is discarded. */
  feed(body: RequestBody): void {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    if (bytes !== undefined) body.feed(bytes, 0, false);
  }
}
