import type { FrameWriter } from './frame-writer.js';
import {
  DEFAULT_WINDOW,
  Http2ErrorCode,
  HEADER_TABLE_SIZE,
  Http2Error,
  LARGEST_FRAME_SIZE,
  LARGEST_WINDOW,
  MAX_FRAME_SIZE,
  Http2Setting,
} from './protocol.js';

/** Bytes of one setting: its number and its value. */
const ENTRY = 6;

/** A stream whose window follows the initial one. */
interface WindowedStream {
  /** @throws Http2Error */
  widen(change: number): void;
}

/** Settings of the other side (RFC 9113, 6.5.2). */
export class PeerSettings {
  initialWindow = DEFAULT_WINDOW;
  maxFrameSize = MAX_FRAME_SIZE;
  headerTableSize = HEADER_TABLE_SIZE;
  /** Of streams that this side opens. */
  maxStreams = Infinity;

  /**
   * Applies the payload of a SETTINGS frame to a connection with open streams.
   * @returns true if their windows are larger now
   * @throws Http2Error also for a window that becomes too large
   */
  applyTo(streams: Iterable<WindowedStream>, writer: FrameWriter, payload: Buffer): boolean {
    const { initialWindow, headerTableSize } = this;
    this.#apply(payload);
    if (this.headerTableSize < headerTableSize) writer.announceEmptyTable();
    const change = this.initialWindow - initialWindow;
    if (change !== 0) for (const stream of streams) stream.widen(change);
    return change > 0;
  }

  #apply(payload: Buffer): void {
    if (payload.length % ENTRY !== 0) throw new Http2Error(Http2ErrorCode.FrameSizeError, 'SETTINGS frame of an odd length');
    for (let at = 0; at < payload.length; at += ENTRY) this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
  }

  #set(name: number, value: number): void {
    switch (name) {
      case Http2Setting.HeaderTableSize:
        this.headerTableSize = value;
        return;
      case Http2Setting.EnablePush:
        if (value > 1) throw new Http2Error(Http2ErrorCode.ProtocolError, 'invalid SETTINGS_ENABLE_PUSH');
        return;
      case Http2Setting.InitialWindowSize:
        if (value > LARGEST_WINDOW) throw new Http2Error(Http2ErrorCode.FlowControlError, 'invalid SETTINGS_INITIAL_WINDOW_SIZE');
        this.initialWindow = value;
        return;
      case Http2Setting.MaxFrameSize:
        if (value < MAX_FRAME_SIZE || value > LARGEST_FRAME_SIZE)
          throw new Http2Error(Http2ErrorCode.ProtocolError, 'invalid SETTINGS_MAX_FRAME_SIZE');
        this.maxFrameSize = value;
        return;
      case Http2Setting.MaxConcurrentStreams:
        this.maxStreams = value;
        return;
      case Http2Setting.MaxHeaderListSize:
        return;
    }
  }
}
