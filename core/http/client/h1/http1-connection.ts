import { unsentBytes } from '../../../net/unsent-bytes.js';
import type { IdleClient } from '../../../net/idle-clients.js';
import type { Timed } from '../../../net/timers.js';
import { run } from '../../phases/phase-runner.js';
import type { HttpContext } from '../../request/context.js';
import { RequestBody } from '../../request/request-body.js';
import { Request } from '../../request/request.js';
import { Stage } from '../../request/stage.js';
import { onResponseDrained } from '../../response/response.js';
import { rejectedRequest } from '../rejected-request.js';
import { abandonRequest, closeRequest, rejectBody, timeOutBody } from '../request-end.js';
import { startRequest } from '../request-start.js';
import type { ServedListener, SocketClient } from '../socket-client.js';
import type { Connection, ConnectionUser } from '../../../net/transport/connection.js';
import { ClientInput } from './client-input.js';
import { HeadReader, Reading } from './head-reader.js';
import { Http1Stream } from './http1-stream.js';
import { LingeringClose } from '../lingering-close.js';
import { mayKeepAlive } from './persistence.js';
import { Waiting } from './waiting.js';

/** Bytes of later requests retained while one is served; then the socket is paused. */
const PIPELINE_LIMIT = 65_536;

const EMPTY = Buffer.alloc(0);

/**
 * One HTTP/1 connection of a client: finds requests in its bytes, one at a time, and keeps its time limits.
 *
 *     accepted ──▶ Head ──whole head──▶ Nothing / Body / Send   (a request is served; Body: its body is read, Send: the client is slow)
 *                   ▲  ▲                     │            │
 *         first byte│  └──pipelined head─────┤ finish()   │ openTunnel()
 *                   │                        ▼            ▼
 *               KeepAlive ◀──keep-alive── after it     TunnelEnd        (the tunnel uses the socket)
 *                   │                        │
 *                   ▼                        ▼
 *                closed  ◀────────── #end() or LingeringClose           (it uses the socket until the client has closed)
 *
 * The names are those of {@link Waiting}: what the deadline of the connection is armed for.
 */
export class Http1Connection implements Timed, IdleClient, ConnectionUser {
  deadline = 0;
  slot = -1;
  olderIdle: IdleClient | undefined = undefined;
  newerIdle: IdleClient | undefined = undefined;
  request: Request | undefined = undefined;
  readonly #input = new ClientInput();
  readonly #heads: HeadReader;
  readonly #stream: Http1Stream;
  /** Another user has the socket, and this connection only its facts. */
  #left = false;
  #waiting: Waiting = Waiting.Nothing;
  #working = false;
  #closing = false;
  #ended = false;
  #openedAt: number;
  #keepaliveTimeout = 0;
  #sendTimeout: number;
  #lingerUntil = 0;
  #unsent = 0;
  /** The response is written, and the socket has not sent all of it. */
  #isLastWaiting = false;
  #lastSent: (() => void) | undefined = undefined;

  constructor(
    readonly socket: Connection,
    readonly listener: ServedListener,
    readonly context: HttpContext,
    readonly client: SocketClient,
  ) {
    this.#heads = new HeadReader(context, listener, client);
    this.#stream = new Http1Stream(this);
    this.#openedAt = context.clock.now;
    this.#sendTimeout = listener.names.defaultServer.fallback.settings.sendTimeout;
    this.#wait(Waiting.Head, this.#headTimeout());
    context.idleClients.add(this);
  }

  /** Between requests, or before the first: nothing is lost when it is closed. */
  get isIdle(): boolean {
    return this.request === undefined && this.#input.bytes === undefined && !this.#left && !this.#closing;
  }

  get oldestRequest(): number {
    return this.request?.startTime ?? Infinity;
  }

