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
import type { ConnectionListener, SocketClient } from '../socket-client.js';
import type { ClientSocket, SocketUser } from '../../../net/socket-user.js';
import { ClientInput } from './client-input.js';
import { HeadReader, Reading } from './head-reader.js';
import { Http1Stream } from './http1-stream.js';
import { LINGERING_TIME, LingeringClose } from '../lingering-close.js';
import { mayKeepAlive } from './persistence.js';
import { Waiting } from './waiting.js';

/** How long a connection whose listener is closed may take to send its first request, or one that is on its way when it is idle. */
const DRAINING_TIME = 1000;
/** Bytes of later requests retained while one is served; then the socket is paused. */
const PIPELINE_LIMIT = 65_536;

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
export class ClientConnection implements Timed, IdleClient, SocketUser {
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

  constructor(
    readonly socket: ClientSocket,
    readonly listener: ConnectionListener,
    readonly context: HttpContext,
    readonly client: SocketClient,
  ) {
    this.#heads = new HeadReader(context);
    this.#stream = new Http1Stream(this);
    this.#openedAt = context.clock.now;
    this.#sendTimeout = listener.names.defaultServer.fallback.settings.sendTimeout;
    this.#wait(Waiting.Head, this.#headTimeout);
    context.idleClients.add(this);
  }

  /** Between requests, or before the first: nothing is lost when it is closed. */
  get isIdle(): boolean {
    return this.request === undefined && this.#input.bytes === undefined && !this.#left && !this.#closing;
  }

  get oldestRequest(): number {
    return this.request?.startTime ?? Infinity;
  }

