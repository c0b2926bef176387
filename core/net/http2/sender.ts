import type { Connection } from '../transport/connection.js';
import { PIECE_EARNS, type FloodGuard } from './flood-guard.js';
import type { FrameWriter } from './frame-writer.js';
import { DEFAULT_WINDOW, Http2ErrorCode, Http2Error, LARGEST_WINDOW } from './protocol.js';
import type { ReadBuffers } from '../buffers.js';
import type { Clock } from '../clock.js';

/** Bytes the socket may hold before streams have to wait. */
const HIGH_WATER = 131_072;
/** Bytes that a stream sends before it is the turn of the next one. */
const TURN = 16_384;

/** Bytes that may wait on all streams of a connection before sources get no further ahead. */
const READ_AHEAD = 1_048_576;

/** Bytes that one of several streams may send before the others' sources had a chance, where nothing holds it up. */
const BURST = 131_072;

/** A stream as its connection's sender sees it. */
export interface SendingStream {
  readonly id: number;
  /** Bytes that wait. */
  readonly waiting: number;
  /** Nothing of it can go on without a window. */
  readonly needsWindow: boolean;
  /** Window of this stream; negative after a setting has made it smaller. */
  sendWindow: number;
  /** The last byte is in the output: the end of the stream follows it. */
  readonly endsOutput: boolean;
  /** Longest payload of a frame. */
  readonly chunkSize: number;
  /** It has something to send, or a source that waits for the socket. */
  readonly wantsTurn: boolean;
  /** The links are the sender's. */
  isQueued: boolean;
  nextInTurn: SendingStream | undefined;
  /** Removes up to this number of waiting bytes. */
  takeWaiting(most: number): Buffer | undefined;
  /** @param sent bytes that left in its turn */
  onTurn(sent: number): void;
}

/**
 * Sends the bodies of a connection's streams as far as its window and its socket allow. A stream that is alone sends at once; when several
 * wait they take turns, so that a large response does not hold up the others.
 */
export class Sender {
  /** When some of a body was sent last. Epoch milliseconds. */
  sentAt = 0;
  #window = DEFAULT_WINDOW;
  /** Bytes that one stream has sent at once since the last {@link endBurst}. */
  #burst = 0;
  #burstStream: SendingStream | undefined = undefined;
  #first: SendingStream | undefined = undefined;
  #last: SendingStream | undefined = undefined;
  /** The stream whose turn it is, and what it may still send in it. */
  #atTurn: SendingStream | undefined = undefined;
  #turnLeft = 0;
  /** Bytes that wait on all streams. */
  #waiting = 0;

  constructor(
    private readonly socket: Connection,
    private readonly writer: FrameWriter,
    private readonly flood: FloodGuard,
    private readonly clock: Clock,
    private readonly streams: ReadonlyMap<number, SendingStream>,
    private readonly buffers: ReadBuffers,
  ) {}

  /** Bytes wait on one of the streams. */
  count(bytes: number): void {
    this.#waiting += bytes;
    this.buffers.count(bytes);
  }

  /** Sources may be ahead of the client: not where many streams wait, or memory is scarce. */
  get mayReadAhead(): boolean {
    return this.#waiting <= READ_AHEAD && !this.buffers.isScarce;
  }

