import type { FrameSink } from '../../../../net/http2/frame-reader.js';
import { withoutPadding } from '../../../../net/http2/frame-reader.js';
import { HeaderBlock } from '../../../../net/http2/header-block.js';
import { HpackDecoder } from '../../../../net/http2/hpack-decoder.js';
import { ErrorCode, Flag, FrameType, Http2Error } from '../../../../net/http2/protocol.js';
import type { Http2MemberStream } from './http2-member-stream.js';
import type { MemberConnection } from './member-connection.js';
import { ResponseFields } from './response-fields.js';

/** Bytes of the part of HEADERS that is about priorities (RFC 9113, 5.3.2), which is ignored. */
const PRIORITY_LENGTH = 5;
/** Bytes of GOAWAY without what it says for people. */
const GOAWAY_LENGTH = 8;
/** Bytes of fields for a stream that is over. */
const CLOSED_LIMIT = 8192;

/** Gives the frames of a member their meaning. @throws Http2Error what ends the connection */
export class MemberFrames implements FrameSink {
  readonly #decoder: HpackDecoder;
  #block: HeaderBlock | undefined = undefined;
  #greeted = false;
  /** Bytes of bodies since the window of the connection was opened last. */
  #received = 0;
  /** The last block, its text, and how often the table had changed: responses of one second mostly have the same fields. */
  #recentBlock = '';
  #recentText = '';
  #recentChanges = -1;

  constructor(private readonly connection: MemberConnection) {
    this.#decoder = new HpackDecoder(connection.context.huffman);
  }

  onFrame(type: number, flags: number, stream: number, payload: Buffer): boolean {
    if (!this.#greeted && (type !== FrameType.Settings || (flags & Flag.EndStream) !== 0)) throw broken('the first frame is not SETTINGS');
    this.#greeted = true;
    if (this.#block !== undefined && type !== FrameType.Continuation) throw broken('a frame within a header block');
    this.#handle(type, flags, stream, payload);
    return true;
  }

  #handle(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FrameType.Data:
        this.#data(flags, stream, payload);
        return;
      case FrameType.Headers:
        this.#headers(flags, stream, payload);
        return;
      case FrameType.RstStream:
        this.#reset(stream, payload);
        return;
      case FrameType.Settings:
        this.#settings(flags, stream, payload);
        return;
      case FrameType.PushPromise:
        throw broken('PUSH_PROMISE, which was not allowed');
      case FrameType.Ping:
        this.#ping(flags, stream, payload);
        return;
      case FrameType.Goaway:
        this.#goaway(stream, payload);
        return;
      case FrameType.WindowUpdate:
        this.#windowUpdate(stream, payload);
        return;
      case FrameType.Continuation:
        this.#continuation(flags, stream, payload);
        return;
      default:
        // PRIORITY, and unknown types, which are ignored (RFC 9113, 5.5), but not for nothing.
        this.connection.spend();
    }
  }

