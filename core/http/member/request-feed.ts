import { LENGTH_UNKNOWN, NO_BODY } from '../../contract/member.js';
import { ByteQueue } from '../../net/byte-queue.js';
import type { BodyReader } from '../request/request-body.js';
import { sentTrailers } from './trailers.js';
import type { MemberRoute } from './member-route.js';
import type { Request } from '../request/request.js';
import type { BodyStore } from '../request/body-store.js';
import type { StoredBody } from '../request/stored-body.js';
import type { MemberStream } from './member-stream.js';
import { RequestPassing } from './request-passing.js';
import { type BodyOwner, StoredBodySender } from './stored-body-sender.js';

/** Bytes that may wait for the member before the client has to wait. */
const HIGH_WATER = 65_536;
/** Bytes of a read of a client that has much to send. */
const LARGE = 16_384;
/** A stored body that is no longer goes with the head, where it is in memory. */
const WITH_HEAD = 16_384;
const NOTHING: readonly Buffer[] = [];

/** Head of a request for one member. */
export interface MemberRequestHead {
  readonly method: string;
  readonly target: string;
  readonly fields: string;
}

/** Parts of the exchange that the feed needs. */
export interface FeedListener {
  begin(): void;
  /** Something more of the request is on its way to the member. */
  requestMoved(stream: MemberStream): void;
  requestFailed(status: number): void;
}

/**
 * The request on its way to a member. With proxy_request_buffering its body was stored before: its length is known, and it can be sent again to
 * the next member. Without, it flows as it comes, and what is longer than client_body_buffer_size is sent once, by the system alone where it can.
 */
export class RequestFeed implements BodyReader, BodyOwner {
  /** Received part of a body that flows, as long as it may be sent again; or the body in place of the client's (proxy_set_body). */
  readonly #kept = new ByteQueue();
  #stored: StoredBody | undefined = undefined;
  #sender: StoredBodySender | undefined = undefined;
  #stream: MemberStream | undefined = undefined;
  /** The body goes to the member without being read. */
  #passing: RequestPassing | undefined = undefined;
  #wasTried = false;
  #stopped = false;
  /** The whole body has come from the client. */
  complete = true;
  /** Everything sent so far could be sent again. */
  replayable = true;
  /** Bytes of a body that are kept in memory. */
  readonly #limit: number;

  constructor(
    private readonly request: Request,
    private readonly route: MemberRoute,
    private readonly exchange: FeedListener,
  ) {
    this.#limit = request.location.settings.clientBodyBufferSize;
  }

  start(): void {
    const { request } = this;
    const { body } = request;
    const own = this.route.plan.body;
    if (own !== undefined) this.#kept.push(Buffer.from(own.of(request), 'latin1'), false);
    else if (body !== undefined && this.#hasBody()) {
      this.#stored = body.stored;
      // Its client may leave before everything is sent.
      this.#stored?.share();
      if (this.#stored === undefined) {
        this.complete = false;
        request.wantBody();
        body.read(this);
        request.resumeBody();
      }
    } else if (body === undefined) request.wantBody();
    this.exchange.begin();
  }

  /** All of the request is on its way to the member. */
  get isSent(): boolean {
    return this.complete && this.#sender?.isDone !== false;
  }

