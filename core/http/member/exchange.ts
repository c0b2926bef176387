import type { ResponseHead } from '../../net/http1/response-head.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { Peer } from '../../upstream/peer.js';
import type { QueueUser } from '../../upstream/waiting-request.js';
import { Relayed, ResponseRelay } from './response-relay.js';
import { endResponse, sendFailure } from '../response/response.js';
import type { Attempt } from './attempt.js';
import { Attempts } from './attempts.js';
import type { ExchangeRoute } from './exchange-route.js';
import type { ResponseSource } from './response-flow.js';
import type { RequestOwner } from '../request/client-stream.js';
import type { Request } from '../request/request.js';
import { RequestFeed } from './request-feed.js';
import { covers, Failure, isRepeatable, statusOf } from './next-upstream.js';
import { isWhole, type MemberResponse } from './response-steps.js';
import { headFailure, parseFinalHead } from './upstream-head.js';
import type { PeerConnection, PeerUser } from '../../net/peer-connection.js';
import type { AttemptFacts, UpstreamTrace } from '../request/upstream-trace.js';

/**
 * One client's request at its upstream: chooses a member, sends the request, relays the response, asks the next member if that is
 * allowed (nginx: ngx_http_upstream). All of it runs in the callbacks of two sockets.
 */
export class Exchange implements RequestOwner, PeerUser, QueueUser, UpstreamTrace, ResponseSource {
  responseHead: string;
  buffers: boolean;
  expires: number | undefined = undefined;
  readonly #attempts: Attempts;
  readonly #feed: RequestFeed;
  /** Once the client gets this member's response. */
  #relay: ResponseRelay | undefined = undefined;

  constructor(
    readonly request: Request,
    readonly route: ExchangeRoute,
    readonly upstream: Upstream,
    head: string,
  ) {
    this.#attempts = new Attempts(request, route, upstream);
    this.responseHead = '';
    this.buffers = route.plan.buffering.enabled;
    this.#feed = new RequestFeed(request, route, head, this);
  }

  start(): void {
    this.request.owner = this;
    this.request.upstreamTrace = this;
    this.#feed.start();
  }

  /** What is needed of the request is here: asks the first member. */
  begin(): void {
    this.#next();
  }

  /** Those of this request's earlier exchanges included. */
  get attempts(): readonly AttemptFacts[] {
    return this.#attempts.all;
  }

