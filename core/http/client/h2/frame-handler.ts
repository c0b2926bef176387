import { FRAME_COST, RESET_COST } from '../../../net/http2/flood-guard.js';
import type { FrameSink } from '../../../net/http2/frame-reader.js';
import { withoutPadding } from '../../../net/http2/frame-reader.js';
import { HeaderBlock } from '../../../net/http2/header-block.js';
import { HpackDecoder } from '../../../net/http2/hpack-decoder.js';
import { ErrorCode, Flag, FrameType, Http2Error } from '../../../net/http2/protocol.js';
import { beginRequest } from './begin-request.js';
import type { Http2Connection } from './http2-connection.js';
import { Http2Stream } from './http2-stream.js';
import { RequestFields } from './request-fields.js';

/** A piece of a body that is shorter is joined with others of the same read: each costs an object. */
const SHORT_PIECE = 1024;

/** Bytes of the part of HEADERS that is about priorities (RFC 9113, 5.3.2), which is ignored. */
const PRIORITY_LENGTH = 5;
/** Bytes of GOAWAY without what it says for people. */
const GOAWAY_LENGTH = 8;

/** Gives the frames of a client their meaning. @throws Http2Error what ends the connection */
export class FrameHandler implements FrameSink {
  /** Number of the last stream that was served, for GOAWAY. */
  lastServed = 0;
  /** Numbers of the last two streams that the client has opened, whether they were served or not. Those between them never will be. */
  #lastOpened = 0;
  #openedBefore = 0;
  readonly #decoder: HpackDecoder;
  #block: HeaderBlock | undefined = undefined;
  #greeted = false;
  /** Bytes of bodies since the window of the connection was opened last. */
  #received = 0;

  constructor(private readonly connection: Http2Connection) {
    this.#decoder = new HpackDecoder(connection.context.huffman);
  }

