import { LARGEST_WINDOW, Http2Error, Http2ErrorCode } from '../../../net/http2/protocol.js';
import { OutputQueue } from '../../../net/http2/output-queue.js';
import type { SendingStream } from '../../../net/http2/sender.js';
import type { Timed } from '../../../net/timers.js';
import type { HttpContext } from '../../request/context.js';
import type { Lender } from '../../request/lender.js';
import type { Request } from '../../request/request.js';
import { onResponseDrained } from '../../response/response.js';
import type { Http2Connection } from './http2-connection.js';
import { interimBlock, responseBlock, trailerBlock } from './response-block.js';

/** Bytes that may wait for the client's window before a source has to stop that cannot be read when there is room. */
const HIGH_WATER = 65_536;

/** The response on an HTTP/2 stream, within the windows of the client (RFC 9113, 5.2). A base class: a stream has no object of its own for it. */
export abstract class StreamOutput implements SendingStream, Timed {
  deadline = 0;
  slot = -1;
  readonly context: HttpContext;
  request: Request | undefined = undefined;
  sendWindow: number;
  endsOutput = false;
  chunkSize = 0;
  isQueued = false;
  nextInTurn: SendingStream | undefined = undefined;
  /** No frame of the stream is sent any more. */
  protected isOver = false;
  /** END_STREAM was sent. */
  protected localEnded = false;
  /** The deadline is that of send_timeout: the client consumes nothing. */
  protected isStalled = false;
  /** The encoded head of the response, until it leaves. */
  #head = '';
  /** Bytes of the response that are still to come, below 0: unknown. */
  #left = -1;
  /** Encoded, until the body has left. */
  #trailers = '';
  #fellBehind = false;
  /** A source that is not ahead waits for room. */
  #needsRoom = false;
  /** Most responses leave at once. */
  #output: OutputQueue | undefined = undefined;

  constructor(
    readonly id: number,
    readonly connection: Http2Connection,
  ) {
    this.context = connection.context;
    this.sendWindow = connection.peer.initialWindow;
  }

  abstract onDeadline(): void;
  /** The client has consumed something: it may be late with the body again. */
  protected abstract resumeTimes(): void;
  /** END_STREAM was sent after the output had waited. */
  protected abstract onSent(): void;

  writeInterim(request: Request, status: string, lines: string): void {
    if (this.isOver) return;
    const block = interimBlock(status, lines, this.context.hpack);
    request.interimBytes += block.length;
    request.bytesSent += block.length;
    this.connection.sendHeaders(this, block, false);
  }

  writeHead(request: Request): void {
    const block = responseBlock(request);
    const { length } = request.response;
    request.headBytes = block.length;
    request.sentLength = length;
    this.#head = block;
    this.#left = request.sendsBody && !request.response.hasTrailers ? length : -1;
    this.chunkSize = Math.min(request.location.settings.http2ChunkSize, this.connection.peer.maxFrameSize);
  }

  get holdsHead(): boolean {
    return this.#head !== '';
  }

