import { BODY_CHUNKED, BODY_LENGTH, BODY_NONE, BODY_UNTIL_CLOSE, responseBodyKind, type ResponseHead } from '../net/http1/response-head.js';
import type { Group } from '../upstream/group.js';
import type { Peer } from '../upstream/peer.js';
import { AnswerBody } from './answer-body.js';
import { makeHead, sendFailure, writeHeadAndBody, writeText } from './answer.js';
import { BodyFraming, Progress } from './body-framing.js';
import { answerStatus } from './error-answer.js';
import type { ExchangeRoute } from './exchange-route.js';
import type { Request, RequestOwner } from './request.js';
import { RequestFeed } from './request-feed.js';
import { openTunnel } from './tunnel.js';
import { covers, Failure, isRepeatable, statusOf } from './next-upstream.js';
import { adoptHead, namedFields, parseAnswerHead } from './upstream-head.js';
import { UpstreamConnection, type UpstreamUser } from './upstream-connection.js';
import type { Attempt, UpstreamTrace } from './upstream-trace.js';

/**
 * One client's request at its upstream: chooses a member, sends the request, brings the answer back, asks the next member if that is
 * allowed (nginx: ngx_http_upstream). All of it runs in the callbacks of two sockets.
 */
export class Exchange implements RequestOwner, UpstreamUser, UpstreamTrace {
  /** Those of this request's earlier exchanges included. */
  readonly attempts: Attempt[];
  answerHead: string;
  readonly #before: number;
  readonly #startedAt: number;
  readonly #feed: RequestFeed;
  #attempt: Attempt | undefined = undefined;
  #attemptAt = 0;
  #peer: Peer | undefined = undefined;
  #connection: UpstreamConnection | undefined = undefined;
  #tried: Peer[] | undefined = undefined;
  #tries = 0;
  /** The connection of this attempt has served before: the member may just have closed it. */
  #reused = false;
  #requestSent = false;
  #partial: Buffer | undefined = undefined;
  #answering = false;
  #bodyKind = BODY_NONE;
  #framing: BodyFraming | undefined = undefined;
  #body: AnswerBody | undefined = undefined;
  #reusable = false;

  constructor(
    readonly request: Request,
    readonly route: ExchangeRoute,
    readonly group: Group,
    head: string,
  ) {
    this.#startedAt = request.connection.context.clock.now;
    this.attempts = request.upstream === undefined ? [] : [...request.upstream.attempts];
    this.#before = this.attempts.length;
    this.answerHead = '';
    this.#feed = new RequestFeed(request, route, head, this);
  }

  start(): void {
    this.request.owner = this;
    this.request.upstream = this;
    this.#feed.start();
  }

  /** The request, or enough of it, is here: asks the first member. */
  begin(): void {
    this.#next();
  }

  get url(): string {
    return `${this.route.plan.scheme}://${this.#peer?.server ?? this.group.name}${this.#feed.target}`;
  }

  // The client's side.

  get outlivesClient(): boolean {
    return this.route.plan.ignoreClientAbort && this.#feed.complete;
  }

