import { NO_BODY, type AttemptHead } from '../../../../contract/member.js';
import { BODY_NONE, parseResponseHead, responseBodyKind } from '../../../../net/http1/response-head.js';
import { RESPONSE_EARNS } from '../../../../net/http2/flood-guard.js';
import { OutputQueue } from '../../../../net/http2/output-queue.js';
import { Http2ErrorCode, Http2Error, LARGEST_WINDOW } from '../../../../net/http2/protocol.js';
import type { SendingStream } from '../../../../net/http2/sender.js';
import type { Timed } from '../../../../net/timers.js';
import type { MemberReader, MemberStream, MemberTarget } from '../../member-stream.js';
import { STREAM_WINDOW, type Http2MemberConnection } from './member-connection.js';
import type { Http2ResponseFields } from './response-fields.js';

/** Bytes of a body that are sent before other streams have their turn, and the longest frame of one. */
const CHUNK = 16_384;
/** The window of a response is opened again when that much of it is used up. */
const WINDOW_STEP = STREAM_WINDOW / 2;
const FRAME_HEAD = 9;

/** One request at a member over HTTP/2, and its response. */
export class Http2MemberStream implements MemberStream, SendingStream, Timed {
  deadline = 0;
  slot = -1;
  id = 0;
  sendWindow = 0;
  endsOutput = false;
  chunkSize = CHUNK;
  isQueued = false;
  nextInTurn: SendingStream | undefined = undefined;
  sent = 0;
  received = 0;
  headLength = 0;
  hasHead = false;
  readonly isReused: boolean;
  #reader: MemberReader | undefined;
  #method = '';
  #readsAtStart = 0;
  /** All of the request is on its way. */
  #localEnded = false;
  #remoteEnded = false;
  /** Bytes of the body that are to come, -1: not known. */
  #left = -1;
  #mayHaveBody = true;
  /** Bytes that the member may still send, and whether it is let to send more. */
  #window = STREAM_WINDOW;
  #isPaused = false;
  #isTouched = false;
  #output: OutputQueue | undefined = undefined;
  #release: (() => void) | undefined = undefined;
  /** Field lines that follow what waits. */
  #trailers = '';

  constructor(
    private readonly connection: Http2MemberConnection,
    private readonly target: MemberTarget,
    reader: MemberReader,
  ) {
    this.#reader = reader;
    target.context.admission.countStream(1);
    this.isReused = connection.isReady && connection.requests > 0;
    if (!connection.isReady) connection.waiting.add(this);
  }

  get isConnected(): boolean {
    return this.connection.isReady;
  }
  get ownFailure(): 'alert' | 'crit' | undefined {
    return this.connection.ownFailure;
  }
  get failureLevel(): 'error' | 'crit' {
    return this.connection.failureLevel;
  }
  get isHandshaking(): boolean {
    return this.connection.isHandshaking;
  }
  get unsent(): number {
    return this.waiting;
  }
  /** Bytes that the head of a response may have. */
  get headLimit(): number {
    return this.target.headLimits.total;
  }

  // The request.

