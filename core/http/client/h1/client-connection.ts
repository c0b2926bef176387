import type { Socket } from 'node:net';
import type { ClientConnection as ConnectionView } from '../../../module/http.js';
import { parseRequestHead, type RequestHead } from '../../../net/http1/request-head.js';
import { unsentBytes } from '../../../net/unsent-bytes.js';
import type { Timed } from '../../../net/timers.js';
import { ClientInput } from './client-input.js';
import type { HttpContext } from '../../request/context.js';
import { answerStatus } from '../../phases/error-response.js';
import { runLogHandlers } from '../../response/filters.js';
import type { IdleClient } from '../../../net/idle-clients.js';
import { HeadReader, Reading } from './head-reader.js';
import type { HttpListener } from '../../listen/http-listener.js';
import { run } from '../../phases/phase-runner.js';
import { refusedRequest } from './refused-request.js';
import { startRequest } from '../request-start.js';
import { RequestBody } from '../../request/request-body.js';
import { Request } from '../../request/request.js';
import { Stage } from '../../request/stage.js';
import type { Tunnel } from '../../upstream/tunnel.js';
import { Waiting } from './waiting.js';

/** nginx's lingering_time: the longest that is read what nobody wants: the rest of a body, or of a connection that is closed. */
const LINGERING_TIME = 30_000;
/** How long a connection whose listener is closed may take to send its first request, or one that is on its way when it rests. */
const DRAINING_TIME = 1000;
/** Bytes of later requests kept while one is answered; then the socket is paused. */
const PIPELINE_LIMIT = 65_536;

