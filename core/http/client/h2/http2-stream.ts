import type { ClientConnection } from '../../../module/http.js';
import { ErrorCode, Http2Error, LARGEST_WINDOW } from '../../../net/http2/protocol.js';
import type { Timed } from '../../../net/timers.js';
import type { ClientStream, Lender, RequestListener } from '../../request/client-stream.js';
import type { HttpContext } from '../../request/context.js';
import { RequestBody } from '../../request/request-body.js';
import type { Request } from '../../request/request.js';
import { onResponseDrained } from '../../response/response.js';
import { abandonRequest, closeRequest, rejectBody, timeOutBody } from '../request-end.js';
import type { Http2Connection } from './http2-connection.js';
import { OutputQueue } from './output-queue.js';
import { responseBlock } from './response-block.js';

/** Window for the body of a request, in bytes (nginx: http2_body_preread_size). */
export const BODY_WINDOW = 65_536;
/** The window is opened again when that much of it is used up. */
const CREDIT_STEP = 32_768;
/** Bytes that may wait for the client's window before the source of the response has to stop. */
const HIGH_WATER = 65_536;

/** One request and its response on an HTTP/2 connection (RFC 9113, 5). */
export class Http2Stream implements ClientStream, Timed {
  deadline = 0;
  slot = -1;
  readonly protocol = 'HTTP/2.0';
  request: Request | undefined = undefined;
  /** What may still be sent on this stream; negative after a setting has made it smaller. */
  sendWindow: number;
  /** The client has sent its last byte. */
  remoteEnded = false;
  readonly #output = new OutputQueue();
  /** The encoded head of the response, until it leaves. */
  #head = '';
  #ends = false;
  #localEnded = false;
  #over = false;
  #fellBehind = false;
  #bodyPaused = false;
  #credit = 0;
  #receiveWindow = BODY_WINDOW;

  constructor(
    readonly id: number,
    readonly connection: Http2Connection,
  ) {
    this.sendWindow = connection.peer.initialWindow;
  }

  get client(): ClientConnection {
    return this.connection.client;
  }
  get context(): HttpContext {
    return this.connection.context;
  }
  get listener(): RequestListener {
    return this.connection.listener;
  }

  // The request body.

  /** @param length of all of it, -1: unknown */
  openBody(request: Request, length: number): void {
    request.body = new RequestBody(length, false);
    this.#waitForBody(request);
  }

