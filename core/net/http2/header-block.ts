import { Http2ErrorCode, FrameFlag, Http2Error } from './protocol.js';

/** Bytes of a header block in its compressed form. Its fields have limits of their own. */
const MAX_BLOCK = 131_072;

/** A header block that comes in several frames (RFC 9113, 4.3): nothing else may come in between. */
export class HeaderBlock {
  readonly #pieces: Buffer[];
  #length: number;

  constructor(
    readonly stream: number,
    readonly endsStream: boolean,
    first: Buffer,
    /** Its priority names the stream itself. */
    readonly isSelfDependent: boolean,
  ) {
    this.#pieces = [Buffer.from(first)];
    this.#length = first.length;
  }

  /** @returns the whole block once it has arrived; @throws Http2Error for a block without end */
  append(flags: number, fragment: Buffer): Buffer | undefined {
    this.#length += fragment.length;
    if (this.#length > MAX_BLOCK) throw new Http2Error(Http2ErrorCode.EnhanceYourCalm, 'too large header block');
    this.#pieces.push(Buffer.from(fragment));
    return (flags & FrameFlag.EndHeaders) !== 0 ? Buffer.concat(this.#pieces, this.#length) : undefined;
  }
}
