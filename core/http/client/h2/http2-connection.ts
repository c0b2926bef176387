import type { HttpContext } from '../../request/context.js';
import type { IdleClient } from '../../../net/idle-clients.js';
import { FloodGuard } from '../../../net/http2/flood-guard.js';
import { FrameReader } from '../../../net/http2/frame-reader.js';
import { FrameWriter } from '../../../net/http2/frame-writer.js';
import { PeerSettings } from '../../../net/http2/peer-settings.js';
import {
  DEFAULT_WINDOW,
  ErrorCode,
  FrameType,
  Http2Error,
  LARGEST_WINDOW,
  MAX_FRAME_SIZE,
  PREFACE,
  Setting,
} from '../../../net/http2/protocol.js';
import type { Timed } from '../../../net/timers.js';
import { LingeringClose } from '../lingering-close.js';
import type { ConnectionListener, SocketClient } from '../socket-client.js';
import type { ClientSocket, SocketUser } from '../../../net/socket-user.js';
import { FrameHandler } from './frame-handler.js';
import { BODY_WINDOW, type Http2Stream } from './http2-stream.js';
import type { OutputQueue } from './output-queue.js';

/** Bytes the socket may hold before streams have to wait. */
const HIGH_WATER = 131_072;
/** Bytes of replies to frames of control that a client may leave unread. */
const UNREAD_LIMIT = 1_048_576;
/** What a frame of data gives back of the {@link FloodGuard}'s allowance: the client answers it with window updates. */
const DATA_EARNS = 4;
const STREAM_EARNS = 10;

/** One HTTP/2 connection of a client (RFC 9113): its streams, its windows and its time limits. What frames mean: {@link FrameHandler}. */
export class Http2Connection implements SocketUser, IdleClient, Timed {
  deadline = 0;
  slot = -1;
  olderIdle: IdleClient | undefined = undefined;
  newerIdle: IdleClient | undefined = undefined;
  readonly peer = new PeerSettings();
  readonly flood: FloodGuard;
  readonly streams = new Map<number, Http2Stream>();
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #frames: FrameHandler;
  readonly #openedAt: number;
  #sendWindow = DEFAULT_WINDOW;
  #prefaceSeen = 0;
  #flushing = false;
  #inRead = false;
  #closing = false;
  #goneAway = false;
  /** Acknowledges a smaller table of the client in the next header block (RFC 7541, 4.2). */
  #tableUpdate = '';

  constructor(
    readonly socket: ClientSocket,
    readonly listener: ConnectionListener,
    readonly context: HttpContext,
    readonly client: SocketClient,
  ) {
    this.flood = new FloodGuard(context.clock.now);
    this.#writer = new FrameWriter(socket);
    this.#frames = new FrameHandler(this);
    this.#openedAt = context.clock.now;
  }

