import type { Clock } from '../clock.js';
import { FRAME_COST, type FloodGuard } from './flood-guard.js';
import { type FrameSink, withoutPadding } from './frame-reader.js';
import { HeaderBlock } from './header-block.js';
import { Http2ErrorCode, FrameFlag, FrameType, Http2Error } from './protocol.js';

/** Bytes of the part of HEADERS that is about priorities (RFC 9113, 5.3.2). */
export const PRIORITY_LENGTH = 5;
/** Bytes of GOAWAY without what it says for people. */
const GOAWAY_LENGTH = 8;
/** The window of the connection is so large that it is opened again after so many bytes, and never waited for. */
const WINDOW_STEP = 0x4000_0000;

/** A connection whose frames are dispatched. */
export interface FrameOwner {
  readonly context: { readonly clock: Clock };
  readonly flood: FloodGuard;
  readonly sender: { widen(increment: number): void };
  openWindow(stream: number, increment: number): void;
  /** @throws Http2Error */
  applySettings(payload: Buffer): void;
  /** Acknowledges a SETTINGS or PING frame. */
  reply(type: FrameType.Settings | FrameType.Ping, payload: string): void;
}

/**
 * Checks the frames of one connection (RFC 9113, 6), and handles the ones that mean the same on either side of it. Streams are the business
 * of the subclasses. All methods throw Http2Error for what ends the connection.
 */
export abstract class FrameDispatcher implements FrameSink {
  #block: HeaderBlock | undefined = undefined;
  #greeted = false;
  /** Bytes of bodies since the window of the connection was opened last. */
  #received = 0;

  /** @param windowCost of a WINDOW_UPDATE, see {@link FRAME_COST} */
  constructor(
    private readonly owner: FrameOwner,
    private readonly windowCost: number,
  ) {}

  /** A header block has begun, and its end has not come. */
  get isWithinBlock(): boolean {
    return this.#block !== undefined;
  }

  onFrame(type: number, flags: number, stream: number, payload: Buffer): boolean {
    if (!this.#greeted && (type !== FrameType.Settings || (flags & FrameFlag.EndStream) !== 0))
      throw broken('the first frame is not SETTINGS');
    this.#greeted = true;
    if (this.#block !== undefined && type !== FrameType.Continuation) throw broken('a frame within a header block');
    this.#handle(type, flags, stream, payload);
    return true;
  }

  /** @param flowing bytes that count for windows: with the padding */
  protected abstract receiveData(stream: number, data: Buffer, flowing: number, ends: boolean): void;
  /** HEADERS may come on that stream. */
  protected abstract assertHeaders(stream: number): void;
  /** A whole header block. @param isSelfDependent its priority names the stream itself */
  protected abstract receiveBlock(stream: number, ends: boolean, block: Buffer, isSelfDependent: boolean): void;
  protected abstract receiveReset(stream: number, code: number): void;
  protected abstract receivePushPromise(): never;
  /** @param last the number of the last stream that the other side has seen */
  protected abstract receiveGoaway(last: number): void;
  protected abstract receiveWindow(stream: number, increment: number): void;
  /** The stream exists, or has existed. @param frame for the log */
  protected abstract assertOpened(stream: number, frame: string): void;

  /** A header block that comes in several frames has begun, or is whole. */
  protected onBlockBegun(): void {}
  protected onBlockEnded(): void {}
  /** PRIORITY, which is ignored, but not for nothing. */
  protected receivePriority(_stream: number, _payload: Buffer): void {
    this.spend(FRAME_COST);
  }
  protected onSettingsAcknowledged(): void {}
  protected onPingAcknowledged(_payload: Buffer): void {}

  protected spend(cost: number): void {
    this.owner.flood.spend(cost, this.owner.context.clock.now);
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
        this.receivePriority(stream, payload);
        return;
      case FrameType.RstStream:
        this.#reset(stream, payload);
        return;
      case FrameType.Settings:
        this.#settings(flags, stream, payload);
        return;
      case FrameType.PushPromise:
        this.receivePushPromise();
        return;
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
        this.spend(FRAME_COST);
    }
  }

  #data(flags: number, stream: number, payload: Buffer): void {
    this.assertOpened(stream, 'DATA');
    const data = (flags & FrameFlag.Padded) !== 0 ? withoutPadding(payload) : payload;
    const ends = (flags & FrameFlag.EndStream) !== 0;
    if (data.length === 0 && !ends) this.spend(FRAME_COST);
    else this.owner.flood.earnBytes(data.length);
    if (payload.length > 0) this.#widenOwn(payload.length);
    this.receiveData(stream, data, payload.length, ends);
  }

