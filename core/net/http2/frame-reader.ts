import { Http2ErrorCode, FRAME_HEAD, Http2Error, MAX_FRAME_SIZE } from './protocol.js';

/** Gets whole frames. The payload is valid during the call. */
export interface FrameSink {
  /** @param type a FrameType, or an unknown one. False: no more frames are wanted. @throws Http2Error */
  onFrame(type: number, flags: number, stream: number, payload: Buffer): boolean;
}

/** Finds the frames in the bytes of one connection. */
export class FrameReader {
  /** A part of a frame. It grows with the received data: a client that only announces a long frame uses no memory. */
  #partial: Buffer = NOTHING;
  #filled = 0;

  /** @throws Http2Error FRAME_SIZE_ERROR for a frame that is longer than the settings allow; what the sink throws */
  read(chunk: Buffer, sink: FrameSink): void {
    let at = 0;
    while (this.#filled > 0 && at < chunk.length) {
      at += this.#fill(chunk, at);
      if (this.#filled < FRAME_HEAD || this.#filled < frameLength(this.#partial, 0)) continue;
      const whole = this.#partial;
      const end = this.#filled;
      this.#partial = NOTHING;
      this.#filled = 0;
      if (!deliver(whole, 0, end, sink)) return;
    }
    while (at + FRAME_HEAD <= chunk.length) {
      const end = at + frameLength(chunk, at);
      if (end > chunk.length) break;
      if (!deliver(chunk, at, end, sink)) return;
      at = end;
    }
    while (at < chunk.length) at += this.#fill(chunk, at);
  }

  /** Takes what belongs to the partial frame, as far as its length is known. @returns the number of bytes */
  #fill(chunk: Buffer, at: number): number {
    const filled = this.#filled;
    const wanted = filled < FRAME_HEAD ? FRAME_HEAD : frameLength(this.#partial, 0);
    const to = Math.min(at + Math.max(wanted - filled, 0), chunk.length);
    const size = filled + to - at;
    if (size > this.#partial.length) {
      const grown = Buffer.allocUnsafe(Math.max(size, 2 * this.#partial.length));
      this.#partial.copy(grown, 0, 0, filled);
      this.#partial = grown;
    }
    chunk.copy(this.#partial, filled, at, to);
    this.#filled = size;
    return to - at;
  }
}

const NOTHING = Buffer.alloc(0);

/** Bytes of the frame that begins there, with its head. */
function frameLength(bytes: Buffer, at: number): number {
  const length = bytes.readUIntBE(at, 3);
  if (length > MAX_FRAME_SIZE) throw new Http2Error(Http2ErrorCode.FrameSizeError, `frame of ${length} bytes`);
  return FRAME_HEAD + length;
}

function deliver(bytes: Buffer, at: number, end: number, sink: FrameSink): boolean {
  const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
  return sink.onFrame(bytes[at + 3] as number, bytes[at + 4] as number, stream, bytes.subarray(at + FRAME_HEAD, end));
}

/** The payload of a frame without its padding (RFC 9113, 6.1). @throws Http2Error for padding that is longer than the frame */
export function withoutPadding(payload: Buffer): Buffer {
  const padding = payload[0];
  if (padding === undefined) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'padded frame without a length of its padding');
  if (padding >= payload.length) throw new Http2Error(Http2ErrorCode.ProtocolError, 'padding as long as its frame');
  return payload.subarray(1, payload.length - padding);
}