  /** A header block has begun, and its end has not come. */
  get isWithinBlock(): boolean {
    return this.#block !== undefined;
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
      case FrameType.Priority:
        this.#priority(stream, payload);
        return;
      case FrameType.RstStream:
        this.#reset(stream, payload);
        return;
      case FrameType.Settings:
        this.#settings(flags, stream, payload);
        return;
      case FrameType.PushPromise:
        throw broken('PUSH_PROMISE from a client');
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
        // Unknown types are ignored (RFC 9113, 5.5), but not for nothing.
        this.#spend(FRAME_COST);
    }
  }

  #data(flags: number, id: number, payload: Buffer): void {
    this.#assertOpened(id, 'DATA');
    const data = (flags & Flag.Padded) !== 0 ? withoutPadding(payload) : payload;
    const ends = (flags & Flag.EndStream) !== 0;
    if (data.length === 0 && !ends) this.#spend(FRAME_COST);
    else this.connection.flood.earnBytes(data.length);
    // The window of the connection is so large that it is only opened again, never waited for.
    if (payload.length > 0) this.#widenOwn(payload.length);
    const stream = this.connection.streams.get(id);
    if (stream === undefined) this.#onClosedStream(id);
    else if (stream.remoteEnded) stream.breakOff(ErrorCode.StreamClosed);
    else {
      stream.remoteEnded = ends;
      if (ends || data.length >= SHORT_PIECE) stream.receive(data, payload.length);
      else if (payload.length > 0) stream.gather(data, payload.length);
      if (ends) stream.receiveEnd();
    }
  }

  /** A frame of a stream that is over: it may have been on its way when this side reset it (RFC 9113, 5.1). */
  #onClosedStream(id: number): void {
    const { connection } = this;
    this.#spend(FRAME_COST);
    // Streams after GOAWAY were never opened for this side.
    if (connection.isLeaving || connection.resetStreams.has(id)) return;
    connection.resetClosed(id);
  }

  #widenOwn(length: number): void {
    this.#received += length;
    if (this.#received < 0x4000_0000) return;
    this.connection.openWindow(0, this.#received);
    this.#received = 0;
  }

  #headers(flags: number, id: number, payload: Buffer): void {
    if (id === 0 || id % 2 === 0) throw broken('HEADERS on a stream that no client opens');
    let fragment = (flags & Flag.Padded) !== 0 ? withoutPadding(payload) : payload;
    let isSelfDependent = false;
    if ((flags & Flag.Priority) !== 0) {
      if (fragment.length < PRIORITY_LENGTH) throw new Http2Error(ErrorCode.FrameSizeError, 'HEADERS too short for its priority');
      isSelfDependent = dependency(fragment) === id;
      fragment = fragment.subarray(PRIORITY_LENGTH);
    }
    const ends = (flags & Flag.EndStream) !== 0;
    if ((flags & Flag.EndHeaders) !== 0) this.#complete(id, ends, fragment, isSelfDependent);
    else {
      this.#block = new HeaderBlock(id, ends, fragment, isSelfDependent);
      this.connection.onBlockBegun();
    }
  }

  #continuation(flags: number, id: number, payload: Buffer): void {
    const block = this.#block;
    if (block?.stream !== id) throw broken('CONTINUATION without HEADERS');
    this.#spend(FRAME_COST);
    const whole = block.append(flags, payload);
    if (whole === undefined) return;
    this.#block = undefined;
    this.connection.onBlockEnded();
    this.#complete(id, block.endsStream, whole, block.isSelfDependent);
  }

  /** A whole header block: a request, or the trailers of one. */
  #complete(id: number, ends: boolean, block: Buffer, isSelfDependent: boolean): void {
    const { connection } = this;
    const isKnown = id <= this.#lastOpened;
    const fields = new RequestFields(connection.listener.names, isKnown);
    this.#decoder.decode(block, fields);
    if (isKnown) {
      const open = connection.streams.get(id);
      if (open !== undefined) this.#trailers(open, ends, fields);
      else this.#headersOfClosedStream(id);
      return;
    }
    this.#openedBefore = this.#lastOpened;
    this.#lastOpened = id;
    if (connection.isLeaving) return;
    this.lastServed = id;
    if (connection.streams.size >= connection.maxStreams) {
      this.#spend(FRAME_COST);
      connection.refuse(id, ends);
      return;
    }
    const stream = new Http2Stream(id, connection);
    stream.remoteEnded = ends;
    connection.openStream(stream);
    if (isSelfDependent) stream.breakOff(ErrorCode.ProtocolError);
    else beginRequest(stream, fields);
  }

  /** Trailers of a stream that this side has reset, or an error: of a stream that is over, or was skipped (RFC 9113, 5.1 and 5.1.1). */
  #headersOfClosedStream(id: number): void {
    this.#spend(FRAME_COST);
    if (this.connection.isLeaving || this.connection.resetStreams.has(id)) return;
    if (id > this.#openedBefore && id < this.#lastOpened) throw broken('HEADERS on a stream that was skipped');
    throw new Http2Error(ErrorCode.StreamClosed, 'HEADERS on a closed stream');
  }

  #trailers(stream: Http2Stream, ends: boolean, fields: RequestFields): void {
    if (stream.remoteEnded) {
      stream.breakOff(ErrorCode.StreamClosed);
      return;
    }
    if (!ends || fields.malformed !== '' || fields.isTooLarge) stream.breakOff(ErrorCode.ProtocolError);
    else {
      const body = stream.request?.body;
      if (body !== undefined) body.trailers = fields.lines;
      stream.receiveEnd();
    }
  }

  #priority(id: number, payload: Buffer): void {
    this.#spend(FRAME_COST);
    if (id === 0) throw broken('PRIORITY on the connection');
    if (payload.length !== PRIORITY_LENGTH) throw new Http2Error(ErrorCode.FrameSizeError, 'PRIORITY of a wrong length');
    if (dependency(payload) === id) this.connection.streams.get(id)?.breakOff(ErrorCode.ProtocolError);
  }

  #reset(id: number, payload: Buffer): void {
    this.#assertOpened(id, 'RST_STREAM');
    if (payload.length !== 4) throw new Http2Error(ErrorCode.FrameSizeError, 'RST_STREAM of a wrong length');
    this.#spend(RESET_COST);
    this.connection.streams.get(id)?.onReset();
  }

  #settings(flags: number, id: number, payload: Buffer): void {
    this.#spend(FRAME_COST);
    if (id !== 0) throw broken('SETTINGS on a stream');
    if ((flags & Flag.EndStream) === 0) this.connection.applySettings(payload);
    else if (payload.length > 0) throw new Http2Error(ErrorCode.FrameSizeError, 'acknowledgement of SETTINGS with a payload');
    else this.connection.onSettingsAcknowledged();
  }

  #ping(flags: number, id: number, payload: Buffer): void {
    this.#spend(FRAME_COST);
    if (id !== 0) throw broken('PING on a stream');
    if (payload.length !== 8) throw new Http2Error(ErrorCode.FrameSizeError, 'PING of a wrong length');
    if ((flags & Flag.EndStream) === 0) this.connection.reply(FrameType.Ping, payload.latin1Slice());
    else this.connection.onPingAcknowledged(payload);
  }

  /** The client opens no more streams, which it does not have to. */
  #goaway(id: number, payload: Buffer): void {
    this.#spend(FRAME_COST);
    if (id !== 0) throw broken('GOAWAY on a stream');
    if (payload.length < GOAWAY_LENGTH) throw new Http2Error(ErrorCode.FrameSizeError, 'GOAWAY of a wrong length');
  }

  #windowUpdate(id: number, payload: Buffer): void {
    this.#spend(FRAME_COST);
    if (payload.length !== 4) throw new Http2Error(ErrorCode.FrameSizeError, 'WINDOW_UPDATE of a wrong length');
    const increment = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (id === 0) {
      if (increment === 0) throw broken('WINDOW_UPDATE of 0');
      this.connection.sender.widen(increment);
      return;
    }
    this.#assertOpened(id, 'WINDOW_UPDATE');
    const stream = this.connection.streams.get(id);
    if (stream === undefined) return;
    if (increment === 0) stream.breakOff(ErrorCode.ProtocolError);
    else if (stream.sendWindow + increment > 0x7fff_ffff) stream.breakOff(ErrorCode.FlowControlError);
    else {
      stream.widen(increment);
      this.connection.sender.takeTurns();
    }
  }

  #assertOpened(id: number, frame: string): void {
    if (id === 0 || id > this.#lastOpened) throw broken(`${frame} on a stream that is not open`);
  }

  #spend(cost: number): void {
    this.connection.flood.spend(cost, this.connection.context.clock.now);
  }
}

function broken(reason: string): Http2Error {
  return new Http2Error(ErrorCode.ProtocolError, reason);
}

/** The stream that the part about priorities names. */
function dependency(payload: Buffer): number {
  return payload.readUInt32BE(0) & 0x7fff_ffff;
}