  start(head: AttemptHead, body: readonly Buffer[], ends: boolean): void {
    const { connection } = this;
    this.id = connection.enter(this);
    if (this.id === 0) {
      this.onRefused();
      return;
    }
    this.#method = head.method;
    this.#readsAtStart = connection.reads;
    this.sendWindow = connection.settings.initialWindow;
    const block = connection.blocks.encode(head, connection.isSecure);
    this.sent = block.length + FRAME_HEAD;
    const isEmpty = ends && (head.length === NO_BODY || body.length === 0 || head.length === 0);
    connection.sendHeaders(this.id, block, isEmpty);
    if (isEmpty) {
      this.endsOutput = this.#localEnded = true;
      return;
    }
    body.forEach((piece, at) => this.#send(piece, ends && at === body.length - 1, false));
  }

  write(piece: Buffer, release: (() => void) | undefined): void {
    if (this.#reader === undefined) return;
    this.#release = release;
    // The memory of a lent piece is returned as soon as it is sent, which is not reported piece by piece.
    this.#send(piece, false, release !== undefined);
    if (this.waiting === 0) this.#releasePiece();
  }

  end(trailers: string): void {
    if (this.#reader === undefined || this.endsOutput) return;
    if (trailers !== '') {
      this.#trailers = trailers;
      if (this.waiting === 0) this.#sendTrailers();
      return;
    }
    this.endsOutput = true;
    if (this.waiting > 0) return;
    this.#localEnded = true;
    this.connection.endStream(this.id);
  }

  #sendTrailers(): void {
    const block = this.connection.blocks.lines(this.#trailers);
    this.#trailers = '';
    this.sent += block.length + FRAME_HEAD;
    this.endsOutput = this.#localEnded = true;
    this.connection.sendHeaders(this.id, block, true);
  }

  #send(piece: Buffer, ends: boolean, borrowed: boolean): void {
    if (piece.length === 0 && !ends) return;
    const { sender } = this.connection;
    this.endsOutput = ends;
    this.sent += piece.length;
    const at = piece.length === 0 ? 0 : sender.sendNow(this, piece, 0, piece.length, borrowed);
    if (at < piece.length) {
      (this.#output ??= new OutputQueue(sender)).push(piece.subarray(at), borrowed);
      if (this.wantsTurn) sender.enqueue(this);
    } else if (ends) this.#localEnded = true;
    this.connection.scheduleFlush();
  }

  // For the sender.

  get waiting(): number {
    return this.#output?.length ?? 0;
  }
  get needsWindow(): boolean {
    return this.waiting > 0;
  }
  get wantsTurn(): boolean {
    return this.waiting > 0 && this.sendWindow > 0 && this.#reader !== undefined;
  }

  takeWaiting(most: number): Buffer | undefined {
    return this.#output?.take(most);
  }

  onTurn(): void {
    if (this.#reader === undefined || this.waiting > 0) return;
    if (this.endsOutput) this.#localEnded = true;
    else if (this.#trailers !== '') this.#sendTrailers();
    this.#releasePiece();
    this.#reader.onRoom();
  }

  /** @throws Http2Error FLOW_CONTROL_ERROR beyond the greatest window */
  widen(increment: number): void {
    this.sendWindow += increment;
    if (this.sendWindow > LARGEST_WINDOW) throw new Http2Error(Http2ErrorCode.FlowControlError, 'window of a stream too large');
    if (this.wantsTurn) this.connection.sender.enqueue(this);
  }

  // The response.

  /** A frame of the stream has come. */
  touch(): void {
    if (this.#isTouched) return;
    this.#isTouched = true;
    this.connection.touched.push(this);
  }

  /** The read that touched it is over. */
  endRead(length: number): void {
    this.#isTouched = false;
    this.#reader?.onRead(length);
  }

  /** @param text a head in the form of HTTP/1 */
  receiveHead(text: string, ends: boolean, length: number): void {
    const { context, headLimits } = this.target;
    const { responseHead: head } = context;
    this.received += length + FRAME_HEAD;
    this.headLength = this.received;
    // The scratch may hold the very head: that of the response before.
    if ((head.text !== text || head.code !== 0) && parseResponseHead(head, text, headLimits) !== 0) {
      this.fail(`upstream sent invalid header while reading response header from upstream (${head.reason})`);
      return;
    }
    if (head.interim || head.status === 101) {
      if (ends || head.status === 101) this.fail('upstream sent invalid interim response while reading response header from upstream');
      else {
        this.connection.spend();
        this.#reader?.onInterim();
      }
      return;
    }
    this.hasHead = true;
    this.#mayHaveBody = responseBodyKind(this.#method, head) !== BODY_NONE;
    this.#left = this.#mayHaveBody ? head.contentLength : 0;
    this.#remoteEnded = ends;
    const bodyLength = ends && this.#mayHaveBody ? Math.max(head.contentLength, 0) : head.contentLength;
    this.#reader?.onHead(bodyLength);
    if (ends) this.#complete('');
  }

  failHead({ isTooLarge, malformed }: Http2ResponseFields): void {
    const what = isTooLarge ? 'too big header' : 'invalid header';
    const why = malformed === '' ? '' : ` (${malformed})`;
    this.fail(`upstream sent ${what} while reading response header from upstream${why}`);
  }

  receive(data: Buffer, flowing: number, ends: boolean): void {
    this.received += flowing + FRAME_HEAD;
    this.#window -= flowing;
    if (this.#window < 0) throw new Http2Error(Http2ErrorCode.FlowControlError, 'it sent more than the window of a stream');
    if (!this.hasHead || this.#remoteEnded) {
      this.fail('upstream sent DATA without a head of a response while reading upstream');
      return;
    }
    if (data.length > 0 && (!this.#mayHaveBody || (this.#left >= 0 && data.length > this.#left))) {
      this.fail('upstream sent more data than specified in "Content-Length" header while reading upstream');
      return;
    }
    if (this.#left >= 0) this.#left -= data.length;
    this.#remoteEnded = ends;
    if (data.length > 0) this.#pass(data);
    if (ends) this.#complete('');
    else this.#grant();
  }

  receiveTrailers(fields: Http2ResponseFields, ends: boolean, length: number): void {
    this.received += length + FRAME_HEAD;
    if (!ends || fields.malformed !== '' || fields.isTooLarge) {
      const why = fields.malformed === '' ? '' : ` (${fields.malformed})`;
      this.fail(`upstream sent invalid trailer while reading upstream${why}`);
      return;
    }
    this.#remoteEnded = true;
    this.#complete(fields.text);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#grant();
  }

  limit(milliseconds: number): void {
    this.target.context.timers.arm(this, milliseconds);
  }

  unlimit(): void {
    this.target.context.timers.disarm(this);
  }

  onDeadline(): void {
    // Nothing at all has come over the connection meanwhile: it is probably dead.
    if (this.id > 0 && this.connection.reads === this.#readsAtStart) this.connection.leave();
    this.#reader?.onTimeout();
  }

  /** A 101 is not of HTTP/2. */
  upgrade(): undefined {
    return undefined;
  }

  // The end.

  release(): void {
    if (this.#reader === undefined) return;
    this.#reader = undefined;
    this.target.context.admission.countStream(-1);
    this.target.context.timers.forget(this);
    this.#output?.clear();
    this.#releasePiece();
    if (this.id > 0 && this.connection.streams.has(this.id)) {
      if (!this.#remoteEnded) this.connection.reset(this.id, Http2ErrorCode.Cancel);
      // The response is here, and the rest of the request is of no use (RFC 9113, 8.1).
      else if (!this.#localEnded) this.connection.reset(this.id, Http2ErrorCode.NoError);
      else this.connection.flood.earn(RESPONSE_EARNS);
    }
    this.connection.exit(this);
  }

  /** The member has greeted. */
  onReady(): void {
    this.#reader?.onConnected();
  }

  onLost(reason: string): void {
    this.#reader?.onClosed(reason);
  }

  /** The member has certainly not looked at the request. */
  onRefused(): void {
    this.#remoteEnded = this.#localEnded = true;
    this.#reader?.onRefused();
  }

  /** RST_STREAM of the member. */
  onReset(code: number): void {
    if (code === Http2ErrorCode.RefusedStream) {
      this.onRefused();
      return;
    }
    this.#remoteEnded = this.#localEnded = true;
    this.#reader?.onClosed(`upstream rejected request with error ${code}`);
  }

  /** @param text for the log */
  fail(text: string): void {
    this.#reader?.onInvalid(text);
  }

  #complete(trailers: string): void {
    if (this.#left > 0) this.fail('upstream sent less data than specified in "Content-Length" header while reading upstream');
    else this.#reader?.onEnd(trailers);
  }

  #pass(data: Buffer): void {
    const { lent, lender } = this.connection;
    this.#reader?.onData(data, 0, data.length, lent !== undefined && data.buffer === lent.buffer ? lender : undefined);
  }

  /** Lets the member send on. */
  #grant(): void {
    const credit = STREAM_WINDOW - this.#window;
    if (this.#isPaused || this.#remoteEnded || credit < WINDOW_STEP || this.#reader === undefined || this.id === 0) return;
    this.#window = STREAM_WINDOW;
    this.connection.openWindow(this.id, credit);
  }

  #releasePiece(): void {
    const release = this.#release;
    this.#release = undefined;
    if (release !== undefined) this.connection.whenFlushed(release);
  }
}
