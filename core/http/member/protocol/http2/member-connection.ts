import { FRAME_COST, FloodGuard } from '../../../../net/http2/flood-guard.js';
import { FrameReader } from '../../../../net/http2/frame-reader.js';
import { FrameWriter } from '../../../../net/http2/frame-writer.js';
import { PeerSettings } from '../../../../net/http2/peer-settings.js';
import {
  DEFAULT_WINDOW,
  Http2ErrorCode,
  FrameType,
  Http2Error,
  LARGEST_WINDOW,
  PREFACE,
  Http2Setting,
} from '../../../../net/http2/protocol.js';
import { Sender } from '../../../../net/http2/sender.js';
import { PeerConnection, type PeerUser } from '../../../../net/peer-connection.js';
import type { IdleConnection } from '../../../../upstream/idle-entry.js';
import type { Peer } from '../../../../upstream/peer.js';
import type { Upstream } from '../../../../upstream/upstream.js';
import type { HttpContext } from '../../../request/context.js';
import type { MemberTarget } from '../../member-stream.js';
import type { Http2MemberStream } from './http2-member-stream.js';
import type { Http2Streams } from './http2-streams.js';
import { MemberFrames } from './member-frames.js';
import type { RequestBlocks } from './request-block.js';

/** Bytes that a member may send of one response before they are consumed. */
export const STREAM_WINDOW = 131_072;
/** Streams on a connection whose member has not said how many it allows. */
const FIRST_STREAMS = 128;
/** Numbers of streams end there (RFC 9113, 5.1.1). */
const LAST_STREAM = 0x7fff_ffff;
/** Bytes of replies to frames of control that a member may leave unread, beyond the bodies that wait for it. */
const UNREAD_LIMIT = 2_097_152;

/** One HTTP/2 connection to a member (RFC 9113), which carries many requests. {@link MemberFrames} handles frames. */
export class Http2MemberConnection implements PeerUser, IdleConnection {
  readonly peer: Peer;
  readonly context: HttpContext;
  readonly upstream: Upstream;
  readonly settings = new PeerSettings();
  readonly flood: FloodGuard;
  readonly sender: Sender;
  readonly streams = new Map<number, Http2MemberStream>();
  /** Streams that were opened before the member had greeted: they are not in the table. */
  readonly waiting = new Set<Http2MemberStream>();
  /** Streams that got something in the present read. */
  touched: Http2MemberStream[] = [];
  requests = 0;
  /** The bytes of the present read, where they are lent. */
  lent: Buffer | undefined = undefined;
  /** The member has greeted: requests may be sent. */
  isReady = false;
  /** Reads so far: a stream that waits in vain knows whether others did not. */
  reads = 0;
  readonly #connection: PeerConnection;
  readonly #scope: object | undefined;
  readonly #keepsAlive: boolean;
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #frames: MemberFrames;
  #lastStream = -1;
  /** No more streams are opened. */
  #isLeaving = false;
  #isClosed = false;
  #flushing = false;
  #onIdleClosed: ((connection: IdleConnection) => void) | undefined = undefined;
  /** Called when what was written has left this process. */
  #afterFlush: (() => void)[] = [];