/** One connection of a client: finds requests in its bytes, one at a time, and keeps its time limits. */
export class ClientConnection implements Timed, IdleClient, ConnectionView {
  deadline = 0;
  slot = -1;
  olderIdle: IdleClient | undefined = undefined;
  newerIdle: IdleClient | undefined = undefined;
  readonly id: number;
  requests = 0;
  request: Request | undefined = undefined;
  tunnel: Tunnel | undefined = undefined;
  readonly #input = new ClientInput();
  readonly #heads: HeadReader;
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
    readonly socket: Socket,
    readonly listener: HttpListener,
    readonly context: HttpContext,
    /** As it was when the connection was accepted: the socket forgets it with a reset, and who may do what hangs on it. */
    readonly remoteAddress: string,
    /** It speaks TLS. On a TLS listener all do but those that are told so. */
    readonly secure: boolean,
  ) {
    this.id = context.nextConnectionId();
    this.#heads = new HeadReader(context);
    this.#openedAt = context.clock.now;
    this.#sendTimeout = listener.names.defaultServer.fallback.settings.sendTimeout;
    this.#wait(Waiting.Head, this.#headTimeout);
    context.idleClients.add(this);
  }

  get remotePort(): number {
    return this.socket.remotePort ?? 0;
  }
  get localAddress(): string {
    return this.listener.isUnix ? this.listener.address : (this.socket.localAddress ?? '');
  }
  get localPort(): number {
    return this.socket.localPort ?? 0;
  }
  /** Between requests, or before the first: nothing is lost when it is closed. */
  get isIdle(): boolean {
    return this.request === undefined && this.#input.bytes === undefined && this.tunnel === undefined && !this.#closing;
  }

  get #headTimeout(): number {
    const { clientHeaderTimeout } = this.listener.names.defaultServer.settings;
    return this.listener.draining ? Math.min(clientHeaderTimeout, DRAINING_TIME) : clientHeaderTimeout;
  }

  /** @param borrowed the bytes are only valid during the call. */
  onData(chunk: Buffer, borrowed: boolean): void {
    this.context.clock.refresh();
    if (this.tunnel !== undefined) {
      this.tunnel.fromClient(borrowed ? Buffer.from(chunk) : chunk);
      return;
    }
    if (this.#closing) {
      if (this.#waiting === Waiting.Linger) this.#lingerOn();
      return;
    }
    this.#input.append(chunk, borrowed);
    this.#work();
    if (this.#input.bytes !== undefined) this.#keepInput();
  }

  /** The parsed fields of `request`, parsed again if another request used the scratch meanwhile. */
  headOf(request: Request): RequestHead {
    const { context } = this;
    if (context.headOwner !== request) {
      parseRequestHead(context.head, request.text, request.headLimits);
      context.headOwner = request;
    }
    return context.head;
  }

  mayKeepAlive(request: Request): boolean {
    const { settings } = request.location;
    return (
      !this.#ended &&
      !this.listener.draining &&
      // It has not sent its body, and where its next request begins nobody would know.
      !(request.expectContinue && request.body?.complete === false) &&
      settings.keepaliveTimeout > 0 &&
      this.requests < settings.keepaliveRequests &&
      this.context.clock.now - this.#openedAt < settings.keepaliveTime
    );
  }

  /** Somebody will read the body: tells a client that waits for it (RFC 9110, 10.1.1). */
  wantBody(request: Request): void {
    if (!request.expectContinue || request.headSent) return;
    request.expectContinue = false;
    if (request.minor === 1 && request.body?.received === 0) this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
  }

  /** The body got a reader, or is thrown away: what the socket holds back may come, in the time of the location that is known by now. */
  bodyTaken(): void {
    this.socket.resume();
    if (this.request?.body?.complete === false && this.#waiting !== Waiting.Send) this.#waitForBody(this.request);
  }

  /** Nobody takes more of the body for now. A client that is not read from cannot be late. */
  holdBody(): void {
    this.socket.pause();
    if (this.#waiting === Waiting.Body) this.#wait(Waiting.Nothing, 0);
  }

  /** The answer is complete: goes on with the next request or closes. */
  finish(request: Request): void {
    if (request.finished) return;
    request.completed = true;
    this.#log(request);
    const { body } = request;
    if (body !== undefined && !body.complete) {
      // A client that still waits for 100 has not sent the body and never will.
      if (request.expectContinue || body.failure > 0) request.keepAlive = false;
      body.discard();
      this.bodyTaken();
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

  /** The answer cannot be completed: closes at once, so that the client sees it is cut off. */
  abort(request: Request): void {
    if (request.finished) return;
    this.#log(request);
    this.#closing = true;
    this.socket.destroy();
  }

  /** For a tunnel: bytes that came behind the request. */
  takePending(): Buffer | undefined {
    return this.#input.take();
  }

  /** A tunnel is over: what is written still goes out. */
  endTunnel(request: Request): void {
    this.tunnel = undefined;
    request.keepAlive = false;
    if (!request.finished) this.#log(request);
    this.request = undefined;
    this.#end();
  }

  /**
   * Ends after the current answer (graceful quit, a listener that is removed, a place for another client). If there is none: at once if its
   * place is needed; else it waits a little for a request that may be on its way, of which the client would not know whether it was carried out.
   */
  drain(): void {
    if (this.isIdle && this.listener.draining) {
      if (this.requests === 0) this.#wait(Waiting.Head, this.#headTimeout);
      else this.#wait(Waiting.KeepAlive, Math.min(this.#keepaliveTimeout, DRAINING_TIME));
    } else if (this.isIdle) this.#end();
    else if (this.request !== undefined && !this.request.headSent) this.request.keepAlive = false;
  }

  /** The client sent FIN. Whoever waits for an upstream is told: nginx takes it for an abort. */
  onEnd(): void {
    this.#ended = true;
    if (this.tunnel !== undefined) {
      this.tunnel.clientEnded();
      return;
    }
    const request = this.request;
    if (request === undefined) {
      this.#abandonHead(400, 'client prematurely closed connection');
      this.#end();
      return;
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
    this.tunnel?.clientClosed();
    if (request !== undefined && !request.finished) this.#clientGone(request);
  }

  onDrain(): void {
    this.context.clock.refresh();
    const request = this.request;
    if (request !== undefined) {
      if (this.#waiting === Waiting.Send) this.#wait(Waiting.Nothing, 0);
      request.owner?.onDrain();
    } else if (this.#waiting === Waiting.Send && !this.#closing) {
      this.#rest();
    }
  }

  /** The socket holds bytes that the client does not take: send_timeout runs. */
  watchSending(request: Request): void {
    this.#sendTimeout = request.location.settings.sendTimeout;
    this.#waitForSending();
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
      case Waiting.Linger:
        if (unsentBytes(this.socket) > 0) this.#waitForSending();
        else this.socket.destroy();
        return;
      case Waiting.Body:
        if (request === undefined || request.finished) this.socket.destroy();
        else {
          context.log.write('info', 'client timed out (110: Connection timed out) while reading client request body', request);
          request.keepAlive = false;
          request.body?.fail(408);
          if (!request.finished) answerStatus(request, 408);
        }
        return;
      case Waiting.Send:
        if (unsentBytes(this.socket) < this.#unsent) {
          this.#waitForSending();
          return;
        }
        context.log.write('info', 'client timed out (110: Connection timed out) while sending to client', request);
        this.socket.destroy();
    }
  }

  /** What is left waits for more, or for the request at work to end. */
  #keepInput(): void {
    this.#input.keep();
    const mustWait = this.request !== undefined || this.#waiting === Waiting.Send;
    if (mustWait && this.#input.length > PIPELINE_LIMIT) this.socket.pause();
  }

  /** Uses the input for as long as somebody takes it: the body of the request at work, then whole heads. */
  #work(): void {
    if (this.#working) return;
    this.#working = true;
    const input = this.#input;
    while (input.bytes !== undefined && !this.#closing && this.tunnel === undefined) {
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
    this.requests++;
    if (reading === Reading.Complete) this.#begin();
    else this.#refuse();
    return true;
  }

  #begin(): void {
    const { context, listener } = this;
    const request = new Request(this, listener.names.defaultServer);
    context.headOwner = request;
    context.figures.countRequest();
    this.request = request;
    this.#wait(Waiting.Nothing, 0);
    let refused = startRequest(request);
    if (request.contentLength > 0 || context.head.chunked) this.#openBody(request);
    // What came with the head is enough to see it: also a location that reads no body must not take it for a request.
    if (refused === 0) refused = request.body?.failure ?? 0;
    if (refused !== 0) {
      request.keepAlive = false;
      answerStatus(request, refused);
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
      else if (request.stage !== Stage.Server && !request.headSent) {
        request.owner?.abort();
        if (!request.finished) answerStatus(request, body.failure);
      }
      return;
    }
    if (!body.complete) {
      if (body.isFull) this.holdBody();
      else if (!this.socket.isPaused()) this.#waitForBody(request);
      return;
    }
    if (this.#waiting === Waiting.Body) this.#wait(Waiting.Nothing, 0);
    if (request.finished) this.#afterRequest(request);
  }

  /** A head that is not a request: answers and closes. No handler runs, nothing reaches a backend. */
  #refuse(): void {
    this.#input.clear();
    const request = refusedRequest(this, this.#heads);
    this.request = request;
    answerStatus(request, this.#heads.code);
  }

  /** What is here of a head will not become whole, and nobody waits for an answer: it is logged, as nginx does. */
  #abandonHead(status: number, reason: string): void {
    if (!this.#heads.isAmidst) return;
    this.requests++;
    this.#heads.abandon(this.#input, this.listener.names.defaultServer.settings.headLimits, status, reason);
    this.#input.clear();
    const request = refusedRequest(this, this.#heads);
    request.status = status;
    this.#log(request);
  }

  #log(request: Request): void {
    request.finished = true;
    request.owner = undefined;
    request.body?.end();
    this.context.figures.countAnswered();
    runLogHandlers(request);
  }

  #afterRequest(request: Request): void {
    this.request = undefined;
    this.#sendTimeout = request.location.settings.sendTimeout;
    if (!request.keepAlive || this.#ended) {
      // What was not read may still be on its way.
      if (this.#input.bytes !== undefined || request.refused || request.body?.complete === false) this.#linger();
      else this.#end();
      return;
    }
    this.#keepaliveTimeout = request.location.settings.keepaliveTimeout;
    // The last piece of the body may have been the one that made it wait.
    if (this.socket.isPaused()) this.socket.resume();
    if (this.socket.writableNeedDrain) {
      // A slow reader: its next request waits until this answer is taken.
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
    if (this.#input.bytes !== undefined) this.#keepInput();
  }

  /** Closes; what is written still goes out. */
  #end(): void {
    this.#closing = true;
    this.context.timers.disarm(this);
    if (this.socket.writableLength === 0 && !this.secure) this.socket.destroy();
    else {
      this.socket.destroySoon();
      this.#waitForSending();
    }
  }

  /** Closes, but reads on for a while: a reset because of unread bytes could overtake the answer (RFC 9112, 9.6). */
  #linger(): void {
    this.#closing = true;
    this.request = undefined;
    this.socket.end();
    this.socket.resume();
    this.#lingerUntil = this.context.clock.now + LINGERING_TIME;
    this.#lingerOn();
  }

  #lingerOn(): void {
    this.#wait(Waiting.Linger, this.#lingerTime());
  }

  #lingerTime(): number {
    const { lingeringTimeout } = this.listener.names.defaultServer.fallback.settings;
    return Math.min(lingeringTimeout, Math.max(this.#lingerUntil - this.context.clock.now, 0));
  }

  #clientGone(request: Request): void {
    if (request.status === 0) request.status = 499;
    const { owner } = request;
    if (owner !== undefined) owner.abort();
    else this.context.log.write('info', 'client prematurely closed connection', request);
    if (!request.finished) {
      this.#log(request);
      this.socket.destroy();
    }
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
