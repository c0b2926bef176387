import type { ClientConnection } from '../../module/http.js';
import { ByteQueue } from '../../net/byte-queue.js';
import type { Timed } from '../../net/timers.js';
import type { ClientStream, Lender, RequestListener, RequestOwner, Tunnel } from '../request/client-stream.js';
import type { HttpContext } from '../request/context.js';
import type { Request } from '../request/request.js';

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
 * The client stream of a response whose rate is limited: in front of the one that the request came by, of whatever protocol. It sends what the
 * rate allows, a second's worth at the start (nginx), and is behind for as long as it allows nothing: so its source stops.
 */
export class PacedStream implements ClientStream, Timed {
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
    private readonly inner: ClientStream,
    private readonly request: Request,
    private readonly pace: Pace,
    /** Tells filters and source that they may go on. */
    private readonly drained: (request: Request) => void,
  ) {
    this.#startedAt = inner.context.clock.now;
  }

  get client(): ClientConnection {
    return this.inner.client;
  }
  get context(): HttpContext {
    return this.inner.context;
  }
  get listener(): RequestListener {
    return this.inner.listener;
  }
  get protocol(): string | undefined {
    return this.inner.protocol;
  }

  // The body.

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const allowed = this.#waiting.isEmpty ? Math.min(this.#allowed, to - from) : 0;
    const end = from + allowed;
    // Before the stream may take the memory over.
    if (end < to) this.#waiting.push(chunk.subarray(end, to), lender !== undefined);
    if (allowed > 0) this.#send(request, chunk, from, end, lender);
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
    return this.isBehind;
  }

  watchSending(request: Request): void {
    if (this.inner.isBehind) this.inner.watchSending(request);
  }

  /** What still waits is sent first: until then this is the owner of the request. */
  finish(request: Request): void {
    if (this.#ended && !request.finished) request.owner = new UnsentRest(this);
    else this.inner.finish(request);
  }

  abort(request: Request): void {
    this.stop();
    this.inner.abort(request);
  }

  onDeadline(): void {
    this.#isHolding = false;
    if (!this.request.finished) this.drained(this.request);
  }

  /** Nothing more is sent. */
  stop(): void {
    this.#waiting.clear();
    this.#isHolding = false;
    this.context.timers.forget(this);
  }

  // All else is the business of the stream below.

  writeHead(request: Request): void {
    this.inner.writeHead(request);
  }
  get holdsHead(): boolean {
    return this.inner.holdsHead;
  }
  dropHead(request: Request): void {
    this.inner.dropHead(request);
  }
  flush(request: Request): void {
    this.inner.flush(request);
  }
  wantBody(request: Request): void {
    this.inner.wantBody(request);
  }
  resumeBody(request: Request): void {
    this.inner.resumeBody(request);
  }
  pauseBody(request: Request): void {
    this.inner.pauseBody(request);
  }
  openTunnel(request: Request, tunnel: Tunnel): boolean {
    return this.inner.openTunnel(request, tunnel);
  }
  writeTunnel(request: Request, chunk: Buffer): void {
    this.inner.writeTunnel(request, chunk);
  }
  pauseTunnel(): void {
    this.inner.pauseTunnel();
  }
  resumeTunnel(): void {
    this.inner.resumeTunnel();
  }
  endTunnelOutput(request: Request): void {
    this.inner.endTunnelOutput(request);
  }
  endTunnel(request: Request, isBroken: boolean): void {
    this.inner.endTunnel(request, isBroken);
  }

  /** Bytes that may be sent now. */
  get #allowed(): number {
    const { rate, after } = this.pace;
    const elapsed = this.context.clock.now - this.#startedAt;
    return Math.floor(after + (rate * (elapsed + 1000)) / 1000 - this.#sent);
  }

  #send(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    this.#sent += to - from;
    this.inner.write(request, chunk, from, to, lender);
  }

  /** Sends of what waits as much as rate and client allow. */
  pump(): void {
    const { request, inner } = this;
    while (!this.#waiting.isEmpty && !this.#isHolding && !inner.isBehind) {
      const piece = this.#waiting.shift() as Buffer;
      const allowed = Math.min(this.#allowed, piece.length);
      if (allowed < piece.length) this.#waiting.unshift(piece.subarray(Math.max(allowed, 0)));
      if (allowed > 0) this.#send(request, piece, 0, allowed, undefined);
      if (allowed < piece.length) this.#hold();
    }
    if (inner.isBehind) inner.watchSending(request);
    if (this.#ended && this.#waiting.isEmpty) {
      this.stop();
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

/** Owner of a request whose source has ended: the rate still holds the rest of its response back. */
class UnsentRest implements RequestOwner {
  readonly outlivesClient = false;

  constructor(private readonly stream: PacedStream) {}

  abort(): void {
    this.stream.stop();
  }
  discard(): void {
    this.stream.stop();
  }
  /** {@link PacedStream.pump} has sent it. */
  onDrain(): void {}
}
