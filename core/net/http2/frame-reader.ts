import { ErrorCode, FRAME_HEAD, Http2Error, MAX_FRAME_SIZE } from './protocol.js';

/** Gets whole frames. The payload is valid during the call. */
export interface FrameSink {
  /** @param type a FrameType, or one that nobody knows. False: no more frames are wanted. @throws Http2Error */
  onFrame(type: number, flags: number, stream: number, payload: Buffer): boolean;
}

/** Finds the frames in the bytes of one connection. */
export class FrameReader {
  #rest: Buffer | undefined = undefined;

  /** @throws Http2Error FRAME_SIZE_ERROR for a frame that is longer than the settings allow; what the sink throws */
  read(chunk: Buffer, sink: FrameSink): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    const isCopy = this.#rest !== undefined;
    this.#rest = undefined;
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD) {
      const length = bytes.readUIntBE(at, 3);
      if (length > MAX_FRAME_SIZE) throw new Http2Error(ErrorCode.FrameSizeError, `frame of ${length} bytes`);
      const end = at + FRAME_HEAD + length;
      if (end > bytes.length) break;
      const stream = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      if (!sink.onFrame(bytes[at + 3] as number, bytes[at + 4] as number, stream, bytes.subarray(at + FRAME_HEAD, end))) return;
      at = end;
    }
    if (at < bytes.length) this.#rest = isCopy ? bytes.subarray(at) : Buffer.from(bytes.subarray(at));
  }
}

/** The payload of a frame without its padding (RFC 9113, 6.1). @throws Http2Error for padding that is longer than the frame */
export function withoutPadding(payload: Buffer): Buffer {
  const padding = payload[0];
  if (padding === undefined) throw new Http2Error(ErrorCode.FrameSizeError, 'padded frame without a length of its padding');
  if (padding >= payload.length) throw new Http2Error(ErrorCode.ProtocolError, 'padding as long as its frame');
  return payload.subarray(1, payload.length - padding);
}
