import { ByteQueue } from '../../net/byte-queue.js';
import type { BodyReader } from '../request/request-body.js';
import type { ExchangeRoute } from './exchange-route.js';
import { TemporaryFile, type FileWriter } from '../request/temporary-file.js';
import { RequestFileSender, type FileOwner } from './request-file-sender.js';
import type { Request } from '../request/request.js';
import type { PeerConnection } from '../../net/peer-connection.js';

/** Bytes the member's socket may hold before the client is told to wait. */
const HIGH_WATER = 65_536;
/** Head and a small body leave as one string. */
const JOINED_LIMIT = 16_384;

/** What the feed needs of its exchange. */
export interface FeedListener {
  begin(): void;
  /** Something more of the request is on its way to the member. */
  requestMoved(connection: PeerConnection): void;
  requestFailed(status: number): void;
}

/**
 * The request on its way to a member. With proxy_request_buffering the body is read whole before a member is asked: up to
 * client_body_buffer_size into memory, a longer one into a file. Its length is known then, and it can be sent again to the next member.
 * Without, it flows as it comes, and what is longer than the buffer is sent once.
 */
export class RequestFeed implements BodyReader, FileWriter, FileOwner {
  readonly #kept = new ByteQueue();
  /** All of the body, instead of what is kept. */
  #file: TemporaryFile | undefined = undefined;
  #sender: RequestFileSender | undefined = undefined;
  #begun = false;
  #connection: PeerConnection | undefined = undefined;
  #chunked = false;
  #stopped = false;
  /** The whole body has come from the client. */
  complete = true;
  /** Everything sent so far could be sent again. */
  replayable = true;
  /** Bytes of a body that are kept in memory. */
  readonly #limit: number;
  readonly #waitsForAll: boolean;

  constructor(
    private readonly request: Request,
    private readonly route: ExchangeRoute,
    private readonly head: string,
    private readonly exchange: FeedListener,
  ) {
    // HTTP/1.0 has no chunks: the length has to be known there before anything is sent.
    this.#waitsForAll = route.plan.requestBuffering || (route.plan.version === '1.0' && request.contentLength < 0);
    this.#limit = request.location.settings.clientBodyBufferSize;
  }

