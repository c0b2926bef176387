import type { Upstream } from '../../upstream/upstream.js';
import type { Peer } from '../../upstream/peer.js';
import type { QueueUser } from '../../upstream/waiting-request.js';
import { shownTrailers } from './trailers.js';
import { ResponseRelay } from './response-relay.js';
import { endResponse, sendFailure } from '../response/response.js';
import type { Attempt } from './attempt.js';
import { RequestAttempts } from './request-attempts.js';
import type { ExchangeRoute } from './exchange-route.js';
import type { ResponseSource } from './response-flow.js';
import type { RequestOwner } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import type { Request } from '../request/request.js';
import { passInterim } from './early-hints.js';
import { RequestFeed } from './request-feed.js';
import { askAfterFailure } from './module-call.js';
import { askModules } from './module-steps.js';
import { ResponseCopy } from './response-copy.js';
import type { TunnelledExchange } from './tunnelled-exchange.js';
import { covers, AttemptFailure, isRepeatable, statusOf } from './next-upstream.js';
import { logFailure } from '../request/handler-failure.js';
import type { MemberReader, MemberStream } from './member-stream.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import type { TlsClient } from '../../net/tls-client.js';
import type { AttemptFacts, UpstreamTrace } from '../request/upstream-trace.js';

/** How often a member may reject a stream of one request. */
const MAX_REFUSALS = 5;

/**
 * One client's request at its upstream: chooses a member, sends the request, relays the response, asks the next member if that is
 * allowed (nginx: ngx_http_upstream). All of it runs in the callbacks of two sockets. The protocol of the member is the task of its stream.
 */
export class Exchange implements RequestOwner, MemberReader, QueueUser, UpstreamTrace, ResponseSource, TunnelledExchange {
  responseHead: string;
  buffers: boolean;
  expires: number | undefined = undefined;
  responseTrailers = '';
  readonly #attempts: RequestAttempts;
  readonly #feed: RequestFeed;
  /** Once the client gets this member's response. */
  #relay: ResponseRelay | undefined = undefined;
  /** The body of the response for modules. */
  #copy: ResponseCopy | undefined = undefined;

  constructor(
    readonly request: Request,
    readonly route: ExchangeRoute,
    readonly upstream: Upstream,
    private readonly method: string,
    /** The request target that members get. */
    private readonly target: string,
  ) {
    this.#attempts = new RequestAttempts(request, route, upstream);
    this.responseHead = '';
    this.buffers = route.plan.buffering.enabled;
    this.#feed = new RequestFeed(request, route, this);
  }

  start(): void {
    this.request.owner = this;
    this.request.upstreamTrace = this;
    this.#feed.start();
  }

  /** Asks the first member, once the needed part of the request has arrived. */
  begin(): void {
    this.#next();
  }

  /** Includes the ones of this request's earlier exchanges. */
  get attempts(): readonly AttemptFacts[] {
    return this.#attempts.all;
  }

