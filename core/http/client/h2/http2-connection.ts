import type { HttpContext } from '../../request/context.js';
import type { IdleClient } from '../../../net/idle-clients.js';
import { FloodGuard, RESET_COST } from '../../../net/http2/flood-guard.js';
import { FrameReader } from '../../../net/http2/frame-reader.js';
import { FrameWriter } from '../../../net/http2/frame-writer.js';
import { PeerSettings } from '../../../net/http2/peer-settings.js';
import {
  DEFAULT_WINDOW,
  Http2ErrorCode,
  FrameType,
  Http2Error,
  LARGEST_WINDOW,
  PREFACE,
  Http2Setting,
} from '../../../net/http2/protocol.js';
import { ResetStreams } from '../../../net/http2/reset-streams.js';
import type { Timed } from '../../../net/timers.js';
import { LingeringClose } from '../lingering-close.js';
import type { ServedListener, SocketClient } from '../socket-client.js';
import type { Connection, ConnectionUser } from '../../../net/transport/connection.js';
import { BodyWindow } from './body-window.js';
import { FrameHandler } from './frame-handler.js';
import type { Http2Stream } from './http2-stream.js';
import { Leaving } from './leaving.js';
import { Sender } from '../../../net/http2/sender.js';

/** Bytes of heads and of replies to frames of control that a client may leave unread. Bodies wait long before. */
const UNREAD_LIMIT = 2_097_152;

/** One HTTP/2 connection of a client (RFC 9113): its streams and its time limits. {@link FrameHandler} handles frames. */
export class Http2Connection implements ConnectionUser, IdleClient, Timed {
  deadline = 0;
  slot = -1;
  olderIdle: IdleClient | undefined = undefined;
  newerIdle: IdleClient | undefined = undefined;
  readonly peer = new PeerSettings();
  readonly flood: FloodGuard;
  readonly sender: Sender;
  readonly streams = new Map<number, Http2Stream>();
  readonly resetStreams = new ResetStreams();
  /** Streams that got short pieces of their bodies in the present read. */
  gathering: Http2Stream[] = [];
  /** http2_max_concurrent_streams, as announced. */
  readonly maxStreams: number;
  readonly #bodyWindow: number;
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #frames: FrameHandler;
  readonly #leaving: Leaving;
  readonly #openedAt: number;
  #settingsKnown = false;
  #prefaceSeen = 0;
  #flushing = false;
  #inRead = false;
  #closing = false;

