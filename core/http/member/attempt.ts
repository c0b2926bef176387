import { parseSource } from '../../contract/address.js';
import type { Template } from '../../contract/http.js';
import type { Clock } from '../../net/clock.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { Peer } from '../../upstream/peer.js';
import type { AttemptObserver } from '../../run/attempt-observer.js';
import type { AttemptFacts } from '../request/upstream-trace.js';
import type { Request } from '../request/request.js';
import { sizeFor } from '../request/template-size.js';
import type { MemberRoute } from './member-route.js';
import { attemptEnded, type AttemptEndHandlers } from './attempt-observer.js';
import type { MemberReader, MemberStream, MemberTarget } from './member-stream.js';
import type { MemberRequestHead } from './request-feed.js';
import { hostOfName, type TlsClient } from '../../net/tls-client.js';

/** Most bytes of the read that brings the head of a response over HTTP/2. */
const FIRST_READ = 16_384;
/** Bytes that the head of a response may need, however low the rate is. */
const LEAST_FIRST_READ = 4096;
/** Reads of a body with a rate for each second: what comes with one may be more than the rate allows. */
const READS_A_SECOND = 8;

/**
 * One attempt at a member: the stream it is made over, and what came of it, for `$upstream_*` and logs. Times in milliseconds, -1: it
 * did not come to that.
 */
export class Attempt implements AttemptFacts {
  /** Address of the member; the upstream's name where there was none to ask. */
  readonly address: string;
  readonly isAsked: boolean;
  status = 0;
  number = 0;
  isReused = false;
  connectTime = -1;
  headerTime = -1;
  responseTime = -1;
  /** Undefined when the attempt is over, {@link end}. */
  stream: MemberStream | undefined = undefined;
  requestSent = false;
  /** How often the member has rejected the stream before it looked at the request. */
  refusals = 0;
  /** Number of interim responses so far, and bytes of 103 responses that were passed on. */
  interims = 0;
  hintBytes = 0;
  /** Request line and fields for this member. */
  head: MemberRequestHead | undefined = undefined;
  /** Why it failed, for people. */
  failure = '';
  #sent = 0;
  #received = 0;
  #headLength = 0;
  #route: MemberRoute | undefined = undefined;
  readonly #clock: Clock;
  readonly #endHandlers: AttemptEndHandlers;
  readonly startTime: number;
  /** The response has come to its end. */
  #isWhole = false;
  #hasHead = false;

  /**
   * @param peer undefined when the attempt is over, or there was none to ask
   * @param first the first one after an internal redirect, or of all
   */
  constructor(
    private readonly group: Upstream,
    public peer: Peer | undefined,
    readonly first: boolean,
    private readonly request: Request,
    /** Time that the request has waited for the member. */
    readonly queueTime: number,
    /** Undefined: nothing looks at more than its end. */
    private readonly observer: AttemptObserver<Request> | undefined,
  ) {
    this.address = peer?.server ?? group.name;
    this.isAsked = peer !== undefined;
    this.#clock = request.context.clock;
    this.#endHandlers = request.location.attemptEndHandlers;
    this.startTime = this.#clock.now;
  }

  get upstream(): string {
    return this.group.name;
  }

