import type { Clock } from '../../../net/clock.js';
import type { FrameWriter } from '../../../net/http2/frame-writer.js';
import { Http2ErrorCode, FrameFlag, FrameType } from '../../../net/http2/protocol.js';

/** Data of a PING that requests a confirmation of the end. */
const LEAVING_PING = 'srv-quit';
/** In GOAWAY it means: all streams that you open before you read this. */
const LARGEST_STREAM = 0x7fff_ffff;

/**
 * The end of one connection (RFC 9113, 6.8). First it is announced, and the streams that the client has opened meanwhile are served; when the
 * client has confirmed that, or is late, GOAWAY names the last stream.
 */
export class Leaving {
  /** The client was notified that the connection ends. */
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
    this.writer.goaway(LARGEST_STREAM, Http2ErrorCode.NoError, '');
    this.writer.frame(FrameType.Ping, FrameFlag.None, 0, LEAVING_PING);
  }

  /** It was announced, and the client does not confirm it. @param limit milliseconds in which it may go on opening streams */
  isOverdue(limit: number): boolean {
    return this.hasBegun && !this.isFinal && this.clock.now - this.#since > limit;
  }

  /** True if the acknowledgement of a PING is the client's confirmation. */
  isConfirmedBy(payload: Buffer): boolean {
    return this.hasBegun && !this.isFinal && payload.latin1Slice() === LEAVING_PING;
  }

  /** @param lastServed number of the last stream that was served, or will be */
  goAway(lastServed: number, code: Http2ErrorCode): void {
    if (this.isFinal && code === Http2ErrorCode.NoError) return;
    this.hasBegun = true;
    this.isFinal = true;
    this.writer.goaway(lastServed, code, '');
  }
}