  get url(): string | undefined {
    if (!this.#attempts.begun) return undefined;
    const address = this.#attempts.current?.peer?.server ?? this.attempts.at(-1)?.address ?? this.upstream.name;
    const { shownScheme, scheme } = this.route.plan;
    // As nginx separates a path from another one.
    const colon = address.startsWith('unix:') ? ':' : '';
    return this.route.isTunnel ? address : `${shownScheme ?? scheme}://${address}${colon}${this.target}`;
  }

  // The client's side.

  get outlivesClient(): boolean {
    return this.route.plan.ignoreClientAbort && this.#feed.complete;
  }

  abort(): void {
    const { context } = this.request;
    // Once a part of the response has been sent, no other client can get it.
    if (this.outlivesClient && this.#relay === undefined) return;
    if (this.#goesOnForCopy()) {
      context.log.write('info', 'client prematurely closed connection', this.request);
      return;
    }
    const consequence =
      this.#attempts.current === undefined ? '' : `, so upstream connection is closed too while ${this.#doing()} upstream`;
    context.log.write('info', `client prematurely closed connection${consequence}`, this.request);
    this.discard();
  }

  discard(): void {
    if (this.#goesOnForCopy()) return;
    this.#copy?.end(true);
    this.#feed.stop();
    this.#release(false);
  }

  /** Storing the response needs the rest of it. */
  #goesOnForCopy(): boolean {
    if (this.#relay === undefined || this.#copy?.isWanted !== true || !this.#feed.complete) return false;
    // The member may have waited for the client, whose request is over after this.
    queueMicrotask(() => this.#relay?.flow?.onDrain());
    return true;
  }

  onDrain(): void {
    this.#relay?.flow?.onDrain();
  }

  /** Limits the time in which the member consumes the request, then that until it responds; not that in which the client sends the request. */
  requestMoved(stream: MemberStream): void {
    if (this.#relay !== undefined) return;
    const { plan } = this.route;
    if (this.#feed.isSent) stream.limit(plan.readTimeout);
    else if (stream.unsent > 0) stream.limit(plan.sendTimeout);
    else stream.unlimit();
  }

  /** The request body failed: too long, cut off, malformed; or its file. */
  requestFailed(status: number): void {
    this.#feed.stop();
    this.#release(false);
    if (!this.request.finished) this.request.context.flow.reject(this.request, status);
  }

  // The member's side.

  onConnected(): void {
    const attempt = this.#attempts.current;
    if (attempt?.stream !== undefined) this.#send(attempt, attempt.stream);
  }

  onRoom(): void {
    this.#feed.onUpstreamDrain();
  }

  onRead(length: number): void {
    this.#attempts.current?.stream?.limit(this.route.plan.readTimeout);
    this.#relay?.onRead(length);
  }

  onData(bytes: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.#copy?.append(bytes, from, to, lender !== undefined);
    this.#relay?.write(bytes, from, to, lender);
  }

  onEnd(trailers: string): void {
    if (trailers !== '') this.#adoptTrailers(trailers);
    if (this.#relay !== undefined) this.#complete();
  }

  #adoptTrailers(trailers: string): void {
    const { request, route } = this;
    this.responseTrailers = trailers;
    if (request.response.hasTrailers && route.plan.passTrailers === true)
      request.response.trailers = shownTrailers(trailers, route.plan.hidden);
  }

  onInvalid(text: string): void {
    if (this.#relay === undefined) this.fail(AttemptFailure.InvalidHeader, text);
    else this.#truncated(text);
  }

  onClosed(reason: string): void {
    if (this.#relay === undefined) this.#closedBefore(reason);
    else this.#truncated(`${reason === '' ? 'upstream prematurely closed connection' : reason} while reading upstream`);
  }

  onRefused(): void {
    const attempt = this.#attempts.current;
    const text = 'upstream rejected the stream while sending request to upstream';
    if (attempt?.peer === undefined || attempt.refusals >= MAX_REFUSALS || this.#relay !== undefined || !this.#feed.replayable) {
      this.onInvalid(text);
      return;
    }
    attempt.refusals++;
    this.request.context.log.write('info', text, this.request);
    this.#repeat(attempt, attempt.peer, true);
  }

  onTimeout(): void {
    const attempt = this.#attempts.current;
    const sending = attempt?.requestSent === true && !this.#feed.isSent && this.#relay === undefined;
    // The member has read since what was left when the time began.
    if (sending && attempt.stream?.unsent === 0) return;
    this.fail(AttemptFailure.Timeout, `upstream timed out (110: Connection timed out) while ${this.#doing()} upstream`);
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
      if (this.#makeHead(attempt)) this.#connect(attempt, attempt.peer, true);
      return;
    }
    request.context.log.write('error', `${missing} while connecting to upstream`, request);
    this.#giveUp(502);
  }

  /** The fields may name the member that was chosen. False: a text could not be made, which is logged. */
  #makeHead(attempt: Attempt): boolean {
    const { method, target, request } = this;
    try {
      attempt.head = { method, target, fields: this.route.fieldsFor(request) };
      return true;
    } catch (error) {
      logFailure(request, error, request.location.content);
      attempt.failed(500);
      this.#release(false);
      this.#giveUp(500);
      return false;
    }
  }

  #connect(attempt: Attempt, peer: Peer, mayReuse: boolean): void {
    let tls: TlsClient | undefined;
    try {
      tls = this.route.tlsFor(this.request);
    } catch (error) {
      this.#couldNotTry(attempt, 'error', `${(error as Error).message} while connecting to upstream`);
      return;
    }
    const { admission } = this.request.context;
    if (this.route.streams.sharesConnections && !admission.hasRoomForStream) {
      this.#couldNotTry(attempt, 'alert', `${admission.shortage} while connecting to upstream`);
      return;
    }
    const stream = attempt.open(peer, this.route, tls, mayReuse, this);
    if (stream.isConnected) this.#send(attempt, stream);
    else stream.limit(this.route.plan.connectTimeout);
  }

  #send(attempt: Attempt, stream: MemberStream): void {
    attempt.connected();
    attempt.requestSent = true;
    if (attempt.head !== undefined) this.#feed.send(stream, attempt.head);
  }

  /** For the log. */
  #doing(): string {
    if (this.#relay !== undefined) return 'reading';
    const attempt = this.#attempts.current;
    if (attempt?.requestSent === true) return this.#feed.isSent ? 'reading response header from' : 'sending request to';
    return attempt?.stream?.isHandshaking === true ? 'SSL handshaking to' : 'connecting to';
  }

  /** The connection ended before there was a response. */
  #closedBefore(reason: string): void {
    const attempt = this.#attempts.current;
    const own = attempt?.stream?.ownFailure;
    if (attempt !== undefined && own !== undefined) {
      this.#couldNotTry(attempt, own, `${reason} while connecting to upstream`);
      return;
    }
    // RFC 9112, 9.3.1: a member may close an idle connection while a request is on its way. That does not count as a failure of the member and costs no try.
    if (attempt?.stream?.isReused === true && attempt.peer !== undefined && attempt.received === 0 && this.#mayRepeat()) {
      this.#repeat(attempt, attempt.peer, false);
      return;
    }
    const text =
      reason === ''
        ? 'upstream prematurely closed connection while reading response header from upstream'
        : `${reason} while ${this.#doing()} upstream`;
    this.fail(AttemptFailure.Error, text);
  }

  /** Sends the request to the same member once more, which costs no try. */
  #repeat(attempt: Attempt, peer: Peer, mayReuse: boolean): void {
    this.#feed.detach();
    attempt.repeat();
    this.#connect(attempt, peer, mayReuse);
  }

  /** The server itself has no means to ask a member: no failure of the member, and another one could not be asked either. */
  #couldNotTry(attempt: Attempt, level: 'alert' | 'crit' | 'error', text: string): void {
    this.request.context.log.write(level, text, this.request);
    attempt.failed(500);
    this.#release(false);
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
  fail(failure: AttemptFailure, text: string): void {
    const { request, route } = this;
    const { next } = route.plan;
    request.context.log.write(this.#attempts.current?.stream?.failureLevel ?? 'error', text, request);
    this.#attempts.because(text);
    if (this.#relay !== undefined) {
      this.#cutOff();
      return;
    }
    const status = statusOf(failure);
    this.#attempts.current?.failed(status);
    this.#release(true);
    if (covers(next, failure) && this.mayAskNext()) this.#next();
    else this.#giveUp(status, failure);
  }

  #giveUp(status: number, failure = AttemptFailure.Error): void {
    this.#feed.returnBody();
    this.request.owner = undefined;
    if (askAfterFailure(this.request, failure, status)) return;
    if (!this.request.finished) this.request.context.flow.reject(this.request, status);
  }

  #release(failed: boolean): void {
    this.#feed.detach();
    this.#relay?.flow?.stop();
    this.#attempts.release(failed);
  }

  // The response.

  onInterim(): void {
    const attempt = this.#attempts.current;
    if (attempt === undefined) return;
    const excess = passInterim(this.request, this.route, attempt);
    if (excess !== '') this.onInvalid(`upstream sent ${excess} while reading response header from upstream`);
  }

  onHead(length: number): void {
    const { request, route, upstream } = this;
    const attempt = this.#attempts.current;
    if (attempt?.stream === undefined || attempt.peer === undefined) return;
    const { stream, peer } = attempt;
    const { responseHead: head } = request.context;
    attempt.headArrived(head.status, route.isTunnel);
    this.responseHead = head.text;
    upstream.answered(peer, head.status, attempt.headerTime);
    if (request.finished) {
      // The client did not wait (proxy_ignore_client_abort).
      this.#feed.stop();
      this.#release(false);
      return;
    }
    route.fields.read(head);
    route.fields.logRepeats(head, request);
    for (const step of route.steps) if (step(this, head)) return;
    if (askModules(this, head, length)) return;
    upstream.responded(request, peer);
    this.#relay = new ResponseRelay(request, route, stream, this);
    if (!this.#relay.start(head, length)) this.filterFailed();
  }

  // For the steps of the response.

  /** Stores the body for modules. */
  copy(): ResponseCopy {
    return (this.#copy ??= new ResponseCopy(this.request, this.route.copyStore, () => this.#relay?.flow?.onDrain()));
  }

  get isCopied(): boolean {
    return this.#copy !== undefined;
  }

  get isCopyFull(): boolean {
    return this.#copy?.isFull === true;
  }

  /** Another member may be asked for this request. */
  mayAskNext(): boolean {
    return this.#attempts.mayGoOn() && this.#mayRepeat();
  }

  /** @param failed the response counts as a failure of the member */
  askNext(failed: boolean): void {
    const peer = this.#attempts.current?.peer;
    this.#release(failed);
    if (!failed && peer !== undefined) this.#attempts.exclude(peer);
    this.#next();
  }

  /** The member's response is dropped, and the request goes elsewhere: its body remains, for the handler that responds. */
  leave(): void {
    this.#copy?.end(true);
    this.#release(false);
    this.#feed.returnBody();
    this.request.owner = undefined;
  }

  #complete(): void {
    const { request } = this;
    const { current } = this.#attempts;
    current?.completed();
    if (current?.peer !== undefined) this.upstream.completed(request, current.peer);
    this.#release(false);
    this.#feed.stop();
    this.#copy?.end(false);
    if (request.finished) return;
    request.owner = undefined;
    endResponse(request);
  }

  /** A filter threw, and nothing of the response is out: the client gets a 500. */
  filterFailed(): void {
    this.#copy?.end(true);
    this.#feed.stop();
    this.#release(false);
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
    this.#release(true);
    this.#feed.stop();
    this.#copy?.end(true);
    if (request.finished) return;
    request.owner = undefined;
    request.stream.abort(request);
  }

  // For the tunnel.

  /** The connection to the member, which leaves its protocol. Undefined: the protocol has no such thing. */
  upgrade(): PeerConnection | undefined {
    return this.#attempts.current?.stream?.upgrade(this.route.plan.sendTimeout);
  }

  /** Bytes of the member. */
  tunnelReceived(length: number): void {
    this.#attempts.current?.tunnelReceived(length);
  }

  /** Ends the member's accounts. The last data of the client is still sent. */
  finishTunnel(): void {
    this.#attempts.current?.completed();
    this.#feed.stop();
    this.#release(false);
  }
}