  get url(): string | undefined {
    if (!this.#attempts.begun) return undefined;
    return `${this.route.plan.scheme}://${this.#attempts.current?.peer?.server ?? this.upstream.name}${this.#feed.target}`;
  }

  // The client's side.

  get outlivesClient(): boolean {
    return this.route.plan.ignoreClientAbort && this.#feed.complete;
  }

  abort(): void {
    const { context } = this.request;
    // A response of which a part is out already has nobody to go to.
    if (this.outlivesClient && this.#relay === undefined) return;
    const consequence =
      this.#attempts.current === undefined ? '' : `, so upstream connection is closed too while ${this.#doing()} upstream`;
    context.log.write('info', `client prematurely closed connection${consequence}`, this.request);
    this.discard();
  }

  discard(): void {
    this.#relay?.flow?.buffer?.close();
    this.#feed.stop();
    this.#release(false, false);
  }

  onDrain(): void {
    this.#relay?.flow?.onDrain();
  }

  /** Limits the time in which the member consumes the request, then that until it responds; not that in which the client sends the request. */
  requestMoved(connection: PeerConnection): void {
    if (this.#relay !== undefined) return;
    const { timers } = this.request.context;
    const { plan } = this.route;
    if (this.#feed.isSent) timers.arm(connection, plan.readTimeout);
    else if (connection.socket.writableLength > 0) timers.arm(connection, plan.sendTimeout);
    else timers.disarm(connection);
  }

  /** The request body failed: too long, cut off, malformed; or its file. */
  requestFailed(status: number): void {
    this.#feed.stop();
    this.#release(false, false);
    if (!this.request.finished) this.request.context.flow.reject(this.request, status);
  }

  // The member's side.

  onConnected(): void {
    const attempt = this.#attempts.current;
    if (attempt?.connection !== undefined) this.#send(attempt, attempt.connection);
  }

  onUpstreamDrain(): void {
    this.#feed.onUpstreamDrain();
  }

  onUpstreamData(chunk: Buffer, borrowed: boolean): void {
    const { context } = this.request;
    const attempt = this.#attempts.current;
    if (attempt?.connection === undefined) return;
    attempt.received += chunk.length;
    context.timers.arm(attempt.connection, this.route.plan.readTimeout);
    if (this.#relay === undefined) this.#takeHead(attempt, chunk, borrowed);
    else this.#relayed(this.#relay.relay(chunk, 0, borrowed), this.#relay, chunk.length);
  }

  onUpstreamEnd(): void {
    this.onUpstreamClosed('');
  }

  onUpstreamClosed(reason: string): void {
    const relay = this.#relay;
    if (relay === undefined) this.#closedBefore(reason);
    else if (relay.endsWithConnection && reason === '') this.#complete(relay);
    else this.#truncated('upstream prematurely closed connection while reading upstream');
  }

  onUpstreamTimeout(): void {
    const attempt = this.#attempts.current;
    const sending = attempt?.requestSent === true && !this.#feed.isSent && this.#relay === undefined;
    // What the member had not taken when the time began, it has taken since.
    if (sending && attempt.connection?.socket.writableLength === 0) return;
    this.fail(Failure.Timeout, `upstream timed out (110: Connection timed out) while ${this.#doing()} upstream`);
  }

  // Attempts.

  #next(): void {
    const peer = this.#attempts.choose();
    const place = peer === undefined ? this.#attempts.wait(this) : 'none';
    if (place !== 'waits') this.#ask(peer, place === 'full' ? 'upstream queue is full' : 'no live upstreams');
  }

  onTurn(peer: Peer): void {
    this.#attempts.waited();
    this.#ask(peer, '');
  }

  onQueueTimeout(): void {
    this.#attempts.waited();
    this.#ask(undefined, 'upstream queue timed out');
  }

  /** @param missing for the log: why there is no member */
  #ask(peer: Peer | undefined, missing: string): void {
    const { request } = this;
    const attempt = this.#attempts.begin(peer);
    if (attempt?.peer !== undefined) {
      this.#connect(attempt, attempt.peer, true);
      return;
    }
    request.context.log.write('error', `${missing} while connecting to upstream`, request);
    this.#giveUp(502);
  }

  #connect(attempt: Attempt, peer: Peer, mayReuse: boolean): void {
    const { context } = this.request;
    const connection = attempt.connect(peer, this.route, this.request, mayReuse);
    connection.reuse(this);
    if (attempt.reused) this.#send(attempt, connection);
    else context.timers.arm(connection, this.route.plan.connectTimeout);
  }

  #send(attempt: Attempt, connection: PeerConnection): void {
    attempt.connected();
    attempt.requestSent = true;
    connection.requests++;
    this.#feed.send(connection);
  }

  /** For the log. */
  #doing(): string {
    if (this.#relay !== undefined) return 'reading';
    const sent = this.#attempts.current?.requestSent === true;
    if (sent && !this.#feed.isSent) return 'sending request to';
    return sent ? 'reading response header from' : 'connecting to';
  }

  /** The connection ended before there was a response. */
  #closedBefore(reason: string): void {
    const attempt = this.#attempts.current;
    if (attempt?.connection?.outOfDescriptors === true) {
      this.#couldNotTry(attempt, `${reason} while connecting to upstream`);
      return;
    }
    // RFC 9112, 9.3.1: a member may close an idle connection while a request is on its way. That is nobody's fault and costs no try.
    if (attempt?.reused === true && attempt.peer !== undefined && attempt.partial === undefined && this.#mayRepeat()) {
      attempt.repeat();
      this.#feed.detach();
      this.#connect(attempt, attempt.peer, false);
      return;
    }
    const text =
      reason === ''
        ? 'upstream prematurely closed connection while reading response header from upstream'
        : `${reason} while ${this.#doing()} upstream`;
    this.fail(Failure.Error, text);
  }

  /** The server itself has no means to ask a member: no failure of the member, and another one could not be asked either. */
  #couldNotTry(attempt: Attempt, text: string): void {
    this.request.context.log.write('alert', text, this.request);
    attempt.failed(500);
    this.#release(false, false);
    this.#giveUp(500);
  }

  /** The request may be sent once more: nothing of it is lost, and repeating it does no harm. */
  #mayRepeat(): boolean {
    if (this.request.headSent || this.request.finished) return false;
    if (this.#attempts.current?.requestSent !== true) return true;
    if (!this.#feed.replayable) return false;
    return isRepeatable(this.request.method, this.route.plan.next);
  }

  /** The attempt failed: asks the next member, or responds with an error. */
  fail(failure: Failure, text: string): void {
    const { request, route } = this;
    const { next } = route.plan;
    request.context.log.write('error', text, request);
    this.#attempts.because(text);
    if (this.#relay !== undefined) {
      this.#cutOff();
      return;
    }
    const status = statusOf(failure);
    this.#attempts.current?.failed(status);
    this.#release(false, true);
    if (covers(next, failure) && this.mayAskNext()) this.#next();
    else this.#giveUp(status);
  }

  #giveUp(status: number): void {
    this.#feed.returnBody();
    this.request.owner = undefined;
    if (!this.request.finished) this.request.context.flow.reject(this.request, status);
  }

