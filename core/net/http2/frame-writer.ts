import type { Connection } from '../transport/connection.js';
import { Http2ErrorCode, FrameFlag, FRAME_HEAD, FrameType, type Http2Setting } from './protocol.js';

/** Frames up to here are joined with others to one string, which the runtime writes without a Buffer. */
const JOINED_LIMIT = 16_384;

const EMPTY = Buffer.alloc(0);
/** Dynamic table size update to 0: nothing is ever put into that table (RFC 7541, 4.2). */
const EMPTY_TABLE = '\x20';

/** Writes frames to a socket. Those of one turn of the event loop leave together: the owner calls {@link flush} at its end. */
export class FrameWriter {
  #text = '';
  /** Acknowledges a smaller table of the other side, in front of the next header block (RFC 7541, 4.2). */
  #tableUpdate = '';

  constructor(private readonly socket: Connection) {}

  get isEmpty(): boolean {
    return this.#text === '';
  }

  flush(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.socket.write(text, 'latin1');
  }

  /** A frame whose payload is text of single bytes. */
  frame(type: FrameType, flags: number, stream: number, payload: string): void {
    this.#text += frameHead(payload.length, type, flags, stream) + payload;
    if (this.#text.length > JOINED_LIMIT) this.flush();
  }

  /** The next header block says that the table of its encoder is empty, as it always is here. */
  announceEmptyTable(): void {
    this.#tableUpdate = EMPTY_TABLE;
  }

  /** A header block, in several frames if it is longer than one may be. */
  headers(stream: number, fields: string, ends: boolean, maxFrameSize: number): void {
    const block = this.#tableUpdate + fields;
    this.#tableUpdate = '';
    const flags = ends ? FrameFlag.EndStream : FrameFlag.None;
    if (block.length <= maxFrameSize) {
      this.frame(FrameType.Headers, flags | FrameFlag.EndHeaders, stream, block);
      return;
    }
    this.frame(FrameType.Headers, flags, stream, block.slice(0, maxFrameSize));
    for (let at = maxFrameSize; at < block.length; at += maxFrameSize) {
      const isLast = at + maxFrameSize >= block.length;
      this.frame(FrameType.Continuation, isLast ? FrameFlag.EndHeaders : FrameFlag.None, stream, block.slice(at, at + maxFrameSize));
    }
  }

  /** @param borrowed the bytes are only valid during the call */
  data(stream: number, chunk: Buffer, from: number, to: number, ends: boolean, borrowed: boolean): void {
    const head = frameHead(to - from, FrameType.Data, ends ? FrameFlag.EndStream : FrameFlag.None, stream);
    if (this.#text.length + FRAME_HEAD + to - from <= JOINED_LIMIT) {
      this.#text += head + chunk.latin1Slice(from, to);
      return;
    }
    const { socket } = this;
    const body = chunk.subarray(from, to);
    socket.cork();
    this.#text += head;
    this.flush();
    socket.write(borrowed ? Buffer.from(body) : body);
    socket.uncork();
  }

  /** Ends a stream whose last piece has left. */
  end(stream: number): void {
    this.data(stream, EMPTY, 0, 0, true, false);
  }

  settings(settings: readonly (readonly [Http2Setting, number])[]): void {
    this.frame(
      FrameType.Settings,
      FrameFlag.None,
      0,
      settings.map(([name, value]) => String.fromCharCode(name >> 8, name & 255) + uint32(value)).join(''),
    );
  }

  windowUpdate(stream: number, increment: number): void {
    this.frame(FrameType.WindowUpdate, FrameFlag.None, stream, uint32(increment));
  }

  reset(stream: number, code: Http2ErrorCode): void {
    this.frame(FrameType.RstStream, FrameFlag.None, stream, uint32(code));
  }

  goaway(lastStream: number, code: Http2ErrorCode, reason: string): void {
    this.frame(FrameType.Goaway, FrameFlag.None, 0, uint32(lastStream) + uint32(code) + reason);
  }
}

function frameHead(length: number, type: FrameType, flags: number, stream: number): string {
  return String.fromCharCode(
    length >> 16,
    (length >> 8) & 255,
    length & 255,
    type,
    flags,
    stream >>> 24,
    (stream >> 16) & 255,
    (stream >> 8) & 255,
    stream & 255,
  );
}

function uint32(value: number): string {
  return String.fromCharCode(value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255);
}