  abort(): void {
    const { context } = this.request.connection;
    // An answer of which a part is out already has nobody to go to.
    if (this.outlivesClient && !this.#answering) return;
    context.log.write('info', 'client prematurely closed connection while waiting for or reading the answer of the upstream', this.request);
    this.#feed.stop();
    this.#release(false, false);
    this.#body?.stop();
  }

  onDrain(): void {
    this.#body?.onClientDrain();
    const connection = this.#connection;
    if (connection === undefined || !this.#answering) return;
    connection.socket.resume();
    this.request.connection.context.timers.arm(connection, this.route.plan.readTimeout);
  }

  /** Times how long the member takes to take the request, then to answer it; not how long the client takes to send it. */
  requestMoved(connection: UpstreamConnection): void {
    if (this.#answering) return;
    const { timers } = this.request.connection.context;
    const { plan } = this.route;
    if (this.#feed.complete) timers.arm(connection, plan.readTimeout);
    else if (connection.socket.writableLength > 0) timers.arm(connection, plan.sendTimeout);
    else timers.disarm(connection);
  }

  /** The request body failed: too long, cut off, malformed. */
  requestFailed(status: number): void {
    this.#feed.stop();
    this.#body?.stop();
    this.#release(false, false);
    if (!this.request.finished) answerStatus(this.request, status);
  }

  // The member's side.

  onConnected(): void {
    if (this.#attempt !== undefined) this.#attempt.connectTime = this.#elapsed();
    this.#send();
  }

  onUpstreamDrain(): void {
    this.#feed.onUpstreamDrain();
  }

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    const { context } = this.request.connection;
    const connection = this.#connection;
    const attempt = this.#attempt;
    if (connection === undefined || attempt === undefined) return;
    attempt.received += chunk.length;
    context.timers.arm(connection, this.route.plan.readTimeout);
    if (this.#answering) this.#takeBody(chunk, 0, borrowed);
    else this.#takeHead(chunk, borrowed);
  }

  onUpstreamEnd(): void {
    if (this.#answering && this.#bodyKind === BODY_UNTIL_CLOSE) this.#complete();
    else this.#closedEarly('');
  }

  onUpstreamClosed(reason: string): void {
    if (this.#answering && this.#bodyKind === BODY_UNTIL_CLOSE && reason === '') this.#complete();
    else this.#closedEarly(reason);
  }

  onUpstreamTimeout(): void {
    const sending = this.#requestSent && !this.#feed.complete && !this.#answering;
    // What the member had not taken when the time began, it has taken since.
    if (sending && this.#connection?.socket.writableLength === 0) return;
    this.#fail(Failure.Timeout, `upstream timed out (110: Connection timed out) while ${this.#doing()} upstream`);
  }

  // Attempts.

  #next(): void {
    const { request, group } = this;
    const { context } = request.connection;
    const peer = group.pick(this.#tried);
    if (peer === undefined) {
      this.#record(group.name, 502);
      context.log.write('error', 'no live upstreams while connecting to upstream', request);
      this.#giveUp(502);
      return;
    }
    this.#tries++;
    this.#peer = peer;
    this.#attemptAt = context.clock.now;
    this.#attempt = this.#record(peer.server, 0);
    this.#requestSent = false;
    this.#partial = undefined;
    this.#connect(peer, true);
  }

  #connect(peer: Peer, mayReuse: boolean): void {
    const { route, group, request } = this;
    const { context } = request.connection;
    const secure = route.plan.scheme === 'https';
    let pooled = mayReuse ? (group.keepalive.take(peer, route.plan.scope) as UpstreamConnection | undefined) : undefined;
    if (pooled !== undefined && pooled.secure !== secure) {
      // The group is spoken to with TLS in one place and without it in another.
      pooled.close();
      pooled = undefined;
    }
    this.#reused = pooled !== undefined;
    const connection = pooled ?? new UpstreamConnection(peer, context, secure);
    this.#connection = connection;
    connection.wake(this);
    if (pooled === undefined) {
      context.timers.arm(connection, route.plan.connectTimeout);
      return;
    }
    if (this.#attempt !== undefined) this.#attempt.connectTime = 0;
    this.#send();
  }

  #send(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    connection.requests++;
    this.#requestSent = true;
    this.#feed.send(connection);
  }

  #record(address: string, status: number): Attempt {
    const first = this.attempts.length === this.#before;
    const attempt = { address, first, status, connectTime: -1, headerTime: -1, responseTime: -1, sent: 0, received: 0, headLength: 0 };
    this.attempts.push(attempt);
    return attempt;
  }

  #elapsed(): number {
    return this.request.connection.context.clock.now - this.#attemptAt;
  }

  /** For the log. */
  #doing(): string {
    if (this.#answering) return 'reading';
    if (this.#requestSent && !this.#feed.complete) return 'sending request to';
    return this.#requestSent ? 'reading response header from' : 'connecting to';
  }

  #closedEarly(reason: string): void {
    if (this.#answering) {
      this.#truncated('upstream prematurely closed connection while reading upstream');
      return;
    }
    const peer = this.#peer;
    // RFC 9112, 9.3.1: a member may close an idle connection while a request is on its way. That is nobody's fault and costs no try.
    if (this.#reused && peer !== undefined && this.#partial === undefined && this.#mayRepeat()) {
      this.#dropConnection();
      this.#requestSent = false;
      this.#connect(peer, false);
      return;
    }
    const text =
      reason === ''
        ? 'upstream prematurely closed connection while reading response header from upstream'
        : `${reason} while ${this.#doing()} upstream`;
    this.#fail(Failure.Error, text);
  }

  /** The request may be sent once more: nothing of it is lost, and repeating it does no harm. */
  #mayRepeat(): boolean {
    if (this.request.headSent || this.request.finished) return false;
    if (!this.#requestSent) return true;
    if (!this.#feed.replayable) return false;
    return isRepeatable(this.request.method, this.route.plan.next);
  }

  #fail(failure: Failure, text: string): void {
    const { request, route } = this;
    const { next } = route.plan;
    request.connection.context.log.write('error', text, request);
    if (this.#answering) {
      this.#truncated('');
      return;
    }
    const status = statusOf(failure);
    if (this.#attempt !== undefined) {
      this.#attempt.status = status;
      this.#attempt.responseTime = this.#elapsed();
    }
    this.#release(false, true);
    if (covers(next, failure) && this.#mayTryNext() && this.#mayRepeat()) this.#next();
    else this.#giveUp(status);
  }

  #mayTryNext(): boolean {
    const { next } = this.route.plan;
    const { clock } = this.request.connection.context;
    if (next.tries > 0 && this.#tries >= next.tries) return false;
    if (next.timeoutMs > 0 && clock.now - this.#startedAt >= next.timeoutMs) return false;
    return this.#tries < this.group.size;
  }

  #giveUp(status: number): void {
    this.#feed.stop();
    this.request.owner = undefined;
    if (!this.request.finished) answerStatus(this.request, status);
  }

  /** Ends the attempt: the member's accounts, and its connection unless it goes back to the pool. */
  #release(reusable: boolean, failed: boolean): void {
    const { group, route } = this;
    const connection = this.#connection;
    const peer = this.#peer;
    const attempt = this.#attempt;
    this.#connection = undefined;
    this.#peer = undefined;
    this.#feed.detach();
    if (peer !== undefined) {
      if (failed) (this.#tried ??= []).push(peer);
      if (attempt !== undefined && connection !== undefined) attempt.sent = connection.bytesSent;
      if (attempt !== undefined) group.finished(peer, attempt.sent, attempt.received, failed ? -1 : this.#elapsed());
      group.free(peer, failed);
    }
    if (connection === undefined) return;
    if (reusable && peer !== undefined) group.keepalive.put(peer, connection, route.plan.scope);
    else connection.close();
  }

  #dropConnection(): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#feed.detach();
  }

  // The answer.

  #takeHead(chunk: Buffer, borrowed: boolean): void {
    const { context } = this.request.connection;
    const bytes = this.#partial === undefined ? chunk : Buffer.concat([this.#partial, chunk]);
    const whole = this.#partial !== undefined ? false : borrowed;
    const end = parseAnswerHead(context, bytes);
    if (end > 0) {
      this.#partial = undefined;
      this.#answer(context.responseHead, bytes, end, whole);
    } else if (end === 0) {
      const { interimEnd } = context;
      this.#partial = interimEnd < bytes.length ? Buffer.from(bytes.subarray(interimEnd)) : undefined;
    } else {
      const { reason } = context.responseHead;
      const why = reason === '' ? '' : ` (${reason})`;
      this.#fail(Failure.InvalidHeader, `upstream sent invalid header while reading response header from upstream${why}`);
    }
  }

  #answer(head: ResponseHead, bytes: Buffer, bodyStart: number, borrowed: boolean): void {
    const { request, route, group } = this;
    const attempt = this.#attempt;
    const peer = this.#peer;
    const connection = this.#connection;
    if (attempt === undefined || peer === undefined || connection === undefined) return;
    const { status } = head;
    attempt.status = status;
    attempt.headerTime = this.#elapsed();
    attempt.headLength = attempt.received - (bytes.length - bodyStart);
    this.answerHead = head.text;
    group.answered(peer, status, attempt.headerTime);
    if (request.finished) {
      // The client did not wait (proxy_ignore_client_abort).
      this.#release(false, false);
      return;
    }
    if (status === 101) {
      if (request.upgrade) openTunnel(this, head, connection, bytes, bodyStart);
      else this.#fail(Failure.InvalidHeader, 'upstream switched protocols although nobody asked for it');
      return;
    }
    if (route.plan.next.statuses.has(status) && this.#mayTryNext() && this.#mayRepeat() && this.group.size > 1) {
      this.#release(false, status !== 403 && status !== 404);
      if (status === 403 || status === 404) (this.#tried ??= []).push(peer);
      this.#next();
      return;
    }
    if (route.plan.interceptErrors && status >= 300 && request.location.settings.errorPages.some((page) => page.codes.includes(status))) {
      // What the client has to answer goes with the page (nginx does the same).
      if (status === 401) request.response.adopt(namedFields(head, 'www-authenticate'));
      this.#release(false, false);
      this.#giveUp(status);
      return;
    }
    this.#reusable = head.keepAlive && route.plan.version === '1.1';
    this.#pass(head, bytes, bodyStart, borrowed);
  }

  /** Passes the head on, with the first part of the body if it is there. */
  #pass(head: ResponseHead, bytes: Buffer, bodyStart: number, borrowed: boolean): void {
    const { request, route } = this;
    this.#answering = true;
    const adopted = adoptHead(request, route, head);
    const kind = responseBodyKind(request.method, head);
    this.#bodyKind = kind;
    const filtered = request.location.bodyFilters.length > 0;
    const length = filtered || kind === BODY_CHUNKED || kind === BODY_UNTIL_CLOSE ? -1 : head.contentLength;
    const text = adopted ? makeHead(request, length) : '';
    if (text === '') {
      this.filterFailed();
      return;
    }
    if (kind === BODY_NONE || (kind === BODY_LENGTH && head.contentLength === 0)) {
      if (bytes.length > bodyStart) this.#reusable = false;
      writeText(request, text);
      this.#complete();
      return;
    }
    if (kind === BODY_LENGTH && !filtered && bytes.length - bodyStart >= head.contentLength) {
      const end = bodyStart + head.contentLength;
      if (bytes.length > end) this.#reusable = false;
      request.bodyBytesSent += head.contentLength;
      writeHeadAndBody(request, text, bytes, bodyStart, end, borrowed);
      this.#complete();
      return;
    }
    this.#openBody(head, text, bytes, bodyStart, borrowed);
  }

  #openBody(head: ResponseHead, text: string, bytes: Buffer, bodyStart: number, borrowed: boolean): void {
    this.#connection?.wantOwnBuffers();
    const body = new AnswerBody(this.request, text);
    this.#body = body;
    this.#framing = new BodyFraming(this.#bodyKind, head.contentLength, body);
    if (bytes.length > bodyStart) this.#takeBody(bytes, bodyStart, borrowed);
    else body.flushHead();
  }

  #takeBody(chunk: Buffer, from: number, borrowed: boolean): void {
    const connection = this.#connection;
    const body = this.#body;
    const framing = this.#framing;
    if (connection === undefined || body === undefined || framing === undefined) return;
    body.from(connection, borrowed);
    switch (framing.take(chunk, from)) {
      case Progress.Open:
        this.#rest(body);
        return;
      case Progress.Overrun:
        this.#reusable = false;
        this.#complete();
        return;
      case Progress.Complete:
        this.#complete();
        return;
      case Progress.Broken:
        this.#truncated('upstream sent invalid chunked response while reading upstream');
    }
  }

  /** The client is slower than the member: no more is read until it has caught up. */
  #rest(body: AnswerBody): void {
    const { request } = this;
    if (body.failed) {
      this.#bodyFilterFailed(body);
      return;
    }
    if (!body.isBehind || this.#connection === undefined) return;
    this.#connection.socket.pause();
    request.connection.context.timers.disarm(this.#connection);
    request.connection.watchSending(request);
  }

  #complete(): void {
    const { request } = this;
    const attempt = this.#attempt;
    if (attempt !== undefined) attempt.responseTime = this.#elapsed();
    this.#body?.end();
    if (this.#body?.failed === true) {
      this.#bodyFilterFailed(this.#body);
      return;
    }
    this.#feed.stop();
    this.#release(this.#reusable && this.#bodyKind !== BODY_UNTIL_CLOSE && this.#feed.complete, false);
    request.owner = undefined;
    request.connection.finish(request);
  }

  #bodyFilterFailed(body: AnswerBody): void {
    if (body.isUnsent) this.filterFailed();
    else this.#cutOff(false);
  }

  /** A filter threw, and nothing of the answer is out: the client gets a 500. */
  filterFailed(): void {
    this.#feed.stop();
    this.#release(false, false);
    this.request.owner = undefined;
    sendFailure(this.request);
  }

  /** The answer broke off: the client's connection is closed, so that it cannot take the part for the whole. */
  #truncated(text: string): void {
    const { request } = this;
    if (text !== '') request.connection.context.log.write('error', text, request);
    this.#cutOff(true);
  }

  /** @param failed it is the member's fault */
  #cutOff(failed: boolean): void {
    const { request } = this;
    this.#body?.stop();
    this.#release(false, failed);
    this.#feed.stop();
    request.owner = undefined;
    request.connection.abort(request);
  }

  /** For the tunnel: the connections of both sides, and the end of the member's accounts. */
  finishTunnel(): void {
    if (this.#attempt !== undefined) this.#attempt.responseTime = this.#elapsed();
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#attempt !== undefined && connection !== undefined) this.#attempt.sent = connection.bytesSent;
    this.#release(false, false);
    // What the client sent last still goes out.
    connection?.closeSoon(this.route.plan.sendTimeout);
  }
}