  constructor(
    private readonly home: Http2Streams,
    { peer, context, upstream, scope, tls, tlsName, source, keepsAlive }: MemberTarget,
    readonly blocks: RequestBlocks,
  ) {
    this.peer = peer;
    this.context = context;
    this.upstream = upstream;
    this.#scope = scope;
    this.#connection = new PeerConnection(peer, context, tls, tlsName, '', Infinity, source);
    this.#keepsAlive = keepsAlive;
    this.#connection.reuse(this);
    this.#writer = new FrameWriter(this.#connection.socket);
    this.flood = new FloodGuard(context.clock.now);
    this.sender = new Sender(this.#connection.socket, this.#writer, this.flood, context.clock, this.streams, context.buffers);
    this.#frames = new MemberFrames(this);
  }

  get createdAt(): number {
    return this.#connection.createdAt;
  }
  get tls(): object | undefined {
    return this.#connection.tls;
  }
  get isSecure(): boolean {
    return this.#connection.tls !== undefined;
  }
  get ownFailure(): 'alert' | 'crit' | undefined {
    return this.#connection.ownFailure;
  }
  get failureLevel(): 'error' | 'crit' {
    return this.#connection.failureLevel;
  }
  get isHandshaking(): boolean {
    return this.#connection.isHandshaking;
  }
  /** For streams whose bytes are lent. */
  get lender(): PeerConnection {
    return this.#connection;
  }
  /** Number of the last stream that was opened. */
  get lastStream(): number {
    return this.#lastStream;
  }

  /** Another stream may be opened. */
  get hasRoom(): boolean {
    const most = this.isReady ? this.settings.maxStreams : FIRST_STREAMS;
    return !this.#isLeaving && !this.#isClosed && this.streams.size + this.waiting.size < most && this.upstream.keepalive.mayGoOn(this);
  }

  /** The target would open such a connection. */
  fits(home: Http2Streams, { peer, upstream, scope, tls, tlsName, source }: MemberTarget): boolean {
    const connection = this.#connection;
    return (
      this.home === home &&
      this.upstream === upstream &&
      upstream.keepalive.isShared(this.#scope, scope) &&
      connection.tls === tls &&
      connection.tlsName === tlsName &&
      connection.source === source &&
      connection.isAllowed(peer.address)
    );
  }

  // For the pool.

  park(onClosed: (connection: IdleConnection) => void): void {
    this.#onIdleClosed = onClosed;
    this.#connection.rest();
  }

  /** Carries streams again. */
  wake(): void {
    this.#onIdleClosed = undefined;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#onIdleClosed = undefined;
    this.#isClosed = true;
    this.home.forget(this);
    if (this.isReady) {
      this.#writer.goaway(0, Http2ErrorCode.NoError, '');
      this.#writer.flush();
    }
    this.#connection.close();
  }

  // For the streams.

  /** @returns the number of the stream; 0: there is none left, or the member leaves */
  enter(stream: Http2MemberStream): number {
    if (this.#isLeaving || this.#isClosed || this.streams.size >= this.settings.maxStreams) return 0;
    this.#lastStream += 2;
    this.requests++;
    this.streams.set(this.#lastStream, stream);
    if (this.#lastStream >= LAST_STREAM) this.leave();
    return this.#lastStream;
  }

  sendHeaders(stream: number, block: string, ends: boolean): void {
    this.#writer.headers(stream, block, ends, this.settings.maxFrameSize);
    this.scheduleFlush();
  }

  endStream(stream: number): void {
    this.#writer.end(stream);
    this.scheduleFlush();
  }

  openWindow(stream: number, increment: number): void {
    this.#writer.windowUpdate(stream, increment);
    this.scheduleFlush();
  }

  reset(stream: number, code: Http2ErrorCode): void {
    this.#writer.reset(stream, code);
    this.scheduleFlush();
  }

  /** Calls back when what is written now has left. */
  whenFlushed(then: () => void): void {
    this.#afterFlush.push(then);
    this.scheduleFlush();
  }

  /** The stream is over. */
  exit(stream: Http2MemberStream): void {
    if (stream.id > 0) this.streams.delete(stream.id);
    this.waiting.delete(stream);
    if (this.streams.size + this.waiting.size > 0 || this.#isClosed) return;
    this.home.forget(this);
    if (this.isReady && !this.#isLeaving) this.upstream.keepalive.put(this.peer, this, this.#scope);
    else this.close();
  }

  /** No more streams are opened; open ones go on. */
  leave(): void {
    this.#isLeaving = true;
    this.home.forget(this);
  }

  /** Output of the requests of one turn of the event loop leaves in one piece. */
  scheduleFlush(): void {
    if (this.#flushing || this.#isClosed) return;
    if (this.#writer.isEmpty && !this.sender.isHeldBack && this.#afterFlush.length === 0) return;
    this.#flushing = true;
    setImmediate(flushConnection, this);
  }

  flush(): void {
    this.#flushing = false;
    if (this.#isClosed) return;
    this.sender.endBurst();
    this.#writer.flush();
    const { length } = this.#afterFlush;
    if (length > 0 && !this.sender.isBehind) for (const then of this.#afterFlush.splice(0, length)) then();
    if (!this.sender.isBehind) this.scheduleFlush();
  }

  // For the frames.

  /** @throws Http2Error for a window that becomes too large */
  applySettings(payload: Buffer): void {
    const isWider = this.settings.applyTo(this.streams.values(), this.#writer, payload);
    this.reply(FrameType.Settings, '');
    if (isWider) this.sender.takeTurns();
    if (!this.isReady) this.#greeted();
  }

  /** Acknowledges a SETTINGS or PING frame. */
  reply(type: FrameType.Settings | FrameType.Ping, payload: string): void {
    this.#writer.frame(type, 1, 0, payload);
    this.scheduleFlush();
  }

  /** The member opens no more streams of this side, and has not seen those after the last one. */
  onGoaway(last: number): void {
    this.leave();
    for (const stream of this.streams.values()) if (stream.id > last) stream.onRefused();
    if (this.streams.size + this.waiting.size === 0) this.#unexpected();
  }

  spend(cost = FRAME_COST): void {
    this.flood.spend(cost, this.context.clock.now);
  }

  // From the socket.

  onConnected(): void {
    // Before that Node would set another time than the system's.
    if (this.#keepsAlive) this.#connection.socket.setKeepAlive(true);
    if (this.isSecure && this.#connection.alpn !== 'h2') {
      this.#lost('upstream does not speak HTTP/2: it has not chosen "h2" by ALPN');
      return;
    }
    this.#connection.write(PREFACE.latin1Slice());
    this.#writer.settings([
      [Http2Setting.EnablePush, 0],
      [Http2Setting.InitialWindowSize, STREAM_WINDOW],
    ]);
    // Each stream has a window of its own; that of the connection never stops one.
    this.#writer.windowUpdate(0, LARGEST_WINDOW - DEFAULT_WINDOW);
    this.#writer.flush();
  }

  onUpstreamData(bytes: Buffer, borrowed: boolean): void {
    this.reads++;
    this.lent = borrowed ? bytes : undefined;
    try {
      this.#reader.read(bytes, this.#frames);
      const { socket } = this.#connection;
      if (socket.writableLength > UNREAD_LIMIT) throw new Http2Error(Http2ErrorCode.EnhanceYourCalm, 'it reads nothing');
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#broken(error);
    } finally {
      this.lent = undefined;
    }
    this.#endRead(bytes.length);
    this.scheduleFlush();
  }

  onUpstreamDrain(): void {
    this.sender.takeTurns();
    this.scheduleFlush();
  }

  onUpstreamEnd(): void {
    this.#lost('');
  }

  onUpstreamClosed(reason: string): void {
    this.#lost(reason);
  }

  onUpstreamTimeout(): void {
    this.#unexpected();
  }

  /** The first SETTINGS of the member are here: it knows HTTP/2, and how many streams it allows. */
  #greeted(): void {
    this.isReady = true;
    for (const stream of this.waiting) {
      this.waiting.delete(stream);
      stream.onReady();
    }
  }

  #endRead(length: number): void {
    if (this.touched.length === 0) return;
    const { touched } = this;
    this.touched = [];
    for (const stream of touched) stream.endRead(length);
  }

  /** The member violated the protocol: it is notified, and all running requests fail. */
  #broken(error: Http2Error): void {
    this.#writer.goaway(0, error.code, '');
    this.#writer.flush();
    this.#end((stream) => stream.fail(`upstream violated HTTP/2: ${error.message}`));
  }

  #lost(reason: string): void {
    if (this.streams.size + this.waiting.size === 0) this.#unexpected();
    else this.#end((stream) => stream.onLost(reason));
  }

  #end(tell: (stream: Http2MemberStream) => void): void {
    this.#isClosed = true;
    this.home.forget(this);
    this.touched = [];
    this.#connection.close();
    for (const stream of [...this.streams.values(), ...this.waiting]) tell(stream);
    this.#onIdleClosed?.(this);
    this.#onIdleClosed = undefined;
  }

  /** An end of a connection that carries nothing. */
  #unexpected(): void {
    const notify = this.#onIdleClosed;
    this.close();
    notify?.(this);
  }
}

/** One function for all connections: none makes a closure. */
function flushConnection(connection: Http2MemberConnection): void {
  connection.flush();
}
