import { Http2ErrorCode, Http2Error } from '../../../net/http2/protocol.js';

/** Bytes that a client may have on their way while its body is read. */
const READING_WINDOW = 65_536;
/** The window is opened again when that much of it is used up. */
const STEP = 32_768;

/** Window of one request body (RFC 9113, 5.2), and the short pieces of it that came in one read. */
export class BodyWindow {
  #left: number;
  #most: number;
  #isOpen = false;
  #gathered: Buffer[] | undefined = undefined;

  /**
   * @param size as announced in SETTINGS (http2_body_preread_size)
   * @param tolerance how much more may come, because the client did not know the size when it began
   */
  constructor(
    size: number,
    private readonly tolerance: number,
  ) {
    this.#left = size;
    this.#most = size;
  }

  /** The body has a reader. */
  open(): void {
    this.#isOpen = true;
    this.#most = Math.max(this.#most, READING_WINDOW);
  }

  /** @throws Http2Error beyond the window */
  consume(length: number): void {
    this.#left -= length;
    if (this.#left < -this.tolerance) throw new Http2Error(Http2ErrorCode.FlowControlError, 'client sent more than the window of a stream');
  }

  /** @returns by how much the window is to be opened, 0: not yet */
  grant(): number {
    const credit = this.#most - this.#left;
    if (!this.#isOpen || (credit < STEP && this.#left > 0)) return 0;
    this.#left = this.#most;
    return credit;
  }

  /** Keeps a piece that is valid during the read. @returns true for the first one */
  gather(piece: Buffer): boolean {
    const isFirst = this.#gathered === undefined;
    (this.#gathered ??= []).push(piece);
    return isFirst;
  }

  /** The collected pieces, in memory of their own. */
  takeGathered(): Buffer | undefined {
    const gathered = this.#gathered;
    this.#gathered = undefined;
    return gathered && Buffer.concat(gathered);
  }
}
