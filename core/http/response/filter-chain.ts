import { inspect } from 'node:util';
import type { BodyFilter, BodyOutput } from '../../contract/http.js';
import type { RequestOwner, ResponseSink } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import { writeToClient } from './client-output.js';
import type { Timed } from '../../net/timers.js';
import { bodyBytes } from '../request/body-bytes.js';
import { handlerName, logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/**
 * The body filters of one response, in order, from its source to the client's stream. A filter may hold bytes back and give them later,
 * and may stop the source meanwhile. When the source is done, the chain is the request's owner until its last filter has ended. A filter
 * that the response waits for has handler_timeout to go on: nothing else would end the request.
 */
export class FilterChain implements ResponseSink, RequestOwner, Timed {
  deadline = 0;
  slot = -1;
  readonly outlivesClient = false;
  readonly #links: Link[] = [];
  #paused = 0;
  #over = false;
  #delivered = 0;
  /** The source has given everything. */
  #isLast = false;
  /** Bytes that were delivered when the time began. */
  #seen = 0;

  constructor(
    readonly request: Request,
    /** Responds with 500 while nothing is out. */
    private readonly fail: (request: Request) => void,
  ) {}

  /** @param handler the header filter that made it, whose module a failure is logged with */
  add(filter: BodyFilter, handler: unknown): void {
    assertFilter(filter);
    const link = new Link(this, filter, handler);
    const last = this.#links.at(-1);
    if (last !== undefined) last.next = link;
    this.#links.push(link);
  }

  get isBehind(): boolean {
    return this.#paused > 0;
  }
  get isOver(): boolean {
    return this.#over;
  }

  write(chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const [first] = this.#links;
    const piece = chunk.subarray(from, to);
    first?.accept(lender === undefined || !first.retains ? piece : Buffer.from(piece));
  }

  end(): void {
    if (this.#over) return;
    this.request.owner = this;
    this.#isLast = true;
    this.#links[0]?.finish();
    this.#watch();
  }

  /** Bytes after the last filter, with its handler. */
  deliver(piece: Buffer, handler: unknown): boolean {
    const { request } = this;
    if (this.#over || piece.length === 0) return true;
    this.#delivered += piece.length;
    const length = lengthOf(request);
    if (length >= 0 && this.#delivered > length) {
      this.failed(new RangeError(`the body filters wrote more than the ${length} bytes of Content-Length`), handler);
      return true;
    }
    writeToClient(request, piece, 0, piece.length, undefined);
    return !request.stream.isBehind;
  }

  /** The last filter has ended. */
  complete(handler: unknown): void {
    const { request } = this;
    if (this.#over) return;
    const length = lengthOf(request);
    if (this.#delivered < length) {
      this.failed(new RangeError(`the body filters wrote ${this.#delivered} of the ${length} bytes of Content-Length`), handler);
      return;
    }
    this.#close();
    request.owner = undefined;
    request.stream.end(request);
    request.stream.finish(request);
  }

  pause(): void {
    if (++this.#paused === 1) this.#watch();
  }

  resume(): void {
    if (this.#paused === 0 || --this.#paused > 0 || this.#over) return;
    if (!this.#isLast) this.request.context.timers.disarm(this);
    if (!this.request.stream.isBehind) this.request.owner?.onDrain();
  }

  /** Waiting for a slow client is not a delay of the filters. */
  onDeadline(): void {
    const { request } = this;
    if (this.#over) return;
    if (this.#delivered > this.#seen || request.stream.isBehind) {
      this.#watch();
      return;
    }
    const late = this.#links.find((link) => link.isAwaited) ?? this.#links[0];
    const reason = `${handlerName(request, late?.handler, 'body filter')} timed out (110: Connection timed out)`;
    request.context.log.write('error', reason, request);
    this.#giveUp();
  }

  /** A filter threw, or gave something else than bytes. */
  failed(error: unknown, handler: unknown): void {
    const { request } = this;
    if (this.#over) return;
    logFailure(request, error, handler);
    this.#giveUp();
  }

  #watch(): void {
    const { context, location } = this.request;
    const { handlerTimeout } = location.settings;
    if (this.#over || handlerTimeout === 0) return;
    this.#seen = this.#delivered;
    context.timers.arm(this, handlerTimeout);
  }

  #close(): void {
    this.#over = true;
    this.request.context.timers.forget(this);
  }

  #giveUp(): void {
    const { request } = this;
    this.destroy();
    const { owner } = request;
    request.owner = undefined;
    if (owner !== this) owner?.discard();
    if (request.stream.holdsHead) {
      request.stream.dropHead(request);
      this.fail(request);
    } else request.stream.abort(request);
  }

  destroy(): void {
    if (this.#over) return;
    this.#close();
    for (const link of this.#links) link.destroy();
  }

  abort(): void {
    this.destroy();
  }
  discard(): void {
    this.destroy();
  }
  /** Its filters are notified by {@link onDrained}. */
  onDrain(): void {}

  onDrained(): void {
    for (const link of this.#links) link.drain();
  }
}

/** One filter and its way out: to the next filter, or to the client. */
class Link implements BodyOutput {
  next: Link | undefined = undefined;
  #ended = false;
  #paused = false;
  #isFinishing = false;

  constructor(
    private readonly chain: FilterChain,
    private readonly filter: BodyFilter,
    readonly handler: unknown,
  ) {}

  get retains(): boolean {
    return this.filter.retains !== false;
  }

  /** The response waits for it. */
  get isAwaited(): boolean {
    return this.#paused || (this.#isFinishing && !this.#ended);
  }

  accept(piece: Buffer): void {
    if (this.chain.isOver) return;
    try {
      assertSynchronous(this.filter.write(piece, this));
    } catch (error) {
      this.chain.failed(error, this.handler);
    }
  }

  finish(): void {
    if (this.chain.isOver) return;
    this.#isFinishing = true;
    try {
      assertSynchronous(this.filter.end(this));
    } catch (error) {
      this.chain.failed(error, this.handler);
    }
  }

  drain(): void {
    if (this.chain.isOver) return;
    try {
      assertSynchronous(this.filter.drain?.(this));
    } catch (error) {
      this.chain.failed(error, this.handler);
    }
  }

  destroy(): void {
    this.#ended = true;
    try {
      assertSynchronous(this.filter.destroy?.());
    } catch (error) {
      logFailure(this.chain.request, error, this.handler);
    }
  }

  write(piece: Uint8Array): boolean {
    if (this.#ended || this.chain.isOver) return true;
    const bytes: Buffer | undefined = bodyBytes(piece);
    if (bytes === undefined || typeof piece === 'string') {
      // Not thrown: the filter may write from a callback of its own, where it would not be caught.
      this.chain.failed(new TypeError(`a body filter must write Buffers, not ${inspect(piece, { depth: 0 })}`), this.handler);
      return true;
    }
    if (this.next === undefined) return this.chain.deliver(bytes, this.handler);
    this.next.accept(bytes);
    return !this.chain.request.stream.isBehind;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.resume();
    if (this.next === undefined) this.chain.complete(this.handler);
    else this.next.finish();
  }

  fail(error: unknown): void {
    this.chain.failed(error, this.handler);
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.chain.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.chain.resume();
  }
}

/** Bytes that the filters have to give, -1: unknown. */
function lengthOf({ ranges, sentLength }: Request): number {
  return ranges === undefined ? sentLength : ranges.bodyLength;
}

/** A method that is `async` would lose its errors, and the order of pieces. */
function assertSynchronous(returned: unknown): void {
  if (!(returned instanceof Promise)) return;
  // Its rejection is reported by this error.
  returned.catch(() => undefined);
  throw new TypeError('a method of a body filter must not return a promise: it writes to `out`, now or later');
}

/** The types of a module written in JavaScript are not checked. */
function assertFilter(filter: unknown): void {
  const candidate = filter as Partial<BodyFilter> | null;
  if (typeof candidate === 'object' && typeof candidate?.write === 'function' && typeof candidate.end === 'function') {
    const { length = 0 } = candidate;
    if (Number.isSafeInteger(length) && length >= 0) return;
    throw new TypeError(`the length of a body filter must be a number of bytes, not ${inspect(length, { depth: 0 })}`);
  }
  // Its rejection is reported by this error.
  if (filter instanceof Promise) filter.catch(() => undefined);
  throw new TypeError(
    `the header filter returned ${inspect(filter, { depth: 0 })}: it must return a body filter, { write(piece, out), end(out) }, or nothing`,
  );
}
