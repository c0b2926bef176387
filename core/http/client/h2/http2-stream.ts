import type { ClientConnection } from '../../../contract/client-connection.js';
import { RESPONSE_EARNS } from '../../../net/http2/flood-guard.js';
import { Http2ErrorCode } from '../../../net/http2/protocol.js';
import type { ClientStream, RequestListener, Tunnel, TunnelStream } from '../../request/client-stream.js';
import { RequestBody } from '../../request/request-body.js';
import type { Request } from '../../request/request.js';
import { abandonRequest, closeRequest, rejectBody, timeOutBody } from '../request-end.js';
import { BodyWindow } from './body-window.js';
import type { Http2Connection } from './http2-connection.js';
import { LastPiece } from './last-piece.js';
import { StreamOutput } from './stream-output.js';
import { TunnelInput } from './tunnel-input.js';

/** One request and its response on an HTTP/2 connection (RFC 9113, 5). */
export class Http2Stream extends StreamOutput implements ClientStream, TunnelStream {
  readonly takesLargePieces = false;
  readonly protocol = 'HTTP/2.0';
  readonly client: ClientConnection;
  readonly listener: RequestListener;
  /** The client has sent its last byte. */
  remoteEnded = false;
  /** The response is written, and some of it waits for the client's window. */
  #isWritten = false;
  #bodyPaused = false;
  /** The response is out, and the client may end its request until then (epoch milliseconds). */
  #lingersUntil = 0;
  #last: LastPiece | undefined = undefined;
  #window: BodyWindow | undefined = undefined;
  #tunnelInput: TunnelInput | undefined = undefined;

  constructor(id: number, connection: Http2Connection) {
    super(id, connection);
    ({ client: this.client, listener: this.listener } = connection);
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
    if (this.isOver) return;
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
    if (!this.isStalled) this.context.timers.disarm(this);
    this.#closeIfDone();
  }

  wantBody(request: Request): void {
    if (!request.expectContinue || request.headSent || this.isOver) return;
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
    if (!this.isStalled) this.context.timers.disarm(this);
  }

  // The end.

  finish(request: Request): void {
    if (request.finished) return;
    request.body?.discard();
    // Data that waits for a window is not sent.
    this.#isWritten = !this.localEnded && !this.isOver;
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
    if (this.isOver) return;
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
    if (!this.isStalled) {
      timeOutBody(request);
      return;
    }
    // It waits for the socket, which the client does read: others had their turns.
    const { sentAt } = this.connection.sender;
    if (this.isQueued && context.clock.now - sentAt < this.sendTimeout) {
      context.timers.arm(this, this.sendTimeout);
      return;
    }
    context.log.write('info', 'client timed out (110: Connection timed out) while sending to client', request);
    this.connection.reset(this, Http2ErrorCode.Cancel);
    this.onReset();
  }

  openTunnel(request: Request, tunnel: Tunnel): boolean {
    if (this.isOver) return false;
    this.flush(request);
    this.#window?.open();
    this.#tunnel.open(tunnel, this.remoteEnded);
    this.#grant();
    return true;
  }

  get bytePath(): TunnelStream {
    return this;
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

  #feed(payload: Buffer, borrowed: boolean): void {
    const { request } = this;
    const body = request?.body;
    if (this.isOver || request === undefined) return;
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
    if (this.remoteEnded || this.isOver || this.#bodyPaused) return;
    this.#waitForBody(request);
    this.#grant();
  }

  #grant(): void {
    if (this.remoteEnded || this.isOver || this.#bodyPaused) return;
    const credit = this.#window?.grant() ?? 0;
    if (credit > 0) this.connection.openWindow(this.id, credit);
  }

  #waitForBody(request: Request): void {
    const { clock, timers } = this.context;
    const { clientBodyTimeout, lingering } = request.location.settings;
    if (this.#lingersUntil > 0) timers.arm(this, Math.min(lingering.timeout, Math.max(this.#lingersUntil - clock.now, 0)));
    else if (!this.isStalled && !request.finished && request.body?.complete === false) timers.arm(this, clientBodyTimeout);
  }

  /** The client has consumed something: it may be late with the body again. */
  protected resumeTimes(): void {
    this.isStalled = false;
    this.context.timers.disarm(this);
    if (this.request !== undefined && !this.remoteEnded && !this.#bodyPaused) this.#waitForBody(this.request);
  }

  protected onSent(): void {
    if (this.#isWritten && this.request !== undefined) this.finish(this.request);
    else this.#closeIfDone();
  }

  #closeIfDone(): void {
    const { request } = this;
    if (this.isOver || !this.localEnded || request?.finished !== true) return;
    if (this.#lingersUntil === 0) this.connection.flood.earn(RESPONSE_EARNS);
    if (this.remoteEnded) this.#close();
    else if (this.#lingersUntil === 0) this.#linger(request);
  }

  /**
   * The rest of the request is not needed. Clients that find the reset (RFC 9113, 8.1) beside the response lose the response: they get it
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
    if (this.isOver) return;
    this.isOver = true;
    this.dropWaiting();
    this.context.timers.forget(this);
    this.connection.onStreamClosed(this);
  }
}
