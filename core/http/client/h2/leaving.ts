import type { Clock } from '../../../net/clock.js';
import type { FrameWriter } from '../../../net/http2/frame-writer.js';
import { ErrorCode, Flag, FrameType } from '../../../net/http2/protocol.js';

/** How long a client that is told of the end may go on opening streams if it does not confirm that it has understood. Milliseconds. */
export const LEAVING_TIME = 1000;
/** What PING carries when a confirmation of the end is asked for. */
const LEAVING_PING = 'srv-quit';
/** Stands in GOAWAY for: all that you open before you read this. */
const LARGEST_STREAM = 0x7fff_ffff;

/**
 * The end of one connection (RFC 9113, 6.8). First it is announced, and the streams that the client has opened meanwhile are served; when the
 * client has confirmed that, or is late, GOAWAY tells which stream was the last one.
 */
export class Leaving {
  /** The client is told that the connection ends. */
  hasBegun = false;
  /** No new streams are served. */
  isFinal = false;
  #since = 0;

  constructor(
    private readonly writer: FrameWriter,
    private readonly clock: Clock,
  ) {}

  announce(): void {
    this.hasBegun = true;
    this.#since = this.clock.now;
    this.writer.goaway(LARGEST_STREAM, ErrorCode.NoError, '');
    this.writer.frame(FrameType.Ping, Flag.None, 0, LEAVING_PING);
  }

  /** It was announced, and the client does not confirm it. */
  get isOverdue(): boolean {
    return this.hasBegun && !this.isFinal && this.clock.now - this.#since > LEAVING_TIME;
  }

  /** Whether the acknowledgement of a PING is the client's confirmation. */
  isConfirmedBy(payload: Buffer): boolean {
    return this.hasBegun && !this.isFinal && payload.latin1Slice() === LEAVING_PING;
  }

  /** @param lastServed number of the last stream that was served, or will be */
  goAway(lastServed: number, code: ErrorCode): void {
    if (this.isFinal && code === ErrorCode.NoError) return;
    this.hasBegun = true;
    this.isFinal = true;
    this.writer.goaway(lastServed, code, '');
  }
}
