import { ByteQueue } from '../../net/byte-queue.js';
import type { Timed } from '../../net/timers.js';
import type { ClientStream } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import type { Request } from '../request/request.js';
import { FrontStream } from './front-stream.js';

/** Milliseconds between two writes, as the coarse timers have it or longer. */
const PAUSE = 100;

/** The rate of one response (limit_rate, limit_rate_after). */
export interface Pace {
  /** Bytes a second. */
  readonly rate: number;
  /** Bytes that are sent before the rate counts. */
  readonly after: number;
}

/**
 * The client stream of a response whose rate is limited: in front of the one that the request came by, of whatever protocol. It sends at
 * the rate, a second's worth at the start (nginx), and stops its source for as long as the rate allows nothing.
 */
export class PacedStream extends FrontStream implements Timed {
  readonly takesLargePieces = false;
  deadline = 0;
  slot = -1;
  readonly #waiting = new ByteQueue();
  readonly #startedAt: number;
  #sent = 0;
  /** The rate allows nothing at the moment. */
  #isHolding = false;
  #ended = false;

  constructor(
    inner: ClientStream,
    request: Request,
    private readonly pace: Pace,
    /** Lets filters and source go on. */
    private readonly drained: (request: Request) => void,
  ) {
    super(inner, request);
    this.#startedAt = inner.context.clock.now;
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const allowed = this.#waiting.isEmpty ? Math.min(this.#allowed, to - from) : 0;
    const end = from + allowed;
    // Before the stream may take the memory over.
    if (end < to) this.#waiting.push(chunk.subarray(end, to), lender !== undefined);
    if (allowed > 0) this.#write(request, chunk, from, end, lender);
    else this.inner.flush(request);
    if (end < to || this.#allowed <= 0) this.#hold();
  }

  end(request: Request): void {
    if (this.#waiting.isEmpty) this.inner.end(request);
    else this.#ended = true;
  }

  get isBehind(): boolean {
    return this.#isHolding || this.inner.isBehind;
  }

  get awaitsDrain(): boolean {
    return this.#isHolding || this.inner.awaitsDrain;
  }

  get room(): number {
    return this.inner.room;
  }

  protected get holds(): boolean {
    return this.#ended;
  }

  abort(request: Request): void {
    this.release();
    this.inner.abort(request);
  }

  onDeadline(): void {
    this.#isHolding = false;
    if (!this.request.finished) this.drained(this.request);
  }

  protected release(): void {
    this.#waiting.clear();
    this.#isHolding = false;
    this.context.timers.forget(this);
  }

  /** Bytes that may be sent now. */
  get #allowed(): number {
    const { rate, after } = this.pace;
    const elapsed = this.context.clock.now - this.#startedAt;
    return Math.floor(after + (rate * (elapsed + 1000)) / 1000 - this.#sent);
  }

  #write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.#sent += to - from;
    this.inner.write(request, chunk, from, to, lender);
  }

  protected send(): void {
    const { request, inner } = this;
    while (!this.#waiting.isEmpty && !this.#isHolding && !inner.isBehind) {
      const piece = this.#waiting.shift() as Buffer;
      const allowed = Math.min(this.#allowed, piece.length);
      if (allowed < piece.length) this.#waiting.unshift(piece.subarray(Math.max(allowed, 0)));
      if (allowed > 0) this.#write(request, piece, 0, allowed, undefined);
      if (allowed < piece.length) this.#hold();
    }
    if (inner.isBehind) inner.watchSending(request);
    if (this.#ended && this.#waiting.isEmpty) {
      this.release();
      inner.end(request);
      request.owner = undefined;
      inner.finish(request);
    }
  }

  #hold(): void {
    if (this.#isHolding) return;
    this.#isHolding = true;
    // A byte takes longer than a pause below ten bytes a second.
    this.context.timers.arm(this, Math.max(PAUSE, 1000 / this.pace.rate));
  }
}