  /** Greets the client: its preface may be here already, or follow. */
  start(): this {
    const { http2MaxStreams } = this.listener.names.defaultServer.settings;
    this.#writer.settings([
      [Setting.MaxConcurrentStreams, http2MaxStreams],
      [Setting.InitialWindowSize, BODY_WINDOW],
    ]);
    // Each stream has a window of its own; that of the connection never stops one.
    this.#writer.windowUpdate(0, LARGEST_WINDOW - DEFAULT_WINDOW);
    this.#scheduleFlush();
    this.context.timers.arm(this, this.listener.names.defaultServer.settings.clientHeaderTimeout);
    this.context.idleClients.add(this);
    return this;
  }

  get isIdle(): boolean {
    return this.streams.size === 0 && !this.#closing;
  }
  get isBehind(): boolean {
    return this.socket.writableLength > HIGH_WATER;
  }
  get oldestRequest(): number {
    const oldest = this.streams.values().next().value?.request;
    return oldest?.startTime ?? Infinity;
  }
  /** No new streams are served. */
  get isLeaving(): boolean {
    return this.#goneAway || this.#closing;
  }

  // The socket's side.

  onData(chunk: Buffer): void {
    this.context.clock.refresh();
    if (this.#closing) return;
    this.#inRead = true;
    try {
      const rest = this.#afterPreface(chunk);
      if (rest !== undefined) this.#reader.read(rest, this.#frames);
      if (this.socket.writableLength > UNREAD_LIMIT && this.streams.size === 0)
        throw new Http2Error(ErrorCode.EnhanceYourCalm, 'client reads nothing');
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#fail(error);
    } finally {
      this.#inRead = false;
    }
    this.#writer.flush();
  }

  onEnd(): void {
    this.#abandonStreams();
    this.#end();
  }

  onClose(): void {
    const { context } = this;
    this.#closing = true;
    this.#abandonStreams();
    context.timers.forget(this);
    context.idleClients.remove(this);
    context.figures.countClosed();
    this.listener.connections.delete(this);
  }

  onDrain(): void {
    this.context.clock.refresh();
    this.#pumpAll();
  }

  /** Between streams for too long, or silent from the start. */
  onDeadline(): void {
    if (this.streams.size > 0) return;
    this.#goAway(ErrorCode.NoError, '');
    this.#end();
  }

  /** Ends when the streams that are open have: the client learns that later ones were not served, and may send them elsewhere. */
  drain(): void {
    if (this.#closing) return;
    this.#goAway(ErrorCode.NoError, '');
    if (this.streams.size === 0) this.#end();
  }

  // For the frames.

  openStream(stream: Http2Stream): void {
    this.streams.set(stream.id, stream);
    this.client.requests++;
    this.context.timers.disarm(this);
    const { settings } = this.listener.names.defaultServer.fallback;
    const isLast = this.client.requests >= settings.keepaliveRequests || this.context.clock.now - this.#openedAt >= settings.keepaliveTime;
    if (isLast || this.listener.draining) this.#goAway(ErrorCode.NoError, '');
  }

  /** @throws Http2Error beyond the greatest window */
  widen(increment: number): void {
    this.#sendWindow += increment;
    if (this.#sendWindow > LARGEST_WINDOW) throw new Http2Error(ErrorCode.FlowControlError, 'window of the connection too large');
    this.#pumpAll();
  }

  /** @throws Http2Error for a window that becomes too large */
  applySettings(payload: Buffer): void {
    const { initialWindow, headerTableSize } = this.peer;
    this.peer.apply(payload);
    if (this.peer.headerTableSize < headerTableSize) this.#tableUpdate = EMPTY_TABLE;
    const change = this.peer.initialWindow - initialWindow;
    if (change !== 0) for (const stream of this.streams.values()) stream.widen(change);
    this.reply(FrameType.Settings, '');
    if (change > 0) this.#pumpAll();
  }

  /** Acknowledges a SETTINGS or PING frame. */
  reply(type: FrameType.Settings | FrameType.Ping, payload: string): void {
    this.#writer.frame(type, 1, 0, payload);
    this.#scheduleFlush();
  }

  // For the streams.

  sendHeaders(stream: Http2Stream, block: string, ends: boolean): void {
    this.#writer.headers(stream.id, this.#tableUpdate + block, ends, this.peer.maxFrameSize);
    this.#tableUpdate = '';
    this.#scheduleFlush();
  }

  /** Sends from the queue of a stream what both windows and the socket allow, and the end of the stream behind it. @returns the bytes sent */
  sendData(stream: Http2Stream, queue: OutputQueue, ends: boolean): number {
    let sent = 0;
    for (;;) {
      const room = this.isBehind ? 0 : Math.min(this.#sendWindow, stream.sendWindow, MAX_FRAME_SIZE);
      const taken = queue.take(room);
      if (taken === undefined) break;
      const { piece, borrowed } = taken;
      this.#sendWindow -= piece.length;
      stream.sendWindow -= piece.length;
      sent += piece.length;
      this.#writer.data(stream.id, piece, 0, piece.length, ends && queue.length === 0, borrowed);
      this.flood.earn(DATA_EARNS);
    }
    if (ends && sent === 0 && queue.length === 0) this.#writer.data(stream.id, EMPTY, 0, 0, true, false);
    this.#scheduleFlush();
    return sent;
  }

  openWindow(stream: number, increment: number): void {
    this.#writer.windowUpdate(stream, increment);
    this.#scheduleFlush();
  }

  reset(stream: number, code: ErrorCode): void {
    if (this.#closing) return;
    this.#writer.reset(stream, code);
    this.#scheduleFlush();
  }

  onStreamServed(): void {
    this.flood.earn(STREAM_EARNS);
  }

  onStreamClosed(stream: Http2Stream): void {
    this.streams.delete(stream.id);
    if (this.streams.size > 0 || this.#closing) return;
    if (this.#goneAway) {
      this.#end();
      return;
    }
    this.context.timers.arm(this, stream.request?.location.settings.keepaliveTimeout ?? 0);
    this.context.idleClients.add(this);
  }

  #afterPreface(chunk: Buffer): Buffer | undefined {
    const seen = this.#prefaceSeen;
    if (seen === PREFACE.length) return chunk;
    const length = Math.min(PREFACE.length - seen, chunk.length);
    if (chunk.compare(PREFACE, seen, seen + length, 0, length) !== 0)
      throw new Http2Error(ErrorCode.ProtocolError, 'invalid connection preface');
    this.#prefaceSeen += length;
    return length < chunk.length ? chunk.subarray(length) : undefined;
  }

  /** The client broke the protocol: it is told, and the connection ends. */
  #fail(error: Http2Error): void {
    const { log } = this.context;
    log.write('info', `client violated HTTP/2: ${error.message}, client: ${this.client.remoteAddress}, server: ${this.listener.address}`);
    this.#goAway(error.code, '');
    this.#abandonStreams();
    this.#end();
  }

  #goAway(code: ErrorCode, reason: string): void {
    if (this.#goneAway && code === ErrorCode.NoError) return;
    this.#goneAway = true;
    this.#writer.goaway(this.#frames.lastStream, code, reason);
    this.#scheduleFlush();
  }

  #abandonStreams(): void {
    for (const stream of this.streams.values()) stream.onReset();
  }

  #pumpAll(): void {
    for (const stream of this.streams.values()) stream.onDrain();
  }

  #end(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#writer.flush();
    this.context.timers.disarm(this);
    const { lingeringTimeout, sendTimeout } = this.listener.names.defaultServer.fallback.settings;
    new LingeringClose(this.socket, this.context, { lingering: lingeringTimeout, send: sendTimeout }, this).start();
  }

  /** What the responses of one turn of the event loop have written leaves in one piece. */
  #scheduleFlush(): void {
    if (this.#inRead || this.#flushing) return;
    this.#flushing = true;
    setImmediate(flushConnection, this);
  }

  flush(): void {
    this.#flushing = false;
    this.#writer.flush();
  }
}

const EMPTY = Buffer.alloc(0);
/** Dynamic table size update to 0: nothing is ever put into that table. */
const EMPTY_TABLE = '\x20';

/** One function for all connections: none makes a closure. */
function flushConnection(connection: Http2Connection): void {
  connection.flush();
}
