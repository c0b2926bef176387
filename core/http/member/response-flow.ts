import type { Timed } from '../../net/timers.js';
import type { Request } from '../request/request.js';
import { sizeFor } from '../request/template-size.js';
import { bufferResponse, isResponseBehind } from '../response/response.js';
import { BodyPassing } from './body-passing.js';
import type { MemberRoute } from './member-route.js';
import type { MemberStream } from './member-stream.js';

/**
 * A client that takes that many bytes a millisecond (10 MB/s) is fast: its responses flow through as they are read. One that lets the member
 * wait for longer than such a client would, and for {@link PATIENCE} milliseconds more, is slow: the member is read without it.
 */
const FAST = 10_000;
const PATIENCE = 50;
/** Bytes of a read of a member that has much to send. */
const LARGE = 16_384;

/** Whose response it is. */
export interface ResponseSource {
  /** It is buffered for a slow client: proxy_buffering, or what X-Accel-Buffering says in its place. */
  readonly buffers: boolean;
  /** The body is stored as well. */
  readonly isCopied: boolean;
  /** The stores of the response have as much as they may have for now. */
  readonly isCopyFull: boolean;
}

/**
 * How fast the body of a response is read from its member. Without buffering, and for a fast client, as fast as the client takes it; else as
 * fast as the member sends it and the body filters go, or as proxy_limit_rate allows. Bodies that come with their head have no flow.
 */
export class ResponseFlow implements Timed {
  deadline = 0;
  slot = -1;
  /** The client is slow, and is sent what is stored for it. */
  #isBuffered = false;
  #isOver = false;
  readonly #startedAt: number;
  /** Bytes a second; 0: no limit. */
  readonly #limitRate: number;
  #received = 0;
  #pausedAt = 0;
  /** Milliseconds in which the member waited for the client. */
  #waited = 0;
  /** The body goes to the client without being read. */
  #passing: BodyPassing | undefined = undefined;
  #wasTried = false;

  constructor(
    private readonly request: Request,
    private readonly stream: MemberStream,
    private readonly route: MemberRoute,
    private readonly source: ResponseSource,
  ) {
    const { limitRate } = route.plan.buffering;
    this.#startedAt = request.context.clock.now;
    this.#limitRate = limitRate === undefined ? 0 : sizeFor(request, limitRate);
  }

  /** Bytes of the body were passed on. */
  onRead(length: number): void {
    this.#received += length;
    this.#adjust();
    if (length >= LARGE && !this.#wasTried) this.#tryPassing();
  }

  /** The client has caught up. */
  onDrain(): void {
    this.#passing?.onDrain();
    this.#adjust();
  }

  /** Patience is over, or the rate allows to read on. */
  onDeadline(): void {
    this.#adjust();
  }

  /** The connection is not this flow's any more. */
  stop(): void {
    this.#isOver = true;
    this.request.context.timers.forget(this);
    this.#endPassing();
  }

  /** Reads on, or stops reading. */
  #adjust(): void {
    // The stores of the response may still be at work.
    if (this.#isOver) return;
    if (this.#isClientSlow()) this.#buffer();
    const wait = this.#timeToWait();
    const isFull = this.#isClientBehind() || this.source.isCopyFull;
    if (isFull || wait > 0) this.#pause(wait);
    else if (this.#pausedAt > 0) this.#resume();
  }

  #buffer(): void {
    const { plan, responseStore } = this.route;
    this.#isBuffered = true;
    this.#endPassing();
    bufferResponse(this.request, responseStore, plan.buffering.readSize);
  }

  #tryPassing(): void {
    const { request, stream, source } = this;
    if (this.#isOver || request.finished || request.context.buffers.isScarce) return;
    this.#wasTried = true;
    if (this.#limitRate === 0 && !source.isCopied) this.#passing = BodyPassing.begin(request, stream);
  }

  #endPassing(): void {
    this.#passing?.end();
    this.#passing = undefined;
  }

  #pause(wait: number): void {
    const { request, stream } = this;
    const { timers, clock } = request.context;
    if (this.#pausedAt === 0) {
      this.#pausedAt = clock.now;
      stream.pause();
      stream.unlimit();
    }
    if (wait > 0) timers.arm(this, wait);
    else if (this.#isClientBehind() && !this.#isBuffered && this.source.buffers) timers.arm(this, Math.max(this.#patience(), 1));
    if (!request.finished && request.stream.isBehind) request.stream.watchSending(request);
  }

  #resume(): void {
    const { stream } = this;
    const { timers, clock } = this.request.context;
    this.#waited += clock.now - this.#pausedAt;
    this.#pausedAt = 0;
    timers.disarm(this);
    stream.resume();
    stream.limit(this.route.plan.readTimeout);
  }

  /** The response waits for its client, or for its filters. Its stores may go on without them. */
  #isClientBehind(): boolean {
    return !this.request.finished && isResponseBehind(this.request);
  }

  #isClientSlow(): boolean {
    const { stream, finished } = this.request;
    return this.source.buffers && !this.#isBuffered && !finished && stream.isBehind && this.#patience() <= 0;
  }

  /** Milliseconds for which the client may still let the member wait. */
  #patience(): number {
    const { clock } = this.request.context;
    const waited = this.#waited + (this.#pausedAt > 0 ? clock.now - this.#pausedAt : 0);
    return PATIENCE + this.#received / FAST - waited;
  }

  /** Milliseconds until proxy_limit_rate allows the next read. */
  #timeToWait(): number {
    const limitRate = this.#limitRate;
    if (limitRate === 0 || !this.source.buffers) return 0;
    const elapsed = this.request.context.clock.now - this.#startedAt;
    // The first second's worth is read at once (nginx).
    return Math.max((this.#received * 1000) / limitRate - elapsed - 1000, 0);
  }
}