  #data(flags: number, id: number, payload: Buffer): void {
    this.#assertOpened(id, 'DATA');
    const data = (flags & Flag.Padded) !== 0 ? withoutPadding(payload) : payload;
    const ends = (flags & Flag.EndStream) !== 0;
    if (data.length === 0 && !ends) this.connection.spend();
    else this.connection.flood.earnBytes(data.length);
    // The window of the connection is so large that it is only opened again, never waited for.
    if (payload.length > 0) this.#widenOwn(payload.length);
    const stream = this.#streamOf(id);
    if (stream !== undefined) stream.receive(data, payload.length, ends);
  }

  #widenOwn(length: number): void {
    this.#received += length;
    if (this.#received < 0x4000_0000) return;
    this.connection.openWindow(0, this.#received);
    this.#received = 0;
  }

  #headers(flags: number, id: number, payload: Buffer): void {
    this.#assertOpened(id, 'HEADERS');
    let fragment = (flags & Flag.Padded) !== 0 ? withoutPadding(payload) : payload;
    if ((flags & Flag.Priority) !== 0) {
      if (fragment.length < PRIORITY_LENGTH) throw new Http2Error(ErrorCode.FrameSizeError, 'HEADERS too short for its priority');
      fragment = fragment.subarray(PRIORITY_LENGTH);
    }
    const ends = (flags & Flag.EndStream) !== 0;
    if ((flags & Flag.EndHeaders) !== 0) this.#complete(id, ends, fragment);
    else this.#block = new HeaderBlock(id, ends, fragment, false);
  }

  #continuation(flags: number, id: number, payload: Buffer): void {
    const block = this.#block;
    if (block?.stream !== id) throw broken('CONTINUATION without HEADERS');
    this.connection.spend();
    const whole = block.append(flags, payload);
    if (whole === undefined) return;
    this.#block = undefined;
    this.#complete(id, block.endsStream, whole);
  }

  /** A whole header block: a response, an interim one, or trailers. All blocks are decoded: they change the table. */
  #complete(id: number, ends: boolean, block: Buffer): void {
    const stream = this.#streamOf(id);
    if (stream === undefined || stream.hasHead) {
      const fields = new ResponseFields(stream?.headLimit ?? CLOSED_LIMIT, true);
      this.#decoder.decode(block, fields);
      stream?.receiveTrailers(fields, ends, block.length);
      return;
    }
    const bytes = block.latin1Slice();
    if (this.#recentChanges === this.#decoder.changes && bytes === this.#recentBlock && this.#recentText.length <= stream.headLimit) {
      stream.receiveHead(this.#recentText, ends, block.length);
      return;
    }
    const before = this.#decoder.changes;
    const fields = new ResponseFields(stream.headLimit, false);
    this.#decoder.decode(block, fields);
    const { text } = fields;
    if (text === '') {
      stream.failHead(fields);
      return;
    }
    if (this.#decoder.changes === before) {
      this.#recentChanges = before;
      this.#recentBlock = bytes;
      this.#recentText = text;
    }
    stream.receiveHead(text, ends, block.length);
  }

  #reset(id: number, payload: Buffer): void {
    this.#assertOpened(id, 'RST_STREAM');
    if (payload.length !== 4) throw new Http2Error(ErrorCode.FrameSizeError, 'RST_STREAM of a wrong length');
    this.connection.spend();
    this.connection.streams.get(id)?.onReset(payload.readUInt32BE(0));
  }

  #settings(flags: number, id: number, payload: Buffer): void {
    this.connection.spend();
    if (id !== 0) throw broken('SETTINGS on a stream');
    if ((flags & Flag.EndStream) === 0) this.connection.applySettings(payload);
    else if (payload.length > 0) throw new Http2Error(ErrorCode.FrameSizeError, 'acknowledgement of SETTINGS with a payload');
  }

  #ping(flags: number, id: number, payload: Buffer): void {
    this.connection.spend();
    if (id !== 0) throw broken('PING on a stream');
    if (payload.length !== 8) throw new Http2Error(ErrorCode.FrameSizeError, 'PING of a wrong length');
    if ((flags & Flag.EndStream) === 0) this.connection.reply(FrameType.Ping, payload.latin1Slice());
  }

  #goaway(id: number, payload: Buffer): void {
    this.connection.spend();
    if (id !== 0) throw broken('GOAWAY on a stream');
    if (payload.length < GOAWAY_LENGTH) throw new Http2Error(ErrorCode.FrameSizeError, 'GOAWAY of a wrong length');
    this.connection.onGoaway(payload.readUInt32BE(0) & 0x7fff_ffff);
  }

  #windowUpdate(id: number, payload: Buffer): void {
    this.connection.spend();
    if (payload.length !== 4) throw new Http2Error(ErrorCode.FrameSizeError, 'WINDOW_UPDATE of a wrong length');
    const increment = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (increment === 0) throw broken('WINDOW_UPDATE of 0');
    if (id === 0) {
      this.connection.sender.widen(increment);
      return;
    }
    this.#assertOpened(id, 'WINDOW_UPDATE');
    const stream = this.connection.streams.get(id);
    if (stream === undefined) return;
    stream.widen(increment);
    this.connection.sender.takeTurns();
  }

  /** Undefined: it is over, and this was on its way. */
  #streamOf(id: number): Http2MemberStream | undefined {
    const stream = this.connection.streams.get(id);
    if (stream === undefined) this.connection.spend();
    else stream.touch();
    return stream;
  }

  #assertOpened(id: number, frame: string): void {
    if (id % 2 === 0 || id > this.connection.lastStream) throw broken(`${frame} on a stream that is not open`);
  }
}

function broken(reason: string): Http2Error {
  return new Http2Error(ErrorCode.ProtocolError, reason);
}