  get #headTimeout(): number {
    const { clientHeaderTimeout } = this.listener.names.defaultServer.settings;
    return this.listener.draining ? Math.min(clientHeaderTimeout, DRAINING_TIME) : clientHeaderTimeout;
  }

  // The socket's side.

  onData(chunk: Buffer, borrowed: boolean): void {
    this.context.clock.refresh();
    if (this.#closing) return;
    this.#input.append(chunk, borrowed);
    this.#work();
    if (this.#input.bytes !== undefined) this.#retainInput();
  }

  /** The client sent FIN. The owner of a request that waits for an upstream is told: nginx takes it for an abort. */
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
    if (request !== undefined) {
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

  /** What the socket holds back of a body may come, in the time of the location that is known by now. */
  resumeBody(request: Request): void {
    if (this.request !== request) return;
    this.socket.resume();
    if (request.body?.complete === false && this.#waiting !== Waiting.Send) this.#waitForBody(request);
  }

  /** A client that is not read from cannot be late. */
  pauseBody(request: Request): void {
    if (this.request !== request) return;
    this.socket.pause();
    if (this.#waiting === Waiting.Body) this.#wait(Waiting.Nothing, 0);
  }

  /** Goes on with the next request or closes. */
  finish(request: Request): void {
    if (request.finished) return;
    request.completed = true;
    closeRequest(request);
    const { body } = request;
    if (body !== undefined && !body.complete) {
      // A client that still waits for 100 has not sent the body and never will.
      if (request.expectContinue || body.failure > 0) request.keepAlive = false;
      body.discard();
      this.resumeBody(request);
      if (request.keepAlive) {
        this.#lingerUntil = this.context.clock.now + LINGERING_TIME;
        this.#waitForBody(request);
        return;
      }
      this.#linger();
      return;
    }
    this.#afterRequest(request);
  }

  /** Closes at once, so that the client sees that the response is cut off. */
  abort(request: Request): void {
    if (request.finished) return;
    closeRequest(request);
    this.#closing = true;
    this.socket.destroy();
  }

  /** The socket has another user from now on. @returns what came behind the request */
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
      if (this.client.requests === 0) this.#wait(Waiting.Head, this.#headTimeout);
      else this.#wait(Waiting.KeepAlive, Math.min(this.#keepaliveTimeout, DRAINING_TIME));
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
        this.#end();
        return;
      case Waiting.KeepAlive:
        this.#end();
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

  /** What is left waits for more, or for the request at work to end. */
  #retainInput(): void {
    this.#input.retain();
    const mustWait = this.request !== undefined || this.#waiting === Waiting.Send;
    if (mustWait && this.#input.length > PIPELINE_LIMIT) this.socket.pause();
  }

  /** Uses the input for as long as somebody takes it: the body of the request at work, then whole heads. */
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
    const { settings } = this.listener.names.defaultServer;
    const reading = this.#heads.read(this.#input, settings.headLimits);
    if (reading === Reading.Partial) {
      // The time limit is for the whole head: it starts with its first byte and is not moved by the next ones.
      if (this.#waiting !== Waiting.Head) this.#wait(Waiting.Head, settings.clientHeaderTimeout);
      return false;
    }
    this.client.requests++;
    if (reading === Reading.Complete) this.#begin();
    else this.#reject();
    return true;
  }

  #begin(): void {
    const { context, listener } = this;
    const request = new Request(this.#stream, listener.names.defaultServer, context.head);
    context.headOwner = request;
    context.figures.countRequest();
    this.request = request;
    this.#wait(Waiting.Nothing, 0);
    let rejected = startRequest(request);
    if (request.contentLength > 0 || context.head.chunked) this.#openBody(request);
    // What came with the head is enough to see it: also a location that reads no body must not take it for a request.
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
    const body = new RequestBody(chunked ? -1 : request.contentLength);
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
      if (request.finished) this.#linger();
      else if (request.stage !== Stage.Server) rejectBody(request, body.failure);
      return;
    }
    if (!body.complete) {
      if (body.isFull) this.pauseBody(request);
      else if (!this.socket.isPaused()) this.#waitForBody(request);
      return;
    }
    if (this.#waiting === Waiting.Body) this.#wait(Waiting.Nothing, 0);
    if (request.finished) this.#afterRequest(request);
  }

  /** A head that is not a request: responds and closes. No handler runs, nothing reaches a backend. */
  #reject(): void {
    this.#input.clear();
    const request = rejectedRequest(this.#stream, this.#heads);
    this.request = request;
    this.context.flow.reject(request, this.#heads.code);
  }

  /** What is here of a head will not become whole, and nobody waits for a response: it is logged, as nginx does. */
  #abandonHead(status: number, reason: string): void {
    if (!this.#heads.hasPartialHead) return;
    this.client.requests++;
    this.#heads.abandon(this.#input, this.listener.names.defaultServer.settings.headLimits, status, reason);
    this.#input.clear();
    const request = rejectedRequest(this.#stream, this.#heads);
    request.status = status;
    closeRequest(request);
  }

  #afterRequest(request: Request): void {
    this.request = undefined;
    this.#sendTimeout = request.location.settings.sendTimeout;
    if (!request.keepAlive || this.#ended) {
      // What was not read may still be on its way.
      if (this.#input.bytes !== undefined || request.rejected || request.body?.complete === false) this.#linger();
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
    this.#wait(Waiting.KeepAlive, this.#keepaliveTimeout);
    this.context.idleClients.add(this);
    this.#continue();
  }

  /** Goes on with what came behind the last request. */
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
    if (this.socket.writableLength === 0 && !this.client.secure) this.socket.destroy();
    else {
      this.socket.destroySoon();
      this.#waitForSending();
    }
  }

  /** Closes when the client has; see {@link LingeringClose}. */
  #linger(): void {
    const { lingeringTimeout } = this.listener.names.defaultServer.fallback.settings;
    this.#closing = true;
    this.request = undefined;
    this.context.timers.disarm(this);
    new LingeringClose(this.socket, this.context, { lingering: lingeringTimeout, send: this.#sendTimeout }, this).start();
  }

  #lingerTime(): number {
    const { lingeringTimeout } = this.listener.names.defaultServer.fallback.settings;
    return Math.min(lingeringTimeout, Math.max(this.#lingerUntil - this.context.clock.now, 0));
  }

  #clientGone(request: Request): void {
    const wasFinished = request.finished;
    abandonRequest(request);
    if (!wasFinished) this.socket.destroy();
  }

  /** For the body, or for the end of one that nobody wants: that one has no more time than a connection that is closed. */
  #waitForBody(request: Request): void {
    this.#wait(Waiting.Body, request.finished ? this.#lingerTime() : request.location.settings.clientBodyTimeout);
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