  #headTimeout(): number {
    const { clientHeaderTimeout } = this.listener.names.defaultServer.settings;
    return this.listener.draining ? Math.min(clientHeaderTimeout, this.listener.drainingTime) : clientHeaderTimeout;
  }

  // The socket's side.

  onData(chunk: Buffer, borrowed: boolean): void {
    this.context.clock.refresh();
    if (this.#closing) return;
    this.#input.append(chunk, borrowed);
    this.#work();
    if (this.#input.bytes !== undefined) this.#retainInput();
  }

  /** The client sent FIN. The owner of a request that waits for an upstream is notified: nginx treats it as an abort. */
  onEnd(): void {
    this.#ended = true;
    const request = this.request;
    if (request === undefined) {
      this.#abandonHead(400, 'client prematurely closed connection');
      return this.#end();
    }
    const { body } = request;
    if (request.finished) this.socket.destroy();
    else if (body !== undefined && !body.complete) {
      body.fail(400);
      this.#clientGone(request);
    } else if (request.owner?.outlivesClient === false) this.#clientGone(request);
  }

  onClose(): void {
    const { context, request } = this;
    context.timers.forget(this);
    this.listener.connections.delete(this);
    context.idleClients.remove(this);
    this.#abandonHead(400, 'client prematurely closed connection');
    context.figures.countClosed();
    this.#closing = true;
    if (request !== undefined && !request.finished) this.#clientGone(request);
    this.#stream.abandon();
  }

  onDrain(): void {
    this.context.clock.refresh();
    this.#stream.recycle();
    const request = this.request;
    if (this.#isLastWaiting) this.#sentLast();
    else if (request !== undefined) {
      if (this.#waiting === Waiting.Send) this.#wait(Waiting.Nothing, 0);
      onResponseDrained(request);
    } else if (this.#waiting === Waiting.Send && !this.#closing) {
      this.#rest();
    }
  }

  // For the stream of its requests.

  /** Another request may follow this one, by its settings and the connection's age. */
  maySurvive(request: Request): boolean {
    const goesOn = !this.#ended && !this.listener.draining;
    return goesOn && mayKeepAlive(request, this.client.requests, this.context.clock.now - this.#openedAt);
  }

  /** The socket holds bytes that the client does not consume: send_timeout runs. */
  watchSending(request: Request): void {
    this.#sendTimeout = request.location.settings.sendTimeout;
    this.#waitForSending();
  }

  /** The rest of a body that the socket holds back may come, within the time limit of the location, which is known by now. */
  resumeBody(request: Request): void {
    if (this.request !== request) return;
    this.socket.resume();
    if (request.body?.complete === false && this.#waiting !== Waiting.Send) this.#waitForBody(request);
  }

  /** A client that is not read from cannot be late. */
  pauseBody(request: Request): void {
    if (this.request !== request || request.body?.complete === true) return;
    this.socket.pause();
    if (this.#waiting === Waiting.Body) this.#wait(Waiting.Nothing, 0);
  }

  /** Goes on with the next request or closes, as soon as the response is sent: mostly it is. */
  finish(request: Request): void {
    if (request.finished) return;
    if (this.socket.writableLength > 0 && this.#waitsForLast(request)) return;
    request.completed = true;
    closeRequest(request);
    const { body } = request;
    if (body !== undefined && !body.complete) {
      // A client that still waits for 100 has not sent the body and never will.
      if (request.expectContinue || body.failure > 0) request.keepAlive = false;
      body.discard();
      this.resumeBody(request);
      if (request.keepAlive) {
        this.#lingerUntil = this.context.clock.now + request.location.settings.lingering.time;
        this.#waitForBody(request);
        return;
      }
      this.#linger(request);
      return;
    }
    this.#afterRequest(request);
  }

  /**
   * The socket has not sent all of the response. TLS reports writes a turn of the event loop later: only data that it holds back for a slow
   * client is waited for.
   */
  #waitsForLast(request: Request): boolean {
    const { socket, client } = this;
    if (socket.destroyed || request.body?.complete === false || (client.secure && !socket.writableNeedDrain)) return false;
    this.#isLastWaiting = true;
    this.watchSending(request);
    // Else `drain` follows.
    if (!socket.writableNeedDrain) socket.write(EMPTY, this.#onLastSent());
    return true;
  }

  #sentLast(): void {
    const { request } = this;
    if (!this.#isLastWaiting || request === undefined || this.socket.writableLength > 0) return;
    this.#isLastWaiting = false;
    this.#stream.recycle();
    if (this.#waiting === Waiting.Send) this.#wait(Waiting.Nothing, 0);
    this.finish(request);
  }

  /** For the few connections whose clients are slow. */
  #onLastSent(): () => void {
    return (this.#lastSent ??= () => this.#sentLast());
  }

  /** Closes at once, so that the client sees that the response is cut off. */
  abort(request: Request): void {
    if (request.finished) return;
    closeRequest(request);
    this.#closing = true;
    this.socket.destroy();
  }

  /** The socket has another user from now on. @returns bytes after the request */
  leave(): Buffer | undefined {
    this.#left = true;
    this.context.timers.disarm(this);
    return this.#input.take();
  }

  /** The other user has done with the socket. */
  endAfter(request: Request): void {
    this.socket.client = this;
    this.#left = false;
    request.keepAlive = false;
    if (!request.finished) closeRequest(request);
    this.request = undefined;
    this.#end();
  }

  /**
   * Ends after the current response (graceful quit, a listener that is removed, a place for another client). If there is none: at once if its
   * place is needed; else it waits a little for a request that may be on its way, of which the client would not know whether it was carried out.
   */
  drain(): void {
    if (this.isIdle && this.listener.draining) {
      if (this.client.requests === 0) this.#wait(Waiting.Head, this.#headTimeout());
      else this.#wait(Waiting.KeepAlive, Math.min(this.#keepaliveTimeout, this.listener.drainingTime));
    } else if (this.isIdle) this.#end();
    else if (this.request !== undefined && !this.request.headSent) this.request.keepAlive = false;
  }

  onDeadline(): void {
    const { request, context } = this;
    switch (this.#waiting) {
      case Waiting.Nothing:
        return;
      case Waiting.Head:
        this.#abandonHead(408, 'client timed out (110: Connection timed out)');
        this.#endIdle();
        return;
      case Waiting.KeepAlive:
        this.#endIdle();
        return;
      case Waiting.Body:
        if (request === undefined || request.finished) this.socket.destroy();
        else timeOutBody(request);
        return;
      case Waiting.Send:
        if (unsentBytes(this.socket) < this.#unsent) return this.#waitForSending();
        context.log.write('info', 'client timed out (110: Connection timed out) while sending to client', request);
        this.socket.destroy();
    }
  }

  /** The rest waits for more, or for the end of the current request. */
  #retainInput(): void {
    this.#input.retain();
    const mustWait = this.request !== undefined || this.#waiting === Waiting.Send;
    if (mustWait && this.#input.length > PIPELINE_LIMIT) this.socket.pause();
  }

  /** Uses the input for as long as it can be consumed: the body of the request at work, then whole heads. */
  #work(): void {
    if (this.#working) return;
    this.#working = true;
    const input = this.#input;
    while (input.bytes !== undefined && !this.#closing && !this.#left) {
      const { request } = this;
      const body = request?.body;
      if (request === undefined) {
        if (this.#waiting === Waiting.Send || !this.#takeRequest()) break;
      } else if (body !== undefined && !body.complete && body.failure === 0) this.#takeBody(request, body, input.bytes);
      else break;
    }
    this.#working = false;
  }

  /** @returns false when more bytes are needed. */
  #takeRequest(): boolean {
    const reading = this.#heads.read(this.#input);
    if (reading === Reading.Partial) {
      // The time limit is for the whole head: it starts with its first byte and is not moved by the next ones.
      if (this.#waiting !== Waiting.Head) this.#wait(Waiting.Head, this.listener.names.defaultServer.settings.clientHeaderTimeout);
      return false;
    }
    this.client.requests++;
    if (reading === Reading.Complete) this.#begin();
    else this.#reject();
    return true;
  }

  #begin(): void {
    const { context } = this;
    const { found } = this.#heads;
    const request = new Request(this.#stream, found.server, context.head);
    context.headOwner = request;
    context.figures.countRequest();
    this.request = request;
    this.#wait(Waiting.Nothing, 0);
    let rejected = startRequest(request, found);
    if (request.contentLength > 0 || context.head.chunked) this.#openBody(request);
    // The bytes after the head are enough to see it: a location that reads no body must not treat them as a request.
    if (rejected === 0) rejected = request.body?.failure ?? 0;
    if (rejected !== 0) {
      request.keepAlive = false;
      context.flow.reject(request, rejected);
      return;
    }
    run(request);
  }

  #openBody(request: Request): void {
    const chunked = this.context.head.chunked;
    const body = new RequestBody(chunked ? -1 : request.contentLength, chunked, request.headLimits);
    request.body = body;
    const { bytes } = this.#input;
    if (bytes !== undefined) this.#takeBody(request, body, bytes);
    if (!body.complete) this.#waitForBody(request);
  }

  #takeBody(request: Request, body: RequestBody, bytes: Buffer): void {
    const { at, borrowed } = this.#input;
    this.#input.advance(body.feed(bytes, at, borrowed));
    if (body.failure > 0) {
      request.keepAlive = false;
      if (request.finished) this.#linger(request);
      else if (request.stage !== Stage.Server) rejectBody(request, body.failure);
      return;
    }
    if (!body.complete) {
      if (body.isFull) this.pauseBody(request);
      else if (!this.socket.isPaused()) this.#waitForBody(request);
      return;
    }
    if (this.#waiting === Waiting.Body) this.#wait(Waiting.Nothing, 0);
    // A client that leaves would not be noticed.
    this.socket.resume();
    if (request.finished) this.#afterRequest(request);
  }

  /** A head that is not a request: responds and closes. No handler runs, nothing reaches a backend. */
  #reject(): void {
    this.#input.clear();
    const request = rejectedRequest(this.#stream, this.#heads);
    this.request = request;
    this.context.flow.reject(request, this.#heads.code);
  }

  /** The received part of a head will not become whole, and no client waits for a response: it is logged, as nginx does. */
  #abandonHead(status: number, reason: string): void {
    if (!this.#heads.hasPartialHead) return;
    this.client.requests++;
    this.#heads.abandon(this.#input, status, reason);
    this.#input.clear();
    const request = rejectedRequest(this.#stream, this.#heads);
    request.status = status;
    closeRequest(request);
  }

  #afterRequest(request: Request): void {
    this.request = undefined;
    this.#sendTimeout = request.location.settings.sendTimeout;
    if (!request.keepAlive || this.#ended) {
      // Unread bytes may still be on their way.
      const maySendMore = this.#input.bytes !== undefined || request.rejected || request.body?.complete === false;
      if (maySendMore || request.location.settings.lingering.close === 'always') this.#linger(request);
      else this.#end();
      return;
    }
    this.#keepaliveTimeout = request.location.settings.keepaliveTimeout;
    // The last piece of the body may have been the one that made it wait.
    if (this.socket.isPaused()) this.socket.resume();
    if (this.socket.writableNeedDrain) {
      // A slow reader: its next request waits until this response is consumed.
      this.watchSending(request);
      return;
    }
    this.#rest();
  }

  #rest(): void {
    this.client.isPipelined = this.#input.bytes !== undefined;
    this.#wait(Waiting.KeepAlive, this.#keepaliveTimeout);
    this.context.idleClients.add(this);
    this.#continue();
  }

  /** Goes on with the bytes after the last request. */
  #continue(): void {
    if (this.#input.bytes === undefined || this.#working) return;
    this.socket.resume();
    this.#work();
    if (this.#input.bytes !== undefined) this.#retainInput();
  }

  /** Closes; what is written still goes out. */
  #end(): void {
    this.#closing = true;
    this.context.timers.disarm(this);
    this.socket.destroySoon();
    if (!this.socket.destroyed) this.#waitForSending();
  }

  /** Where the listener is closed, clients do not know of it: what one sends at this moment must not reset the connection. */
  #endIdle(): void {
    const { draining, drainingTime, names } = this.listener;
    if (!draining) return this.#end();
    const { lingering, sendTimeout } = names.defaultServer.fallback.settings;
    const timeout = Math.min(lingering.timeout, drainingTime);
    this.#closing = true;
    this.context.timers.disarm(this);
    new LingeringClose(this.socket, this.context, { lingering: { ...lingering, timeout }, sendTimeout }, this).start();
  }

  /** Closes when the client has, unless the location of the last request does not wait for it; see {@link LingeringClose}. */
  #linger({ location }: Request): void {
    this.request = undefined;
    if (location.settings.lingering.close === 'off') return this.#end();
    this.#closing = true;
    this.context.timers.disarm(this);
    new LingeringClose(this.socket, this.context, location.settings, this).start();
  }

  #lingerTime({ location }: Request): number {
    return Math.min(location.settings.lingering.timeout, Math.max(this.#lingerUntil - this.context.clock.now, 0));
  }

  #clientGone(request: Request): void {
    const wasFinished = request.finished;
    abandonRequest(request);
    if (!wasFinished) this.socket.destroy();
  }

  /** For the body, or for the end of an unused one: that one has no more time than a connection that is closed. */
  #waitForBody(request: Request): void {
    this.#wait(Waiting.Body, request.finished ? this.#lingerTime(request) : request.location.settings.clientBodyTimeout);
  }

  #waitForSending(): void {
    this.#unsent = unsentBytes(this.socket);
    this.#wait(Waiting.Send, this.#sendTimeout);
  }

  #wait(what: Waiting, time: number): void {
    this.#waiting = what;
    if (what === Waiting.Nothing) this.context.timers.disarm(this);
    else this.context.timers.arm(this, time);
  }
}