  constructor(
    readonly socket: Connection,
    readonly listener: ServedListener,
    readonly context: HttpContext,
    readonly client: SocketClient,
  ) {
    const { settings } = listener.names.defaultServer;
    this.flood = new FloodGuard(context.clock.now);
    this.#writer = new FrameWriter(socket);
    this.sender = new Sender(socket, this.#writer, this.flood, context.clock, this.streams, context.buffers);
    this.#frames = new FrameHandler(this);
    this.#leaving = new Leaving(this.#writer, context.clock);
    this.#openedAt = context.clock.now;
    this.maxStreams = settings.http2MaxStreams;
    this.#bodyWindow = settings.http2BodyPreread;
  }

  /** Greets the client: its preface may be here already, or follow. */
  start(): this {
    this.#writer.settings([
      [Http2Setting.MaxConcurrentStreams, this.maxStreams],
      [Http2Setting.InitialWindowSize, this.#bodyWindow],
    ]);
    // Each stream has a window of its own; that of the connection never stops one.
    this.#writer.windowUpdate(0, LARGEST_WINDOW - DEFAULT_WINDOW);
    this.scheduleFlush();
    this.context.timers.arm(this, this.#headerTimeout);
    this.context.idleClients.add(this);
    return this;
  }

  get isIdle(): boolean {
    return this.streams.size === 0 && !this.#frames.isWithinBlock && !this.#closing;
  }
  get oldestRequest(): number {
    const oldest = this.streams.values().next().value?.request;
    return oldest?.startTime ?? Infinity;
  }
  /** No new streams are served. */
  get isLeaving(): boolean {
    return this.#leaving.isFinal || this.#closing;
  }

  // The socket's side.

  onData(chunk: Buffer): void {
    this.context.clock.refresh();
    if (this.#closing) return;
    this.#inRead = true;
    try {
      const rest = this.#afterPreface(chunk);
      if (rest !== undefined) this.#reader.read(rest, this.#frames);
      this.#feedGathered();
      if (this.socket.writableLength > UNREAD_LIMIT) throw new Http2Error(Http2ErrorCode.EnhanceYourCalm, 'client reads nothing');
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#fail(error.code, `client violated HTTP/2: ${error.message}`);
    } finally {
      this.#inRead = false;
    }
    this.#writer.flush();
    this.scheduleFlush();
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
    this.sender.takeTurns();
    this.scheduleFlush();
  }

  /** Idle for too long, silent from the start, or in the middle of a head. */
  onDeadline(): void {
    const timedOut = 'client timed out (110: Connection timed out)';
    if (this.#prefaceSeen < PREFACE.length) this.#fail(Http2ErrorCode.ProtocolError, `${timedOut} while waiting for the preface of HTTP/2`);
    else if (this.#frames.isWithinBlock) this.#fail(Http2ErrorCode.ProtocolError, `${timedOut} while reading client request headers`);
    else if (this.streams.size === 0) this.#leave();
  }

  /** Ends after the open streams, and streams that the client opens before it knows. At once if its place is needed. */
  drain(): void {
    if (this.#closing || this.#leaving.hasBegun) return;
    if (this.listener.draining) this.#announceEnd();
    else this.#leave();
  }

  // For the frames.

  newBodyWindow(): BodyWindow {
    return new BodyWindow(this.#bodyWindow, this.#settingsKnown ? 0 : Math.max(DEFAULT_WINDOW - this.#bodyWindow, 0));
  }

  openStream(stream: Http2Stream): void {
    this.streams.set(stream.id, stream);
    this.client.requests++;
    this.context.timers.disarm(this);
    if (this.#leaving.hasBegun) {
      if (this.#leaving.isOverdue(this.listener.drainingTime)) this.#goAway(Http2ErrorCode.NoError);
      return;
    }
    const { settings } = this.listener.names.defaultServer.fallback;
    const isLast = this.client.requests >= settings.keepaliveRequests || this.context.clock.now - this.#openedAt >= settings.keepaliveTime;
    if (isLast || this.listener.draining) this.#announceEnd();
  }

  /** A head has begun that comes in several frames: it has its time. */
  onBlockBegun(): void {
    this.context.timers.arm(this, this.#headerTimeout);
  }
  onBlockEnded(): void {
    if (this.streams.size === 0) this.#waitForStream(undefined);
    else this.context.timers.disarm(this);
  }

  /** @throws Http2Error for a window that becomes too large */
  applySettings(payload: Buffer): void {
    const isWider = this.peer.applyTo(this.streams.values(), this.#writer, payload);
    this.reply(FrameType.Settings, '');
    if (isWider) this.sender.takeTurns();
  }

  onSettingsAcknowledged(): void {
    this.#settingsKnown = true;
  }

  /** Acknowledges a SETTINGS or PING frame. */
  reply(type: FrameType.Settings | FrameType.Ping, payload: string): void {
    this.#writer.frame(type, 1, 0, payload);
    this.scheduleFlush();
  }

  /** The client has seen everything that was sent before the PING. */
  onPingAcknowledged(payload: Buffer): void {
    if (!this.#leaving.isConfirmedBy(payload)) return;
    this.#goAway(Http2ErrorCode.NoError);
    if (this.streams.size === 0) this.#end();
  }

  /** A stream was reset for what the client sent (CVE-2025-8671). @throws Http2Error after too many */
  onBrokenStream(): void {
    this.flood.spend(RESET_COST, this.context.clock.now);
  }

  /** The client goes on with a stream that is over. */
  resetClosed(id: number): void {
    this.onBrokenStream();
    this.resetStreams.add(id);
    this.#reset(id, Http2ErrorCode.StreamClosed);
  }

  /** Resets a stream that was never served. */
  refuse(id: number, ends: boolean): void {
    if (!ends) this.resetStreams.add(id);
    this.#reset(id, Http2ErrorCode.RefusedStream);
  }

  // For the streams.

  sendHeaders(stream: Pick<Http2Stream, 'id'>, block: string, ends: boolean): void {
    this.#writer.headers(stream.id, block, ends, this.peer.maxFrameSize);
    this.scheduleFlush();
  }

  /** Ends a stream whose last piece has left. */
  endStream(id: number): void {
    this.#writer.end(id);
    this.scheduleFlush();
  }

  openWindow(stream: number, increment: number): void {
    this.#writer.windowUpdate(stream, increment);
    this.scheduleFlush();
  }

  reset({ id, remoteEnded }: Http2Stream, code: Http2ErrorCode): void {
    if (!remoteEnded) this.resetStreams.add(id);
    this.#reset(id, code);
  }

  onStreamClosed(stream: Http2Stream): void {
    this.streams.delete(stream.id);
    if (this.streams.size > 0 || this.#closing) return;
    if (this.#leaving.isFinal) {
      this.#end();
      return;
    }
    if (!this.#frames.isWithinBlock) this.#waitForStream(stream);
    this.context.idleClients.add(this);
  }

  /** Output of the responses of one turn of the event loop leaves in one piece. */
  scheduleFlush(): void {
    if (this.#inRead || this.#flushing || (this.#writer.isEmpty && !this.sender.isHeldBack)) return;
    this.#flushing = true;
    setImmediate(flushConnection, this);
  }

  flush(): void {
    this.#flushing = false;
    this.sender.endBurst();
    this.#writer.flush();
    this.scheduleFlush();
  }

  get #headerTimeout(): number {
    const { clientHeaderTimeout } = this.listener.names.defaultServer.settings;
    return this.listener.draining ? Math.min(clientHeaderTimeout, this.listener.drainingTime) : clientHeaderTimeout;
  }

  /** @param last the stream that was open last; undefined: none was served */
  #waitForStream(last: Http2Stream | undefined): void {
    const { settings } = last?.request?.location ?? this.listener.names.defaultServer.fallback;
    const { keepaliveTimeout } = settings;
    this.context.timers.arm(this, this.#leaving.hasBegun ? Math.min(keepaliveTimeout, this.listener.drainingTime) : keepaliveTimeout);
  }

  #afterPreface(chunk: Buffer): Buffer | undefined {
    const seen = this.#prefaceSeen;
    if (seen === PREFACE.length) return chunk;
    const length = Math.min(PREFACE.length - seen, chunk.length);
    if (chunk.compare(PREFACE, seen, seen + length, 0, length) !== 0)
      throw new Http2Error(Http2ErrorCode.ProtocolError, 'invalid connection preface');
    this.#prefaceSeen += length;
    return length < chunk.length ? chunk.subarray(length) : undefined;
  }

  #feedGathered(): void {
    if (this.gathering.length === 0) return;
    const { gathering } = this;
    this.gathering = [];
    for (const stream of gathering) stream.feedGathered();
  }

  #reset(id: number, code: Http2ErrorCode): void {
    if (this.#closing) return;
    this.#writer.reset(id, code);
    this.scheduleFlush();
  }

  /** The client violated the protocol, or is too slow: it is notified, and the connection ends. */
  #fail(code: Http2ErrorCode, reason: string): void {
    this.context.log.write('info', `${reason}, client: ${this.client.remoteAddress}, server: ${this.listener.address}`);
    this.#goAway(code);
    this.gathering = [];
    this.#abandonStreams();
    this.#end();
  }

  /** Nothing is under way. */
  #leave(): void {
    this.#goAway(Http2ErrorCode.NoError);
    this.#end();
  }

  #announceEnd(): void {
    this.#leaving.announce();
    if (this.streams.size === 0) this.#waitForStream(undefined);
    this.scheduleFlush();
  }

  #goAway(code: Http2ErrorCode): void {
    this.#leaving.goAway(this.#frames.lastServed, code);
    this.scheduleFlush();
  }

  #abandonStreams(): void {
    for (const stream of this.streams.values()) stream.onReset();
  }

  #end(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.#writer.flush();
    this.context.timers.disarm(this);
    new LingeringClose(this.socket, this.context, this.listener.names.defaultServer.fallback.settings, this).start();
  }
}

/** One function for all connections: none makes a closure. */
function flushConnection(connection: Http2Connection): void {
  connection.flush();
}