  dropHead(request: Request): void {
    this.#head = '';
    request.headSent = false;
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (this.isOver || this.endsOutput) return;
    this.flush(request);
    request.bytesSent += to - from;
    this.#left -= to - from;
    // The end goes with the last piece where the length says which that is.
    this.endsOutput = this.#left === 0;
    const { sender } = this.connection;
    const borrowed = lender !== undefined;
    const at = sender.sendNow(this, chunk, from, to, borrowed);
    if (at === to) {
      this.localEnded = this.endsOutput;
      if (this.isStalled) this.resumeTimes();
    } else {
      (this.#output ??= new OutputQueue(sender)).push(chunk.subarray(at, to), borrowed);
      if (this.wantsTurn) sender.enqueue(this);
      this.#afterSending(at - from);
    }
    this.connection.scheduleFlush();
  }

  get waiting(): number {
    return this.#output?.length ?? 0;
  }

  takeWaiting(most: number): Buffer | undefined {
    return this.#output?.take(most);
  }

  flush(request: Request): void {
    if (this.#head === '' || this.isOver) return;
    const head = this.#head;
    this.#head = '';
    request.bytesSent += head.length;
    this.connection.sendHeaders(this, head, false);
  }

  end(request: Request): void {
    if (this.isOver || this.endsOutput) return;
    if (request.sendsBody && request.response.hasTrailers) this.#trailers = trailerBlock(request);
    if (this.#trailers !== '') {
      this.flush(request);
      if (this.waiting === 0) this.#sendTrailers();
    } else this.#endBody(request);
  }

  #endBody(request: Request): void {
    this.endsOutput = true;
    // Else the end goes with the last piece that waits.
    if (this.waiting > 0) return;
    this.localEnded = true;
    const head = this.#head;
    this.#head = '';
    request.bytesSent += head.length;
    if (head === '') this.connection.endStream(this.id);
    else this.connection.sendHeaders(this, head, true);
  }

  get awaitsDrain(): boolean {
    if (this.room > 0) return false;
    this.#needsRoom = true;
    if (this.wantsTurn) this.connection.sender.enqueue(this);
    this.connection.scheduleFlush();
    return true;
  }

  get room(): number {
    return this.isOver || this.waiting > 0 ? 0 : this.connection.sender.roomFor(this);
  }

  get isBehind(): boolean {
    const { sender } = this.connection;
    if (this.waiting <= this.#mostWaiting && !sender.isBehind) return false;
    this.#fellBehind = true;
    if (this.wantsTurn) sender.enqueue(this);
    return true;
  }

  /** The time limit runs for every stream that has something to send, or whose source waits for a window. */
  watchSending(): void {
    if (this.#needsRoom) this.#afterSending(0);
  }

  get needsWindow(): boolean {
    return this.waiting > 0 || this.#needsRoom;
  }

  get wantsTurn(): boolean {
    if (this.isOver) return false;
    return this.needsWindow ? this.sendWindow > 0 : this.#fellBehind;
  }

  onTurn(sent: number): void {
    this.#afterSending(sent);
    const { request } = this;
    if (request === undefined || this.isOver) return;
    const isDrained = (this.#fellBehind && this.waiting <= this.#mostWaiting) || (this.#needsRoom && this.waiting === 0);
    if (!isDrained) return;
    this.#fellBehind = false;
    this.#needsRoom = false;
    if (this.isStalled && this.waiting === 0) this.resumeTimes();
    onResponseDrained(request);
  }

  /** Bytes that sources may be ahead of the client. */
  get #mostWaiting(): number {
    return this.connection.sender.mayReadAhead ? HIGH_WATER : 0;
  }

  /** @throws Http2Error FLOW_CONTROL_ERROR beyond the greatest window */
  widen(increment: number): void {
    this.sendWindow += increment;
    if (this.sendWindow > LARGEST_WINDOW) throw new Http2Error(Http2ErrorCode.FlowControlError, 'window of a stream too large');
    if (this.needsWindow && this.wantsTurn) this.connection.sender.enqueue(this);
  }

  /** Discards the pieces that wait. */
  protected dropWaiting(): void {
    this.#output?.clear();
  }

  protected get sendTimeout(): number {
    return this.request?.location.settings.sendTimeout ?? 0;
  }

  #afterSending(sent: number): void {
    if (this.isOver || this.localEnded) return;
    const { timers } = this.context;
    if (this.needsWindow) {
      if (sent > 0 || !this.isStalled) timers.arm(this, this.sendTimeout);
      this.isStalled = true;
      return;
    }
    if (this.#trailers !== '') this.#sendTrailers();
    this.localEnded = this.endsOutput;
    if (this.isStalled) this.resumeTimes();
    if (this.localEnded) this.onSent();
  }

  /** The body has left: its trailers end the stream. */
  #sendTrailers(): void {
    const trailers = this.#trailers;
    this.#trailers = '';
    this.endsOutput = this.localEnded = true;
    if (this.request !== undefined) this.request.bytesSent += trailers.length;
    this.connection.sendHeaders(this, trailers, true);
  }
}