  /** @throws Http2Error when the client sends more than the window */
  receive(payload: Buffer, padded: number): void {
    const { request } = this;
    this.#receiveWindow -= padded;
    if (this.#receiveWindow < 0) throw new Http2Error(ErrorCode.FlowControlError, 'client sent more than the window of a stream');
    this.#credit += padded;
    const body = request?.body;
    if (request === undefined || body === undefined) return;
    if (body.feed(payload, 0, true) < payload.length) {
      this.breakOff(ErrorCode.ProtocolError);
      return;
    }
    if (body.failure > 0 && !request.finished) rejectBody(request, body.failure);
    else if (body.failure > 0) return;
    else if (body.isFull) this.pauseBody();
    else this.#open(request);
  }

  /** END_STREAM came. */
  receiveEnd(): void {
    const { request } = this;
    this.remoteEnded = true;
    const body = request?.body;
    if (request === undefined || body === undefined) return;
    if (body.failure === 0 && !body.endStream()) {
      this.breakOff(ErrorCode.ProtocolError);
      return;
    }
    if (!this.#output.isWaiting) this.context.timers.disarm(this);
    this.#closeIfDone();
  }

  wantBody(request: Request): void {
    if (!request.expectContinue || request.headSent || this.#over) return;
    request.expectContinue = false;
    if (request.body?.received === 0) this.connection.sendHeaders(this, this.context.hpack.status(100), false);
  }

  resumeBody(request: Request): void {
    this.#bodyPaused = false;
    this.#open(request);
  }

  pauseBody(): void {
    this.#bodyPaused = true;
    if (!this.#output.isWaiting) this.context.timers.disarm(this);
  }

  // The response.

  writeHead(request: Request): void {
    const block = responseBlock(request);
    request.headBytes = block.length;
    request.sentLength = request.response.length;
    this.#head = block;
  }

  get holdsHead(): boolean {
    return this.#head !== '';
  }

  dropHead(request: Request): void {
    this.#head = '';
    request.headSent = false;
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (this.#over || this.#localEnded) return;
    this.flush(request);
    request.bytesSent += to - from;
    this.#output.push(chunk, from, to, lender !== undefined);
    this.pump();
    this.#output.retain();
  }

  flush(request: Request): void {
    if (this.#head === '' || this.#over) return;
    const head = this.#head;
    this.#head = '';
    request.bytesSent += head.length;
    this.connection.sendHeaders(this, head, false);
  }

  end(request: Request): void {
    if (this.#over || this.#ends) return;
    this.#ends = true;
    if (this.#head !== '') {
      const head = this.#head;
      this.#head = '';
      request.bytesSent += head.length;
      this.#localEnded = true;
      this.connection.sendHeaders(this, head, true);
    } else this.pump();
  }

  get isBehind(): boolean {
    const isBehind = this.#output.length > HIGH_WATER || this.connection.isBehind;
    this.#fellBehind ||= isBehind;
    return isBehind;
  }

  /** The time limit runs for every stream that has something to send. */
  watchSending(): void {}

  /** Sends what the windows allow. */
  pump(): void {
    const { connection } = this;
    if (this.#over || this.#localEnded) return;
    const sent = connection.sendData(this, this.#output, this.#ends);
    if (this.#ends && this.#output.length === 0) this.#localEnded = true;
    if (this.#output.isWaiting && (sent > 0 || this.deadline === 0)) this.context.timers.arm(this, this.#sendTimeout);
    else if (!this.#output.isWaiting && sent > 0) this.context.timers.disarm(this);
    this.#closeIfDone();
  }

  /** The client's windows or its socket have room again. */
  onDrain(): void {
    this.pump();
    const { request } = this;
    if (!this.#fellBehind || request === undefined || this.isBehind) return;
    this.#fellBehind = false;
    onResponseDrained(request);
  }

  /** @throws Http2Error FLOW_CONTROL_ERROR beyond the greatest window */
  widen(increment: number): void {
    this.sendWindow += increment;
    if (this.sendWindow > LARGEST_WINDOW) throw new Http2Error(ErrorCode.FlowControlError, 'window of a stream too large');
  }

  // The end.

  finish(request: Request): void {
    if (request.finished) return;
    request.completed = true;
    closeRequest(request);
    request.body?.discard();
    this.#closeIfDone();
  }

  abort(request: Request): void {
    if (request.finished) return;
    closeRequest(request);
    this.reset(ErrorCode.InternalError);
  }

  /** The client has reset the stream, or its connection is gone. */
  onReset(): void {
    this.#close();
    const { request } = this;
    if (request === undefined || request.finished) return;
    if (request.body?.complete === false) request.body.fail(400);
    if (!request.finished) abandonRequest(request);
  }

  /** Resets a stream whose client broke the protocol. */
  breakOff(code: ErrorCode): void {
    this.connection.reset(this.id, code);
    this.onReset();
  }

  reset(code: ErrorCode): void {
    if (this.#over) return;
    this.connection.reset(this.id, code);
    this.#close();
  }

  onDeadline(): void {
    const { request, context } = this;
    if (request === undefined) return;
    if (this.#output.isWaiting || request.finished) {
      context.log.write('info', 'client timed out (110: Connection timed out) while sending to client', request);
      this.breakOff(ErrorCode.Cancel);
      return;
    }
    timeOutBody(request);
  }

  openTunnel(): boolean {
    return false;
  }
  writeTunnel(): void {}
  pauseTunnel(): void {}
  resumeTunnel(): void {}
  endTunnel(): void {}

  get #sendTimeout(): number {
    return this.request?.location.settings.sendTimeout ?? 0;
  }

  /** Lets more of the body come, when enough of the window is used up. */
  #open(request: Request): void {
    if (this.remoteEnded || this.#over) return;
    if (!this.#bodyPaused && !request.finished && request.body?.complete === false) this.#waitForBody(request);
    if (this.#bodyPaused || this.#credit < CREDIT_STEP) return;
    this.connection.openWindow(this.id, this.#credit);
    this.#receiveWindow += this.#credit;
    this.#credit = 0;
  }

  #waitForBody(request: Request): void {
    if (!this.#output.isWaiting) this.context.timers.arm(this, request.location.settings.clientBodyTimeout);
  }

  /** The response is out, and nobody waits for the rest of the request (RFC 9113, 8.1: NO_ERROR). */
  #closeIfDone(): void {
    if (this.#over || !this.#localEnded || this.request?.finished !== true) return;
    if (!this.remoteEnded) this.connection.reset(this.id, ErrorCode.NoError);
    this.#close();
    this.connection.onStreamServed();
  }

  #close(): void {
    if (this.#over) return;
    this.#over = true;
    this.#output.clear();
    this.context.timers.forget(this);
    this.connection.onStreamClosed(this);
  }
}
