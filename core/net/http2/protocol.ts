/** Numbers of HTTP/2 (RFC 9113). */

export const enum FrameType {
  Data,
  Headers,
  Priority,
  RstStream,
  Settings,
  PushPromise,
  Ping,
  Goaway,
  WindowUpdate,
  Continuation,
}

export const enum FrameFlag {
  None = 0,
  /** Of DATA and HEADERS; of SETTINGS and PING it is the acknowledgement. */
  EndStream = 1,
  EndHeaders = 4,
  Padded = 8,
  Priority = 32,
}

export const enum Http2Setting {
  HeaderTableSize = 1,
  EnablePush,
  MaxConcurrentStreams,
  InitialWindowSize,
  MaxFrameSize,
  MaxHeaderListSize,
}

export const enum Http2ErrorCode {
  NoError,
  ProtocolError,
  InternalError,
  FlowControlError,
  SettingsTimeout,
  StreamClosed,
  FrameSizeError,
  RefusedStream,
  Cancel,
  CompressionError,
  ConnectError,
  EnhanceYourCalm,
}

/** First bytes of a client. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
/** Bytes of a frame's head. */
export const FRAME_HEAD = 9;
/** Bytes of a frame's payload, as long as no setting says otherwise. This side never changes it. */
export const MAX_FRAME_SIZE = 16_384;
export const LARGEST_FRAME_SIZE = 16_777_215;
export const DEFAULT_WINDOW = 65_535;
export const LARGEST_WINDOW = 2_147_483_647;
/** Bytes of the dynamic table for fields (RFC 7541, 4.2). */
export const HEADER_TABLE_SIZE = 4096;

/** Breaks a connection: what the other side gets in GOAWAY, and why, for the log. */
export class Http2Error extends Error {
  constructor(
    readonly code: Http2ErrorCode,
    reason: string,
  ) {
    super(reason);
  }
}
