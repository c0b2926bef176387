import type { ClientConnection } from '../../../contract/client-connection.js';
import { RESPONSE_EARNS } from '../../../net/http2/flood-guard.js';
import { Http2ErrorCode, Http2Error, LARGEST_WINDOW } from '../../../net/http2/protocol.js';
import type { Timed } from '../../../net/timers.js';
import type { ClientStream, RequestListener, Tunnel } from '../../request/client-stream.js';
import type { Lender } from '../../request/lender.js';
import type { HttpContext } from '../../request/context.js';
import { RequestBody } from '../../request/request-body.js';
import type { Request } from '../../request/request.js';
import { onResponseDrained } from '../../response/response.js';
import { abandonRequest, closeRequest, rejectBody, timeOutBody } from '../request-end.js';
import { BodyWindow } from './body-window.js';
import type { Http2Connection } from './http2-connection.js';
import { LastPiece } from './last-piece.js';
import { OutputQueue } from '../../../net/http2/output-queue.js';
import { interimBlock, responseBlock, trailerBlock } from './response-block.js';
import type { SendingStream } from '../../../net/http2/sender.js';
import { TunnelInput } from './tunnel-input.js';

/** Bytes that may wait for the client's window before a source has to stop that cannot be read when there is room. */
const HIGH_WATER = 65_536;

/** One request and its response on an HTTP/2 connection (RFC 9113, 5). */
export class Http2Stream implements ClientStream, SendingStream, Timed {
  readonly takesLargePieces = false;
  deadline = 0;
  slot = -1;
  readonly protocol = 'HTTP/2.0';
  readonly client: ClientConnection;
  readonly context: HttpContext;
  readonly listener: RequestListener;
  request: Request | undefined = undefined;
  sendWindow: number;
  endsOutput = false;
  chunkSize = 0;
  isQueued = false;
  nextInTurn: SendingStream | undefined = undefined;
  /** The client has sent its last byte. */
  remoteEnded = false;
  /** The encoded head of the response, until it leaves. */
  #head = '';
  /** Bytes of the response that are still to come, below 0: unknown. */
  #left = -1;
  #localEnded = false;
  /** Encoded, until the body has left. */
  #trailers = '';
  /** The response is written, and some of it waits for the client's window. */
  #isWritten = false;
  #over = false;
  #fellBehind = false;
  /** A source that is not ahead waits for room. */
  #needsRoom = false;
  /** The deadline is that of send_timeout: the client consumes nothing. */
  #stalled = false;
  #bodyPaused = false;
  /** The response is out, and the client may end its request until then (epoch milliseconds). */
  #lingersUntil = 0;
  #last: LastPiece | undefined = undefined;
  #window: BodyWindow | undefined = undefined;
  #tunnelInput: TunnelInput | undefined = undefined;
  /** Most responses leave at once. */
  #output: OutputQueue | undefined = undefined;

  constructor(
    readonly id: number,
    readonly connection: Http2Connection,
  ) {
    ({ client: this.client, context: this.context, listener: this.listener } = connection);
    this.sendWindow = connection.peer.initialWindow;
  }

  // The request body.

  /** @param length of all of it, -1: unknown */
  openBody(request: Request, length: number): void {
    this.#window = this.connection.newBodyWindow();
    // What follows a CONNECT is for the tunnel (RFC 9113, 8.5).
    if (request.method === 'CONNECT') return;
    request.body = new RequestBody(length, false);
    this.#last = new LastPiece();
    this.#waitForBody(request);
  }