  /** Sends head and what there is of the body to a member; the rest follows as it comes. */
  send(stream: MemberStream, { method, target, fields }: MemberRequestHead): void {
    const { request } = this;
    const store = this.#stored?.store;
    this.#stream = stream;
    const whole = store !== undefined && store.length <= WITH_HEAD ? store.whole : undefined;
    const body = whole !== undefined ? [whole] : this.#kept.isEmpty ? NOTHING : this.#kept.pieces();
    const ends = this.complete && (store === undefined || whole !== undefined);
    const trailers = ends ? this.#trailers() : '';
    const { settings } = this.route.plan;
    const head = { request, method, target, fields, length: this.#length(), mayHaveTrailers: this.#mayHaveTrailers(), settings };
    stream.start(head, body, ends && trailers === '');
    // Its protocol may have failed.
    if (this.#stream === stream && trailers !== '') stream.end(trailers);
    if (this.#stream !== stream) return;
    if (!ends && store !== undefined) this.#sendStored(store, stream);
    else if (ends) this.exchange.requestMoved(stream);
    else this.#goOn(stream);
  }

  /** The connection is lost or given up; another one may follow. */
  detach(): void {
    this.#endPassing();
    this.#stream = undefined;
    this.#sender?.stop();
    this.#sender = undefined;
  }

  onBody(chunk: Buffer, borrowed: boolean): void {
    if (this.#stopped) return;
    const stream = this.#stream;
    if (this.replayable) this.#kept.push(chunk, borrowed);
    if (stream !== undefined) {
      stream.write(borrowed ? Buffer.from(chunk) : chunk, undefined);
      if (this.#stream !== stream) return;
      this.#goOn(stream);
      if (chunk.length >= LARGE && !this.replayable && !this.#wasTried) this.#tryPassing(stream);
      // No member yet: the client waits until one takes what is here.
    } else if (this.#kept.length > this.#limit) this.request.pauseBody();
  }

  onBodyEnd(): void {
    this.complete = true;
    this.#endPassing();
    if (this.#stream !== undefined) this.#finish(this.#stream);
  }

  onBodyFailed(status: number): void {
    if (!this.#stopped) this.exchange.requestFailed(status);
  }

  onBodySent(stream: MemberStream, isLast: boolean): void {
    if (isLast) stream.end(this.#trailers());
    if (this.#stream === stream) this.exchange.requestMoved(stream);
  }

  onBodyUnreadable(): void {
    this.exchange.requestFailed(500);
  }

  /** Bytes of the body went to the member without a call of {@link onBody}. */
  onPassed(stream: MemberStream): void {
    if (this.#stream === stream) this.#goOn(stream);
  }

  onUpstreamDrain(): void {
    this.#passing?.onDrain();
    if (this.#stream !== undefined && !this.complete) this.#goOn(this.#stream);
  }

  /** The exchange is over without a response: what responds instead (error_page) gets the body. */
  returnBody(): void {
    if (this.#stored === undefined) this.request.body?.returnBody(this, this.replayable ? this.#kept.take() : undefined);
    this.stop();
  }

  /** The exchange is over: the rest of the body is dropped. */
  stop(): void {
    this.#stopped = true;
    this.detach();
    this.#stored?.release();
    this.#stored = undefined;
    this.#kept.clear();
  }

  #hasBody(): boolean {
    const { body } = this.request;
    return body !== undefined && !body.isDiscarded && this.route.plan.passBody;
  }

  #passesTrailers(): boolean {
    const { passTrailers, passFields, body } = this.route.plan;
    return passTrailers === true && passFields && body === undefined && this.#hasBody();
  }

  /** Field lines for the member, once the body is complete. */
  #trailers(): string {
    const trailers = this.request.body?.trailers ?? '';
    return trailers === '' || !this.#passesTrailers() ? '' : sentTrailers(trailers, this.route, this.request);
  }

  #mayHaveTrailers(): boolean {
    if (!this.#passesTrailers()) return false;
    return this.complete ? this.#trailers() !== '' : this.request.header('trailer') !== undefined;
  }

  #sendStored(store: BodyStore, stream: MemberStream): void {
    this.#sender = new StoredBodySender(store, stream, this.request.context.buffers, this);
    this.#sender.start();
    if (this.#stream === stream) this.exchange.requestMoved(stream);
  }

  /** Of the body, as far as it is known. */
  #length(): number {
    const { request } = this;
    if (this.#stored !== undefined) return this.#stored.store.length;
    if (this.route.plan.body !== undefined) return this.#kept.length;
    if (!this.#hasBody()) return request.contentLength === 0 ? 0 : NO_BODY;
    if (this.complete && this.replayable) return this.#kept.length;
    return request.contentLength >= 0 ? request.contentLength : LENGTH_UNKNOWN;
  }

  /** More of the body is to come: as fast as the member takes it. */
  #goOn(stream: MemberStream): void {
    if (this.#kept.length > this.#limit) {
      this.replayable = false;
      this.#kept.clear();
    }
    if (stream.unsent > HIGH_WATER) this.request.pauseBody();
    else this.request.resumeBody();
    this.exchange.requestMoved(stream);
  }

  #tryPassing(stream: MemberStream): void {
    const { request } = this;
    if (this.#stream !== stream || request.context.buffers.isScarce) return;
    this.#wasTried = true;
    this.#passing = RequestPassing.begin(request, stream, this);
  }

  #endPassing(): void {
    this.#passing?.end();
    this.#passing = undefined;
  }

  #finish(stream: MemberStream): void {
    stream.end(this.#trailers());
    if (this.#stream === stream) this.exchange.requestMoved(stream);
  }
}
