import type { BodyReader } from './request-body.js';
import type { ExchangeRoute } from './exchange-route.js';
import type { Request } from './request.js';
import type { UpstreamConnection } from './upstream-connection.js';

/** Bytes the member's socket may hold before the client is told to wait. */
const HIGH_WATER = 65_536;
/** Head and a small body leave as one string. */
const JOINED_LIMIT = 16_384;

/** What the feed needs of its exchange. */
export interface Fed {
  begin(): void;
  /** Something more of the request is on its way to the member. */
  requestMoved(connection: UpstreamConnection): void;
  requestFailed(status: number): void;
}

/**
 * The request on its way to a member. A body is first collected (proxy_request_buffering) up to client_body_buffer_size, so that it can be
 * sent again to the next member; a longer one starts to flow then, and is sent once.
 */
export class RequestFeed implements BodyReader {
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #begun = false;
  #connection: UpstreamConnection | undefined = undefined;
  #chunked = false;
  #stopped = false;
  /** The whole body has come from the client. */
  complete = true;
  /** Everything sent so far could be sent again. */
  replayable = true;
  /** Bytes of a body that are kept. HTTP/1.0 has no chunks: the length has to be known there before anything is sent. */
  readonly #limit: number;
  readonly #waitsForAll: boolean;

  constructor(
    private readonly request: Request,
    private readonly route: ExchangeRoute,
    private readonly head: string,
    private readonly exchange: Fed,
  ) {
    this.#waitsForAll = route.plan.version === '1.0' && request.contentLength < 0;
    this.#limit = this.#waitsForAll ? Infinity : request.location.settings.clientBodyBufferSize;
  }

  start(): void {
    const { request, route } = this;
    const { body, connection } = request;
    if (body === undefined || !this.#hasBody) {
      this.#begun = true;
      this.exchange.begin();
      return;
    }
    this.complete = false;
    connection.wantBody(request);
    body.read(this);
    connection.bodyTaken();
    if (!route.plan.requestBuffering && !this.#waitsForAll) this.#beginOnce();
  }

  /** The request target that the member gets. */
  get target(): string {
    const { head } = this;
    return head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/'));
  }

  /** Sends head and what there is of the body over a connection; the rest follows as it comes. */
  send(connection: UpstreamConnection): void {
    this.#connection = connection;
    const text = this.head + this.#framing();
    if (this.#keptBytes === 0) connection.write(text);
    else if (this.#keptBytes + text.length <= JOINED_LIMIT && !this.#chunked) {
      connection.write(text + Buffer.concat(this.#kept).latin1Slice());
    } else {
      connection.write(text);
      for (const piece of this.#kept) this.#forward(connection, piece);
    }
    if (this.complete) this.#finish(connection);
    else this.#goOn(connection);
  }

  /** The connection is lost or given up; another one may follow. */
  detach(): void {
    this.#connection = undefined;
  }

  onBody(chunk: Buffer): void {
    if (this.#stopped) return;
    const connection = this.#connection;
    if (this.replayable) {
      this.#kept.push(chunk);
      this.#keptBytes += chunk.length;
    }
    if (connection !== undefined) {
      this.#forward(connection, chunk);
      this.#goOn(connection);
    } else if (this.#keptBytes > this.#limit) {
      // No member yet: the client waits until one takes what is here.
      this.request.connection.holdBody();
      this.#beginOnce();
    }
  }

  onBodyEnd(): void {
    this.complete = true;
    if (this.#connection !== undefined) this.#finish(this.#connection);
    else this.#beginOnce();
  }

  onBodyFailed(status: number): void {
    if (!this.#stopped) this.exchange.requestFailed(status);
  }

  onUpstreamDrain(): void {
    if (this.#connection !== undefined && !this.complete) this.#goOn(this.#connection);
  }

  /** The exchange is over without an answer: whoever answers instead (error_page) gets the body. */
  giveBack(): void {
    this.request.body?.giveBack(this, this.replayable ? this.#kept : undefined);
    this.stop();
  }

  /** The exchange is over: what still comes of the body is nobody's. */
  stop(): void {
    this.#stopped = true;
    this.#connection = undefined;
    this.#forget();
  }

  get #hasBody(): boolean {
    const { body } = this.request;
    return body !== undefined && !body.isDiscarded && this.route.plan.passBody;
  }

  #beginOnce(): void {
    if (this.#begun || this.#stopped) return;
    this.#begun = true;
    this.exchange.begin();
  }

  #framing(): string {
    const { request } = this;
    this.#chunked = false;
    if (!this.#hasBody) return request.contentLength === 0 ? 'Content-Length: 0\r\n\r\n' : '\r\n';
    if (this.complete && this.replayable) return `Content-Length: ${this.#keptBytes}\r\n\r\n`;
    if (request.contentLength >= 0) return `Content-Length: ${request.contentLength}\r\n\r\n`;
    this.#chunked = true;
    return 'Transfer-Encoding: chunked\r\n\r\n';
  }

  #forward(connection: UpstreamConnection, piece: Buffer): void {
    // An empty chunk would be the last one.
    if (piece.length === 0) return;
    if (!this.#chunked) {
      connection.writeBytes(piece);
      return;
    }
    const { socket } = connection;
    socket.cork();
    connection.write(`${piece.length.toString(16)}\r\n`);
    connection.writeBytes(piece);
    connection.write('\r\n');
    socket.uncork();
  }

  /** More of the body is to come: as fast as the member takes it. */
  #goOn(connection: UpstreamConnection): void {
    if (this.#keptBytes > this.#limit) {
      this.replayable = false;
      this.#forget();
    }
    if (connection.socket.writableLength > HIGH_WATER) this.request.connection.holdBody();
    else this.request.connection.bodyTaken();
    this.exchange.requestMoved(connection);
  }

  #finish(connection: UpstreamConnection): void {
    if (this.#chunked) connection.write('0\r\n\r\n');
    this.exchange.requestMoved(connection);
  }

  #forget(): void {
    this.#kept = [];
    this.#keptBytes = 0;
  }
}