  /** Bytes that a stream without any that wait could send at once. */
  roomFor(stream: SendingStream): number {
    if (this.isBehind) return 0;
    const window = Math.min(this.#window, stream.sendWindow);
    if (this.#atTurn === stream) return Math.min(window, this.#turnLeft);
    return this.#first !== undefined || this.#hasHadItsTurn(stream) ? 0 : window;
  }

  get isBehind(): boolean {
    return this.socket.writableLength > HIGH_WATER;
  }

  /** A stream waits only for the next turn of the event loop. */
  get isHeldBack(): boolean {
    return this.#first !== undefined && !this.isBehind && this.#window > 0;
  }

  /** Another turn of the event loop: sources of all streams had their chance. */
  endBurst(): void {
    this.#burst = 0;
    if (this.#first !== undefined) this.takeTurns();
  }

  /** @throws Http2Error beyond the greatest window */
  widen(increment: number): void {
    this.#window += increment;
    if (this.#window > LARGEST_WINDOW) throw new Http2Error(Http2ErrorCode.FlowControlError, 'window of the connection too large');
    this.takeTurns();
  }

  /**
   * Sends data that nothing precedes, as far as possible.
   * @param borrowed the bytes are only valid during the call
   * @returns the offset after the sent part
   */
  sendNow(stream: SendingStream, chunk: Buffer, from: number, to: number, borrowed: boolean): number {
    const isItsTurn = this.#atTurn === stream && this.#turnLeft > 0;
    if (stream.waiting > 0 || (!isItsTurn && (this.#first !== undefined || this.#hasHadItsTurn(stream)))) return from;
    let at = from;
    const isLong = to - from > stream.chunkSize;
    // Pieces leave in one system call.
    if (isLong) this.socket.cork();
    while (at < to && !this.isBehind) {
      const length = Math.min(this.#room(stream), to - at);
      if (length <= 0) break;
      at += length;
      this.#sendFrame(stream, chunk, at - length, at, stream.endsOutput && at === to, borrowed);
    }
    if (isLong) this.socket.uncork();
    this.#burst += at - from;
    this.#turnLeft -= at - from;
    return at;
  }

  #hasHadItsTurn(stream: SendingStream): boolean {
    if (this.#burstStream !== stream) {
      this.#burstStream = stream;
      this.#burst = 0;
    }
    return this.#burst >= BURST && this.streams.size > 1;
  }

  enqueue(stream: SendingStream): void {
    if (stream.isQueued) return;
    stream.isQueued = true;
    stream.nextInTurn = undefined;
    if (this.#last === undefined) this.#first = stream;
    else this.#last.nextInTurn = stream;
    this.#last = stream;
  }

  /** The socket or a window has room: everybody who waits sends a little, until it is used up. */
  takeTurns(): void {
    while (!this.isBehind) {
      const stream = this.#first;
      if (stream === undefined || (this.#window <= 0 && stream.needsWindow)) return;
      this.#first = stream.nextInTurn;
      if (this.#first === undefined) this.#last = undefined;
      stream.isQueued = false;
      const sent = stream.waiting > 0 ? this.#sendFrom(stream, TURN) : 0;
      this.#atTurn = stream;
      this.#turnLeft = TURN - sent;
      stream.onTurn(sent);
      this.#atTurn = undefined;
      if (stream.wantsTurn) this.enqueue(stream);
    }
  }

  #sendFrom(stream: SendingStream, most: number): number {
    let sent = 0;
    this.socket.cork();
    while (sent < most && !this.isBehind) {
      const piece = stream.takeWaiting(this.#room(stream));
      if (piece === undefined) break;
      sent += piece.length;
      this.#sendFrame(stream, piece, 0, piece.length, stream.endsOutput && stream.waiting === 0, false);
    }
    this.socket.uncork();
    return sent;
  }

  /** Bytes that the next frame may have. */
  #room({ sendWindow, chunkSize }: SendingStream): number {
    return Math.min(this.#window, sendWindow, chunkSize);
  }

  #sendFrame(stream: SendingStream, chunk: Buffer, from: number, to: number, ends: boolean, borrowed: boolean): void {
    const length = to - from;
    // The client decides how long the pieces are that fill its window.
    if (length < stream.chunkSize && length === Math.min(this.#window, stream.sendWindow)) this.flood.earnBytes(length);
    else this.flood.earn(PIECE_EARNS);
    this.#window -= length;
    stream.sendWindow -= length;
    this.sentAt = this.clock.now;
    this.writer.data(stream.id, chunk, from, to, ends, borrowed);
  }
}