  start(): void {
    const { request } = this;
    const { body, stream } = request;
    if (body === undefined || !this.#hasBody) {
      this.#begun = true;
      this.exchange.begin();
      return;
    }
    this.complete = false;
    stream.wantBody(request);
    body.read(this);
    stream.resumeBody(request);
    if (!this.#waitsForAll) this.#beginOnce();
  }

  /** All of the request is on its way to the member. */
  get isSent(): boolean {
    return this.complete && this.#sender?.isDone !== false;
  }

  /** The request target that the member gets. */
  get target(): string {
    const { head } = this;
    return head.slice(head.indexOf(' ') + 1, head.indexOf(' HTTP/'));
  }

  /** Sends head and what there is of the body over a connection; the rest follows as it comes. */
  send(connection: PeerConnection): void {
    this.#connection = connection;
    const text = this.head + this.#framing();
    if (this.#file !== undefined) {
      connection.write(text);
      this.#sender = new RequestFileSender(this.#file, connection, this);
      this.exchange.requestMoved(connection);
      return;
    }
    if (this.#kept.isEmpty) connection.write(text);
    else if (this.#kept.length + text.length <= JOINED_LIMIT && !this.#chunked) {
      connection.write(
        text +
          this.#kept
            .pieces()
            .map((piece) => piece.latin1Slice())
            .join(''),
      );
    } else {
      connection.write(text);
      for (const piece of this.#kept.pieces()) this.#forward(connection, piece, false);
    }
    if (this.complete) this.#finish(connection);
    else this.#goOn(connection);
  }

  /** The connection is lost or given up; another one may follow. */
  detach(): void {
    this.#connection = undefined;
    this.#sender?.stop();
    this.#sender = undefined;
  }

  onBody(chunk: Buffer, borrowed: boolean): void {
    if (this.#stopped) return;
    if (this.#file !== undefined) {
      this.#append(this.#file, chunk, borrowed);
      return;
    }
    const connection = this.#connection;
    if (this.replayable) this.#kept.push(chunk, borrowed);
    if (connection !== undefined) {
      this.#forward(connection, chunk, borrowed);
      this.#goOn(connection);
    } else if (this.#kept.length > this.#limit) {
      if (this.#waitsForAll) this.#moveToFile();
      // No member yet: the client waits until one takes what is here.
      else this.request.stream.pauseBody(this.request);
    }
  }

  onBodyEnd(): void {
    this.complete = true;
    if (this.#connection !== undefined) this.#finish(this.#connection);
    else if (this.#file === undefined || this.#file.isWritten) this.#beginOnce();
  }

  onBodyFile(file: TemporaryFile): void {
    this.complete = true;
    this.#file = file;
    this.#beginOnce();
  }

  onBodyFailed(status: number): void {
    if (!this.#stopped) this.exchange.requestFailed(status);
  }

  onFileWritten(): void {
    this.request.stream.resumeBody(this.request);
    if (this.complete && this.#file?.isWritten === true) this.#beginOnce();
  }

  onFileFailed(): void {
    this.request.body?.returnBody(this, undefined);
    this.exchange.requestFailed(500);
  }

  onFileSent(connection: PeerConnection): void {
    this.exchange.requestMoved(connection);
  }

  onFileUnreadable(): void {
    this.exchange.requestFailed(500);
  }

  onUpstreamDrain(): void {
    if (this.#connection !== undefined && !this.complete) this.#goOn(this.#connection);
  }

  /** The exchange is over without a response: what responds instead (error_page) gets the body. */
  returnBody(): void {
    const file = this.#file;
    this.#file = undefined;
    this.request.body?.returnBody(this, file ?? (this.replayable ? this.#kept.take() : undefined));
    this.stop();
  }

  /** The exchange is over: what still comes of the body is nobody's. */
  stop(): void {
    this.#stopped = true;
    this.detach();
    this.#file?.close();
    this.#file = undefined;
    this.#kept.clear();
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
    if (this.#file !== undefined) return `Content-Length: ${this.#file.length}\r\n\r\n`;
    if (!this.#hasBody) return request.contentLength === 0 ? 'Content-Length: 0\r\n\r\n' : '\r\n';
    if (this.complete && this.replayable) return `Content-Length: ${this.#kept.length}\r\n\r\n`;
    if (request.contentLength >= 0) return `Content-Length: ${request.contentLength}\r\n\r\n`;
    this.#chunked = true;
    return 'Transfer-Encoding: chunked\r\n\r\n';
  }

  /** It is longer than the memory it may take. */
  #moveToFile(): void {
    const file = new TemporaryFile(this.request, this.request.location.settings.clientBodyFile, this);
    this.#file = file;
    for (const piece of this.#kept.take()) this.#append(file, piece, false);
  }

  #append(file: TemporaryFile, piece: Buffer, borrowed: boolean): void {
    file.append(piece, borrowed);
    if (file.isFull) this.request.stream.pauseBody(this.request);
  }

  #forward(connection: PeerConnection, piece: Buffer, borrowed: boolean): void {
    // An empty chunk would be the last one.
    if (piece.length === 0) return;
    if (!this.#chunked) {
      connection.writeBytes(borrowed ? Buffer.from(piece) : piece);
      return;
    }
    const size = `${piece.length.toString(16)}\r\n`;
    if (piece.length <= JOINED_LIMIT) {
      connection.write(`${size}${piece.latin1Slice()}\r\n`);
      return;
    }
    const { socket } = connection;
    socket.cork();
    connection.write(size);
    connection.writeBytes(borrowed ? Buffer.from(piece) : piece);
    connection.write('\r\n');
    socket.uncork();
  }

  /** More of the body is to come: as fast as the member takes it. */
  #goOn(connection: PeerConnection): void {
    if (this.#kept.length > this.#limit) {
      this.replayable = false;
      this.#kept.clear();
    }
    if (connection.socket.writableLength > HIGH_WATER) this.request.stream.pauseBody(this.request);
    else this.request.stream.resumeBody(this.request);
    this.exchange.requestMoved(connection);
  }

  #finish(connection: PeerConnection): void {
    if (this.#chunked) connection.write('0\r\n\r\n');
    this.exchange.requestMoved(connection);
  }
}