  get url(): string {
    const { head } = this;
    if (head === undefined || this.#route === undefined || head.method === 'CONNECT') return '';
    const { shownScheme, scheme } = this.#route.plan;
    return `${shownScheme ?? scheme}://${this.address}${head.target}`;
  }

  get elapsed(): number {
    return this.#clock.now - this.startTime;
  }

  get sent(): number {
    return this.#sent + (this.stream?.sent ?? 0);
  }
  get received(): number {
    return this.#received + (this.stream?.received ?? 0);
  }
  /** Bytes of `received` that were heads. */
  get headLength(): number {
    return this.#headLength + (this.stream?.headLength ?? 0);
  }

  /**
   * Begins a stream to the member.
   * @param tls undefined: TLS is not spoken
   * @param mayReuse over an idle connection, if there is one
   */
  open(
    peer: Peer,
    route: MemberRoute,
    tls: TlsClient | undefined,
    mayReuse: boolean,
    exchange: MemberReader & { readonly request: Request },
  ): MemberStream {
    const { plan, headLimits } = route;
    const { request } = exchange;
    this.requestSent = false;
    this.#route = route;
    const bodyRead = readSizeFor(request, plan.buffering);
    const target: MemberTarget = {
      context: request.context,
      upstream: this.group,
      peer,
      scope: plan.scope,
      tls,
      tlsName: tls === undefined ? '' : hostOfName(plan.tlsName.of(request)),
      source: plan.bind === undefined ? '' : sourceFor(request, plan.bind),
      keepsAlive: plan.socketKeepalive === true,
      version: plan.version === '1.0' ? '1.0' : '1.1',
      headLimits,
      // Data that comes with the head has to be kept if the client's windows are closed, for each of many streams.
      firstRead: Math.min(request.stream.room === Infinity ? Infinity : FIRST_READ, Math.max(bodyRead, LEAST_FIRST_READ)),
      bodyRead,
    };
    // The memory of the next read of a kept connection was chosen when it was last read: it may be too large for a low rate.
    return (this.stream = route.streams.open(target, mayReuse && bodyRead === Infinity, exchange));
  }

  /** Gives up a kept connection that the peer had closed already; the request goes to the same peer once more, and counts there again. */
  repeat(): void {
    this.#close();
    if (this.peer !== undefined) this.group.repeated(this.peer);
  }

  connected(): void {
    this.isReused = this.stream?.isReused === true;
    this.connectTime = this.isReused ? 0 : this.elapsed;
    this.observer?.tell(this, 'connected');
  }

  /** @param isTunnel the connection itself is the response: the first bytes of the member follow */
  headArrived(status: number, isTunnel: boolean): void {
    this.status = status;
    this.headerTime = this.elapsed;
    if (isTunnel) return;
    this.#hasHead = true;
    this.observer?.tell(this, 'head');
  }

  failed(status: number): void {
    this.status = status;
    this.responseTime = this.elapsed;
  }

  completed(): void {
    this.responseTime = this.elapsed;
    this.#isWhole = true;
  }

  /** Bytes of the member after its connection has left the protocol. */
  tunnelReceived(length: number): void {
    this.#received += length;
    if (this.#hasHead) return;
    this.#hasHead = true;
    this.headerTime = this.elapsed;
    this.observer?.tell(this, 'head');
  }

  /** Closes the member's accounts. */
  end(failed: boolean): void {
    const { group: upstream, peer } = this;
    // Broken off by the client, a filter or a redirect: that is when it was over.
    if (this.responseTime < 0) this.responseTime = this.elapsed;
    this.peer = undefined;
    if (peer !== undefined) {
      upstream.finished(peer, this.sent, this.received, this.#isWhole ? this.responseTime : -1);
      upstream.free(peer, failed, failed ? this.failure || `it responded with ${this.status}` : '');
    }
    this.#close();
    if (peer === undefined) return;
    if (failed && this.failure === '') this.failure = `it responded with ${this.status}`;
    this.observer?.tell(this, 'end');
    attemptEnded(this.request, this, this.#endHandlers);
  }

  #close(): void {
    const { stream } = this;
    if (stream === undefined) return;
    this.#sent += stream.sent;
    this.#received += stream.received;
    this.#headLength += stream.headLength;
    this.stream = undefined;
    stream.release();
  }
}

/** Empty: the system chooses. An address that is none is logged, as in nginx. */
function sourceFor(request: Request, bind: Template): string {
  const source = bind.of(request);
  if (source === '' || parseSource(source) !== undefined) return source;
  request.context.log.write('error', `invalid local address "${source}"`, request);
  return '';
}

/** Most bytes of a read of the body: more would pass at once, whatever proxy_limit_rate is. */
function readSizeFor(request: Request, { enabled, limitRate }: MemberRoute['plan']['buffering']): number {
  const rate = !enabled || limitRate === undefined ? 0 : sizeFor(request, limitRate);
  return rate === 0 ? Infinity : Math.max(Math.ceil(rate / READS_A_SECOND), 1);
}