  #release(reusable: boolean, failed: boolean): void {
    this.#feed.detach();
    this.#relay?.flow?.stop();
    this.#attempts.release(reusable, failed);
  }

  // The response.

  #takeHead(attempt: Attempt, chunk: Buffer, borrowed: boolean): void {
    const { context } = this.request;
    const isFirst = attempt.partial === undefined;
    const bytes = attempt.withPartial(chunk);
    const end = parseFinalHead(context, bytes, this.route.headLimits);
    if (end > 0) this.#respond(attempt, context.responseHead, bytes, end, isFirst && borrowed);
    else if (end === 0) attempt.keepPartial(bytes, context.interimEnd);
    else this.fail(Failure.InvalidHeader, headFailure(context));
  }

  #respond(attempt: Attempt, head: ResponseHead, bytes: Buffer, bodyStart: number, borrowed: boolean): void {
    const { request, route, upstream } = this;
    const { peer, connection } = attempt;
    if (peer === undefined || connection === undefined) return;
    const { status } = head;
    attempt.headArrived(status, bytes.length - bodyStart);
    this.responseHead = head.text;
    upstream.answered(peer, status, attempt.headerTime);
    if (request.finished) {
      // The client did not wait (proxy_ignore_client_abort).
      this.#feed.stop();
      this.#release(false, false);
      return;
    }
    route.fields.read(head);
    route.fields.logRepeats(head, request);
    const response: MemberResponse = { head, connection, bytes, bodyStart, borrowed };
    for (const step of route.steps) if (step(this, response)) return;
    upstream.responded(request, peer);
    const relay = new ResponseRelay(request, route, connection, head, this);
    this.#relay = relay;
    this.#relayed(relay.start(head, bytes, bodyStart, borrowed), relay, bytes.length - bodyStart);
  }

  // For the steps of the response.

  /** Another member may be asked for this request. */
  mayAskNext(): boolean {
    return this.#attempts.mayGoOn() && this.#mayRepeat();
  }

  /** @param failed the response counts as a failure of the member */
  askNext(failed: boolean): void {
    const peer = this.#attempts.current?.peer;
    this.#release(false, failed);
    if (!failed && peer !== undefined) this.#attempts.exclude(peer);
    this.#next();
  }

  /** The member's response is dropped, and the request goes elsewhere: its body is there for whoever responds. */
  leave(response: MemberResponse): void {
    this.#release(this.route.plan.version === '1.1' && isWhole(this.request.method, response) && this.#feed.isSent, false);
    this.#feed.returnBody();
    this.request.owner = undefined;
  }

  /** @param length bytes that were read */
  #relayed(state: Relayed, relay: ResponseRelay, length: number): void {
    // A body filter failed, and the response was given up.
    if (this.#attempts.current?.connection === undefined) return;
    switch (state) {
      case Relayed.Open:
        relay.flow?.onRead(length);
        return;
      case Relayed.Complete:
        this.#complete(relay);
        return;
      case Relayed.Broken:
        this.#truncated('upstream sent invalid chunked response while reading upstream');
        return;
      case Relayed.Failed:
        this.filterFailed();
    }
  }

  #complete(relay: ResponseRelay): void {
    const { request } = this;
    const { current } = this.#attempts;
    current?.completed();
    if (current?.peer !== undefined) this.upstream.completed(request, current.peer);
    this.#release(relay.leavesReusable && this.#feed.isSent, false);
    this.#feed.stop();
    const buffer = relay.flow?.buffer;
    if (buffer !== undefined) buffer.end();
    else {
      request.owner = undefined;
      endResponse(request);
    }
  }

  /** A filter threw, and nothing of the response is out: the client gets a 500. */
  filterFailed(): void {
    this.#feed.stop();
    this.#release(false, false);
    this.request.owner = undefined;
    sendFailure(this.request);
  }

  /** The response broke off: the client's connection is closed, so that it cannot take the part for the whole. */
  #truncated(text: string): void {
    this.request.context.log.write('error', text, this.request);
    this.#attempts.because(text);
    this.#cutOff();
  }

  #cutOff(): void {
    const { request } = this;
    const buffer = this.#relay?.flow?.buffer;
    this.#release(false, true);
    this.#feed.stop();
    if (buffer !== undefined) {
      buffer.cutOff();
      return;
    }
    request.owner = undefined;
    request.stream.abort(request);
  }

  /** What is buffered of the response is lost. */
  onBufferFailed(): void {
    this.discard();
    this.request.owner = undefined;
    this.request.stream.abort(this.request);
  }

  /** For the tunnel: bytes of the member. */
  tunnelReceived(length: number): void {
    if (this.#attempts.current !== undefined) this.#attempts.current.received += length;
  }

  /** For the tunnel: the connections of both sides, and the end of the member's accounts. */
  finishTunnel(): void {
    this.#attempts.current?.completed();
    this.#feed.stop();
    const connection = this.#attempts.current?.giveConnection();
    this.#release(false, false);
    // What the client sent last still goes out.
    connection?.closeSoon(this.route.plan.sendTimeout);
  }
}
