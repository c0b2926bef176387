import type { ResponseHead } from '../net/http1/response-head.js';
import type { Group } from '../upstream/group.js';
import type { Peer } from '../upstream/peer.js';
import { AnswerRelay, Relayed } from './answer-relay.js';
import { sendFailure } from './answer.js';
import { Attempt } from './attempt.js';
import { answerStatus } from './error-answer.js';
import type { ExchangeRoute } from './exchange-route.js';
import type { Request, RequestOwner } from './request.js';
import { RequestFeed } from './request-feed.js';
import { openTunnel } from './tunnel.js';
import { covers, Failure, isRepeatable, statusOf } from './next-upstream.js';
import { namedFields, parseAnswerHead } from './upstream-head.js';
import { UpstreamConnection, type UpstreamUser } from './upstream-connection.js';
import type { UpstreamTrace } from './upstream-trace.js';

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
  #peer: Peer | undefined = undefined;
  #connection: UpstreamConnection | undefined = undefined;
  #tried: Peer[] | undefined = undefined;
  #tries = 0;
  /** The connection of this attempt has served before: the member may just have closed it. */
  #reused = false;
  #requestSent = false;
  #partial: Buffer | undefined = undefined;
  /** From the moment on in which the client gets this member's answer. */
  #relay: AnswerRelay | undefined = undefined;

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
    if (this.outlivesClient && this.#relay === undefined) return;
    context.log.write('info', 'client prematurely closed connection while waiting for or reading the answer of the upstream', this.request);
    this.#feed.stop();
    this.#release(false, false);
    this.#relay?.stop();
  }

  onDrain(): void {
    const connection = this.#connection;
    const relay = this.#relay;
    if (relay === undefined) return;
    relay.onClientDrain();
    if (connection === undefined) return;
    connection.socket.resume();
    this.request.connection.context.timers.arm(connection, this.route.plan.readTimeout);
  }

  /** Times how long the member takes to take the request, then to answer it; not how long the client takes to send it. */
  requestMoved(connection: UpstreamConnection): void {
    if (this.#relay !== undefined) return;
    const { timers } = this.request.connection.context;
    const { plan } = this.route;
    if (this.#feed.complete) timers.arm(connection, plan.readTimeout);
    else if (connection.socket.writableLength > 0) timers.arm(connection, plan.sendTimeout);
    else timers.disarm(connection);
  }

  /** The request body failed: too long, cut off, malformed. */
  requestFailed(status: number): void {
    this.#feed.stop();
    this.#relay?.stop();
    this.#release(false, false);
    if (!this.request.finished) answerStatus(this.request, status);
  }

  // The member's side.

  onConnected(): void {
    this.#attempt?.connected(false);
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
    if (this.#relay === undefined) this.#takeHead(chunk, borrowed);
    else this.#relayed(this.#relay.take(chunk, 0, borrowed), this.#relay);
  }

  onUpstreamEnd(): void {
    this.onUpstreamClosed('');
  }

  onUpstreamClosed(reason: string): void {
    const relay = this.#relay;
    if (relay === undefined) this.#closedBefore(reason);
    else if (relay.endsWithConnection && reason === '') this.#relayed(relay.end(), relay);
    else this.#truncated('upstream prematurely closed connection while reading upstream');
  }

  onUpstreamTimeout(): void {
    const sending = this.#requestSent && !this.#feed.complete && this.#relay === undefined;
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
      this.#record(group.name).status = 502;
      context.log.write('error', 'no live upstreams while connecting to upstream', request);
      this.#giveUp(502);
      return;
    }
    this.#tries++;
    this.#peer = peer;
    this.#attempt = this.#record(peer.server);
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
    this.#attempt?.connected(true);
    this.#send();
  }

  #send(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    connection.requests++;
    this.#requestSent = true;
    this.#feed.send(connection);
  }

  #record(address: string): Attempt {
    const attempt = new Attempt(address, this.attempts.length === this.#before, this.request.connection.context.clock);
    this.attempts.push(attempt);
    return attempt;
  }

  /** For the log. */
  #doing(): string {
    if (this.#relay !== undefined) return 'reading';
    if (this.#requestSent && !this.#feed.complete) return 'sending request to';
    return this.#requestSent ? 'reading response header from' : 'connecting to';
  }

  /** The connection ended before there was an answer. */
  #closedBefore(reason: string): void {
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
    if (this.#relay !== undefined) {
      this.#cutOff(true);
      return;
    }
    const status = statusOf(failure);
    this.#attempt?.failed(status);
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
      if (attempt !== undefined) group.finished(peer, attempt.sent, attempt.received, failed ? -1 : attempt.elapsed);
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
    attempt.answered(status, bytes.length - bodyStart);
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
    const relay = new AnswerRelay(request, route, connection, head);
    this.#relay = relay;
    this.#relayed(relay.start(head, bytes, bodyStart, borrowed), relay);
  }

  #relayed(state: Relayed, relay: AnswerRelay): void {
    switch (state) {
      case Relayed.Open:
        if (relay.isBehind) this.#rest();
        return;
      case Relayed.Complete:
        this.#complete(relay);
        return;
      case Relayed.Broken:
        this.#truncated('upstream sent invalid chunked response while reading upstream');
        return;
      case Relayed.FailedUnsent:
        this.filterFailed();
        return;
      case Relayed.FailedSent:
        this.#cutOff(false);
    }
  }

  /** The client is slower than the member: no more is read until it has caught up. */
  #rest(): void {
    const { request } = this;
    if (this.#connection === undefined) return;
    this.#connection.socket.pause();
    request.connection.context.timers.disarm(this.#connection);
    request.connection.watchSending(request);
  }

  #complete(relay: AnswerRelay): void {
    const { request } = this;
    this.#attempt?.completed();
    this.#feed.stop();
    this.#release(relay.leavesReusable && this.#feed.complete, false);
    request.owner = undefined;
    request.connection.finish(request);
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
    request.connection.context.log.write('error', text, request);
    this.#cutOff(true);
  }

  /** @param failed it is the member's fault */
  #cutOff(failed: boolean): void {
    const { request } = this;
    this.#relay?.stop();
    this.#release(false, failed);
    this.#feed.stop();
    request.owner = undefined;
    request.connection.abort(request);
  }

  /** For the tunnel: the connections of both sides, and the end of the member's accounts. */
  finishTunnel(): void {
    this.#attempt?.completed();
    const connection = this.#connection;
    this.#connection = undefined;
    if (this.#attempt !== undefined && connection !== undefined) this.#attempt.sent = connection.bytesSent;
    this.#release(false, false);
    // What the client sent last still goes out.
    connection?.closeSoon(this.route.plan.sendTimeout);
  }
}
