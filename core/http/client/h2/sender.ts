import type { Socket } from 'node:net';
import { PIECE_EARNS, type FloodGuard } from '../../../net/http2/flood-guard.js';
import type { FrameWriter } from '../../../net/http2/frame-writer.js';
import { DEFAULT_WINDOW, ErrorCode, Http2Error, LARGEST_WINDOW } from '../../../net/http2/protocol.js';
import type { Clock } from '../../../net/clock.js';
import type { OutputQueue } from './output-queue.js';

/** Bytes the socket may hold before streams have to wait. */
const HIGH_WATER = 131_072;
/** Bytes that a stream sends before it is the turn of the next one. */
const TURN = 16_384;

/** A stream as its connection's sender sees it. */
export interface SendingStream {
  readonly id: number;
  readonly output: OutputQueue;
  /** What may still be sent on this stream; negative after a setting has made it smaller. */
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
  #first: SendingStream | undefined = undefined;
  #last: SendingStream | undefined = undefined;

  constructor(
    private readonly socket: Socket,
    private readonly writer: FrameWriter,
    private readonly flood: FloodGuard,
    private readonly clock: Clock,
  ) {}

  get isBehind(): boolean {
    return this.socket.writableLength > HIGH_WATER;
  }

  /** @throws Http2Error beyond the greatest window */
  widen(increment: number): void {
    this.#window += increment;
    if (this.#window > LARGEST_WINDOW) throw new Http2Error(ErrorCode.FlowControlError, 'window of the connection too large');
    this.takeTurns();
  }

  /** A stream has more to send. @returns the bytes that left at once */
  send(stream: SendingStream): number {
    if (stream.isQueued) return 0;
    const sent = this.#first === undefined ? this.#sendFrom(stream, Infinity) : 0;
    if (stream.wantsTurn) this.enqueue(stream);
    return sent;
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
      if (stream === undefined || (this.#window <= 0 && stream.output.isWaiting)) return;
      this.#first = stream.nextInTurn;
      if (this.#first === undefined) this.#last = undefined;
      stream.isQueued = false;
      stream.onTurn(this.#sendFrom(stream, TURN));
      if (stream.wantsTurn) this.enqueue(stream);
    }
  }

  /**
   * Sends bytes that nothing stands before, without a queue.
   * @returns false if they do not fit into the windows or a frame: then nothing was sent
   */
  sendNow(stream: SendingStream, chunk: Buffer, from: number, to: number, borrowed: boolean): boolean {
    const length = to - from;
    if (this.#first !== undefined || length > Math.min(this.#window, stream.sendWindow, stream.chunkSize) || this.isBehind) return false;
    this.#count(stream, length);
    this.flood.earn(PIECE_EARNS);
    this.writer.data(stream.id, chunk, from, to, stream.endsOutput, borrowed);
    return true;
  }

  #sendFrom(stream: SendingStream, most: number): number {
    const { output, chunkSize } = stream;
    let sent = 0;
    // Pieces leave in one system call.
    this.socket.cork();
    while (sent < most && !this.isBehind) {
      const window = Math.min(this.#window, stream.sendWindow);
      const piece = output.take(Math.min(window, chunkSize));
      if (piece === undefined) break;
      const { length } = piece;
      sent += length;
      this.#count(stream, length);
      this.writer.data(stream.id, piece, 0, length, stream.endsOutput && !output.isWaiting, output.tookBorrowed);
      // The client decides how long the pieces are that fill its window.
      if (length === window && length < chunkSize) this.flood.earnBytes(length);
      else this.flood.earn(PIECE_EARNS);
    }
    this.socket.uncork();
    return sent;
  }

  #count(stream: SendingStream, length: number): void {
    this.#window -= length;
    stream.sendWindow -= length;
    this.sentAt = this.clock.now;
  }
}