  /** A piece of the body that is short: those of one read are joined. @param flowing as {@link receive} @throws Http2Error */
  gather(payload: Buffer, flowing: number): void {
    this.#window?.consume(flowing);
    if (this.#window?.gather(payload) === true) this.connection.gathering.push(this);
  }

  /** The read is over, or something else follows what was gathered. */
  feedGathered(): void {
    const whole = this.#window?.takeGathered();
    if (whole !== undefined) this.#feed(whole, false);
  }

  /** @param flowing bytes that count for the window: with the padding @throws Http2Error when the client sends more than the window */
  receive(payload: Buffer, flowing: number): void {
    this.#window?.consume(flowing);
    this.feedGathered();
    this.#feed(payload, true);
  }

  /** END_STREAM came. */
  receiveEnd(): void {
    const { request } = this;
    this.feedGathered();
    if (this.#over) return;
    this.remoteEnded = true;
    const body = request?.body;
    if (request === undefined) return;
    if (body === undefined) {
      this.#tunnel.end();
      this.#closeIfDone();
      return;
    }
    this.#last?.feed(body);
    if (body.failure === 0 && !body.endStream()) {
      this.breakOff(Http2ErrorCode.ProtocolError);
      return;
    }
    if (!this.#stalled) this.context.timers.disarm(this);
    this.#closeIfDone();
  }

  wantBody(request: Request): void {
    if (!request.expectContinue || request.headSent || this.#over) return;
    request.expectContinue = false;
    if (request.body?.received === 0) this.connection.sendHeaders(this, this.context.hpack.status(100), false);
  }

  resumeBody(request: Request): void {
    this.#bodyPaused = false;
    this.#window?.open();
    this.#letBodyCome(request);
  }

  pauseBody(): void {
    this.#bodyPaused = true;
    if (!this.#stalled) this.context.timers.disarm(this);
  }

  // The response.

  writeInterim(request: Request, status: string, lines: string): void {
    if (this.#over) return;
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
    if (this.#over || this.endsOutput) return;
    this.flush(request);
    request.bytesSent += to - from;
    this.#left -= to - from;
    // The end goes with the last piece where the length says which that is.
    this.endsOutput = this.#left === 0;
    const { sender } = this.connection;
    const borrowed = lender !== undefined;
    const at = sender.sendNow(this, chunk, from, to, borrowed);
    if (at === to) {
      this.#localEnded = this.endsOutput;
      if (this.#stalled) this.#resumeTimes();
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
    if (this.#head === '' || this.#over) return;
    const head = this.#head;
    this.#head = '';
    request.bytesSent += head.length;
    this.connection.sendHeaders(this, head, false);
  }

  end(request: Request): void {
    if (this.#over || this.endsOutput) return;
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
    this.#localEnded = true;
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
    return this.#over || this.waiting > 0 ? 0 : this.connection.sender.roomFor(this);
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
    if (this.#over) return false;
    return this.needsWindow ? this.sendWindow > 0 : this.#fellBehind;
  }

  onTurn(sent: number): void {
    this.#afterSending(sent);
    const { request } = this;
    if (request === undefined || this.#over) return;
    const isDrained = (this.#fellBehind && this.waiting <= this.#mostWaiting) || (this.#needsRoom && this.waiting === 0);
    if (!isDrained) return;
    this.#fellBehind = false;
    this.#needsRoom = false;
    if (this.#stalled && this.waiting === 0) this.#resumeTimes();
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

  // The end.

  finish(request: Request): void {
    if (request.finished) return;
    request.body?.discard();
    // What waits for a window is not sent.
    this.#isWritten = !this.#localEnded && !this.#over;
    if (this.#isWritten) return;
    request.completed = true;
    closeRequest(request);
    this.#closeIfDone();
  }

  abort(request: Request): void {
    if (request.finished) return;
    closeRequest(request);
    this.reset(Http2ErrorCode.InternalError);
  }

  /** The client has reset the stream, or its connection is gone. */
  onReset(): void {
    this.#close();
    const { request } = this;
    if (request === undefined || request.finished) return;
    if (request.body?.complete === false) request.body.fail(400);
    if (!request.finished) abandonRequest(request);
  }

  /** Resets a stream whose client broke the protocol, which is not for free. @throws Http2Error after too many of them */
  breakOff(code: Http2ErrorCode): void {
    this.connection.reset(this, code);
    this.onReset();
    this.connection.onBrokenStream();
  }

  reset(code: Http2ErrorCode): void {
    if (this.#over) return;
    this.connection.reset(this, code);
    this.#close();
  }

  onDeadline(): void {
    const { request, context } = this;
    if (request === undefined) return;
    if (this.#lingersUntil > 0) {
      this.reset(Http2ErrorCode.NoError);
      return;
    }
    if (!this.#stalled) {
      timeOutBody(request);
      return;
    }
    // It waits for the socket, which the client does read: others had their turns.
    const { sentAt } = this.connection.sender;
    if (this.isQueued && context.clock.now - sentAt < this.#sendTimeout) {
      context.timers.arm(this, this.#sendTimeout);
      return;
    }
    context.log.write('info', 'client timed out (110: Connection timed out) while sending to client', request);
    this.connection.reset(this, Http2ErrorCode.Cancel);
    this.onReset();
  }

  openTunnel(request: Request, tunnel: Tunnel): boolean {
    if (this.#over) return false;
    this.flush(request);
    this.#window?.open();
    this.#tunnel.open(tunnel, this.remoteEnded);
    this.#grant();
    return true;
  }

  writeTunnel(request: Request, chunk: Buffer): void {
    this.write(request, chunk, 0, chunk.length, undefined);
  }
  pauseTunnel(): void {
    this.#bodyPaused = true;
  }
  resumeTunnel(): void {
    this.#bodyPaused = false;
    this.#grant();
  }
  endTunnelOutput(request: Request): void {
    this.end(request);
  }
  endTunnel(request: Request, isBroken: boolean): void {
    if (isBroken) this.reset(Http2ErrorCode.ConnectError);
    else this.end(request);
    if (!request.finished) closeRequest(request);
    this.#closeIfDone();
  }

  get #tunnel(): TunnelInput {
    return (this.#tunnelInput ??= new TunnelInput());
  }

  get #sendTimeout(): number {
    return this.request?.location.settings.sendTimeout ?? 0;
  }

  #feed(payload: Buffer, borrowed: boolean): void {
    const { request } = this;
    const body = request?.body;
    if (this.#over || request === undefined) return;
    if (body === undefined) {
      if (request.finished) return;
      this.#tunnel.receive(borrowed ? Buffer.from(payload) : payload);
      this.#grant();
      return;
    }
    const last = this.#last?.retain(body, payload, borrowed, this.remoteEnded);
    if (last === 'retained') return;
    if (last === 'excess' || body.feed(payload, 0, borrowed) < payload.length) {
      this.breakOff(Http2ErrorCode.ProtocolError);
      return;
    }
    if (this.#lingersUntil > 0) this.#letBodyCome(request);
    else if (body.failure > 0 && !request.finished) rejectBody(request, body.failure);
    else if (body.failure > 0) return;
    else if (body.isFull) this.pauseBody();
    else this.#letBodyCome(request);
  }

  #letBodyCome(request: Request): void {
    if (this.remoteEnded || this.#over || this.#bodyPaused) return;
    this.#waitForBody(request);
    this.#grant();
  }

  #grant(): void {
    if (this.remoteEnded || this.#over || this.#bodyPaused) return;
    const credit = this.#window?.grant() ?? 0;
    if (credit > 0) this.connection.openWindow(this.id, credit);
  }

  #waitForBody(request: Request): void {
    const { clock, timers } = this.context;
    const { clientBodyTimeout, lingering } = request.location.settings;
    if (this.#lingersUntil > 0) timers.arm(this, Math.min(lingering.timeout, Math.max(this.#lingersUntil - clock.now, 0)));
    else if (!this.#stalled && !request.finished && request.body?.complete === false) timers.arm(this, clientBodyTimeout);
  }

  #afterSending(sent: number): void {
    if (this.#over || this.#localEnded) return;
    const { timers } = this.context;
    if (this.needsWindow) {
      if (sent > 0 || !this.#stalled) timers.arm(this, this.#sendTimeout);
      this.#stalled = true;
      return;
    }
    if (this.#trailers !== '') this.#sendTrailers();
    this.#localEnded = this.endsOutput;
    if (this.#stalled) this.#resumeTimes();
    if (this.#isWritten && this.#localEnded && this.request !== undefined) this.finish(this.request);
    else this.#closeIfDone();
  }

  /** The body has left: its trailers end the stream. */
  #sendTrailers(): void {
    const trailers = this.#trailers;
    this.#trailers = '';
    this.endsOutput = this.#localEnded = true;
    if (this.request !== undefined) this.request.bytesSent += trailers.length;
    this.connection.sendHeaders(this, trailers, true);
  }

  /** The client has consumed something: it may be late with the body again. */
  #resumeTimes(): void {
    this.#stalled = false;
    this.context.timers.disarm(this);
    if (this.request !== undefined && !this.remoteEnded && !this.#bodyPaused) this.#waitForBody(this.request);
  }

  #closeIfDone(): void {
    const { request } = this;
    if (this.#over || !this.#localEnded || request?.finished !== true) return;
    if (this.#lingersUntil === 0) this.connection.flood.earn(RESPONSE_EARNS);
    if (this.remoteEnded) this.#close();
    else if (this.#lingersUntil === 0) this.#linger(request);
  }

  /**
   * Nobody waits for the rest of the request. Clients that find the reset (RFC 9113, 8.1) beside the response lose the response: they get it
   * first, and what they still send is discarded for a while, as on a connection of HTTP/1.
   */
  #linger(request: Request): void {
    this.#lingersUntil = this.context.clock.now + request.location.settings.lingering.time;
    if (request.body !== undefined) this.#last?.feed(request.body);
    this.#bodyPaused = false;
    this.#window?.open();
    this.#letBodyCome(request);
  }

  #close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#output?.clear();
    this.context.timers.forget(this);
    this.connection.onStreamClosed(this);
  }
}