  #widenOwn(length: number): void {
    this.#received += length;
    if (this.#received < WINDOW_STEP) return;
    this.owner.openWindow(0, this.#received);
    this.#received = 0;
  }

  #headers(flags: number, stream: number, payload: Buffer): void {
    this.assertHeaders(stream);
    let fragment = (flags & FrameFlag.Padded) !== 0 ? withoutPadding(payload) : payload;
    let isSelfDependent = false;
    if ((flags & FrameFlag.Priority) !== 0) {
      if (fragment.length < PRIORITY_LENGTH) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'HEADERS too short for its priority');
      isSelfDependent = dependency(fragment) === stream;
      fragment = fragment.subarray(PRIORITY_LENGTH);
    }
    const ends = (flags & FrameFlag.EndStream) !== 0;
    if ((flags & FrameFlag.EndHeaders) !== 0) this.receiveBlock(stream, ends, fragment, isSelfDependent);
    else {
      this.#block = new HeaderBlock(stream, ends, fragment, isSelfDependent);
      this.onBlockBegun();
    }
  }

  #continuation(flags: number, stream: number, payload: Buffer): void {
    const block = this.#block;
    if (block?.stream !== stream) throw broken('CONTINUATION without HEADERS');
    this.spend(FRAME_COST);
    const whole = block.append(flags, payload);
    if (whole === undefined) return;
    this.#block = undefined;
    this.onBlockEnded();
    this.receiveBlock(stream, block.endsStream, whole, block.isSelfDependent);
  }

  #reset(stream: number, payload: Buffer): void {
    this.assertOpened(stream, 'RST_STREAM');
    if (payload.length !== 4) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'RST_STREAM of a wrong length');
    this.receiveReset(stream, payload.readUInt32BE(0));
  }

  #settings(flags: number, stream: number, payload: Buffer): void {
    this.spend(FRAME_COST);
    if (stream !== 0) throw broken('SETTINGS on a stream');
    if ((flags & FrameFlag.EndStream) === 0) this.owner.applySettings(payload);
    else if (payload.length > 0) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'acknowledgement of SETTINGS with a payload');
    else this.onSettingsAcknowledged();
  }

  #ping(flags: number, stream: number, payload: Buffer): void {
    this.spend(FRAME_COST);
    if (stream !== 0) throw broken('PING on a stream');
    if (payload.length !== 8) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'PING of a wrong length');
    if ((flags & FrameFlag.EndStream) === 0) this.owner.reply(FrameType.Ping, payload.latin1Slice());
    else this.onPingAcknowledged(payload);
  }

  #goaway(stream: number, payload: Buffer): void {
    this.spend(FRAME_COST);
    if (stream !== 0) throw broken('GOAWAY on a stream');
    if (payload.length < GOAWAY_LENGTH) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'GOAWAY of a wrong length');
    this.receiveGoaway(payload.readUInt32BE(0) & 0x7fff_ffff);
  }

  #windowUpdate(stream: number, payload: Buffer): void {
    this.spend(this.windowCost);
    if (payload.length !== 4) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'WINDOW_UPDATE of a wrong length');
    const increment = payload.readUInt32BE(0) & 0x7fff_ffff;
    if (stream === 0) {
      if (increment === 0) throw broken('WINDOW_UPDATE of 0');
      this.owner.sender.widen(increment);
      return;
    }
    this.assertOpened(stream, 'WINDOW_UPDATE');
    this.receiveWindow(stream, increment);
  }
}

/** An error of the other side that ends the connection. */
export function broken(reason: string): Http2Error {
  return new Http2Error(Http2ErrorCode.ProtocolError, reason);
}

/** The stream that a priority depends on. */
export function dependency(payload: Buffer): number {
  return payload.readUInt32BE(0) & 0x7fff_ffff;
}
