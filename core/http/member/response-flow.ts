import type { PeerConnection } from '../../net/peer-connection.js';
import type { Timed } from '../../net/timers.js';
import type { Request } from '../request/request.js';
import { isResponseBehind } from '../response/response.js';
import type { ExchangeRoute } from './exchange-route.js';
import { type BufferListener, ResponseBuffer } from './response-buffer.js';

/**
 * A client that takes that many bytes a millisecond (10 MB/s) is fast: its responses flow through as they are read. One that lets the member
 * wait for longer than such a client would, and for {@link PATIENCE} milliseconds more, is slow: the member is read without it.
 */
const FAST = 10_000;
const PATIENCE = 50;

/** Whose response it is. */
export interface ResponseSource {
  /** It is buffered for a slow client: proxy_buffering, or what X-Accel-Buffering says in its place. */
  readonly buffers: boolean;
  /** What was buffered is lost: the response cannot be completed. */
  onBufferFailed(): void;
}

/**
 * How fast the body of a response is read from its member. Without buffering, and for a fast client, as fast as the client takes it; else as
 * fast as the member sends it, or as proxy_limit_rate allows. Bodies that come with their head have no flow.
 */
export class ResponseFlow implements Timed, BufferListener {
  deadline = 0;
  slot = -1;
  /** Undefined while everything goes straight to the client. */
  buffer: ResponseBuffer | undefined = undefined;
  readonly #startedAt: number;
  #received = 0;
  #pausedAt = 0;
  /** Milliseconds in which the member waited for the client. */
  #waited = 0;

  constructor(
    private readonly request: Request,
    private readonly connection: PeerConnection,
    private readonly route: ExchangeRoute,
    private readonly source: ResponseSource,
  ) {
    this.#startedAt = request.context.clock.now;
  }

  /** Bytes of the body were passed on. */
  onRead(length: number): void {
    this.#received += length;
    this.#adjust();
  }

  /** The client has caught up. */
  onDrain(): void {
    if (this.buffer === undefined) this.#adjust();
    else this.buffer.onDrain();
  }

  onRoom(): void {
    this.#adjust();
  }

  onBufferFailed(): void {
    this.source.onBufferFailed();
  }

  /** Patience is over, or the rate allows to read on. */
  onDeadline(): void {
    this.#adjust();
  }

  /** The connection is not this flow's any more. */
  stop(): void {
    this.request.context.timers.forget(this);
  }

  /** Reads on, or stops reading. */
  #adjust(): void {
    if (this.#isClientSlow) this.buffer ??= this.#newBuffer();
    const wait = this.#timeToWait();
    const isFull = this.buffer === undefined ? isResponseBehind(this.request) : this.buffer.isFull;
    if (isFull || wait > 0) this.#pause(isFull, wait);
    else if (this.#pausedAt > 0) this.#resume();
  }

  #newBuffer(): ResponseBuffer {
    const { plan, responseFile } = this.route;
    return new ResponseBuffer(this.request, plan.buffering, responseFile, this);
  }

  #pause(isFull: boolean, wait: number): void {
    const { request, connection } = this;
    const { timers, clock } = request.context;
    if (this.#pausedAt === 0) {
      this.#pausedAt = clock.now;
      connection.socket.pause();
      timers.disarm(connection);
    }
    if (wait > 0) timers.arm(this, wait);
    else if (isFull && this.buffer === undefined && this.source.buffers) timers.arm(this, Math.max(this.#patience, 1));
    if (request.stream.isBehind) request.stream.watchSending(request);
  }

  #resume(): void {
    const { connection } = this;
    const { timers, clock } = this.request.context;
    this.#waited += clock.now - this.#pausedAt;
    this.#pausedAt = 0;
    timers.disarm(this);
    connection.socket.resume();
    timers.arm(connection, this.route.plan.readTimeout);
  }

  get #isClientSlow(): boolean {
    return this.source.buffers && this.buffer === undefined && isResponseBehind(this.request) && this.#patience <= 0;
  }

  /** Milliseconds for which the client may still let the member wait. */
  get #patience(): number {
    const { clock } = this.request.context;
    const waited = this.#waited + (this.#pausedAt > 0 ? clock.now - this.#pausedAt : 0);
    return PATIENCE + this.#received / FAST - waited;
  }

  /** Milliseconds until proxy_limit_rate allows the next read. */
  #timeToWait(): number {
    const { limitRate } = this.route.plan.buffering;
    if (limitRate === 0 || !this.source.buffers) return 0;
    const elapsed = this.request.context.clock.now - this.#startedAt;
    // The first second's worth is read at once (nginx).
    return Math.max((this.#received * 1000) / limitRate - elapsed - 1000, 0);
  }
}
