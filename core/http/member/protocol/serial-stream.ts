import type { AttemptHead, MemberCodec, MemberConnection } from '../../../contract/member.js';
import { stackOf } from '../../../contract/thrown.js';
import { parseResponseHead } from '../../../net/http1/response-head.js';
import { PeerConnection, type PeerUser } from '../../../net/peer-connection.js';
import type { Connection, PassingUser } from '../../../net/transport/connection.js';
import type { IdleConnection } from '../../../upstream/idle-entry.js';
import type { MemberReader, MemberStream, MemberTarget } from '../member-stream.js';

/** The codec of a module, or one of the core, which may let the system pass bodies on. */
export interface CoreCodec extends MemberCodec {
  /** The body of the present request goes as it is, without anything around its pieces. */
  readonly sendsPlainBody?: boolean;
  /** Bytes that are still to come of a body of known length, without its last ones; 0: it is another one. */
  readonly passable?: number;
  /** So many of them went past the codec. */
  skip?(count: number): void;
}

/** The MemberProtocol of a module, or a protocol of the core, which may know more of its connection. */
export interface SerialProtocol {
  readonly needsLength?: boolean;
  speak(stream: SerialStream): CoreCodec;
}

/**
 * A connection to a member that carries one request after the other: the stream of each of them. All calls of codec and exchange pass here,
 * so that neither has to know whether the other one is through with the request.
 */
export class SerialStream implements MemberStream, MemberConnection, PeerUser, IdleConnection, PassingUser {
  readonly connection: PeerConnection;
  requests = 0;
  received = 0;
  isReused = false;
  readonly #codec: CoreCodec;
  #target: MemberTarget;
  /** Undefined while the connection is idle. */
  #reader: MemberReader | undefined;
  /** Counts requests: what was called for an earlier one concerns no later one. */
  #turn = 0;
  #requestEnded = false;
  #hasHead = false;
  #headLength = 0;
  /** Bytes of the body that a codec of a module has passed. Undefined: its codec is of the core, and the framing counts as well. */
  #passed: number | undefined = undefined;
  /** The response is here to its end, and the connection may carry another request. */
  #isReusable = false;
  /** The memory of the present read, where it is lent. */
  #lent: Buffer | undefined = undefined;
  /** Milliseconds in which the last bytes may leave. Undefined: it is not upgraded. */
  #upgradeLimit: number | undefined = undefined;
  /** Follows the body that passes without being read. */
  #passing: PassingUser | undefined = undefined;
  #onIdleClosed: ((connection: IdleConnection) => void) | undefined = undefined;

  constructor(
    private readonly protocol: SerialProtocol,
    target: MemberTarget,
    reader: MemberReader,
  ) {
    const { peer, context, tls, tlsName, firstRead, source } = target;
    this.#target = target;
    this.#reader = reader;
    this.connection = new PeerConnection(peer, context, tls, tlsName, '', firstRead, source);
    this.connection.reuse(this);
    this.#codec = protocol.speak(this);
  }

  get createdAt(): number {
    return this.connection.createdAt;
  }
  get tls(): object | undefined {
    return this.connection.tls;
  }
  get isConnected(): boolean {
    return this.connection.connected;
  }
  get ownFailure(): 'alert' | 'crit' | undefined {
    return this.connection.ownFailure;
  }
  get failureLevel(): 'error' | 'crit' {
    return this.connection.failureLevel;
  }
  get isHandshaking(): boolean {
    return this.connection.isHandshaking;
  }
  get headLength(): number {
    if (!this.#hasHead) return this.received;
    return this.#passed === undefined ? this.#headLength : this.received - this.#passed;
  }
  get sent(): number {
    return this.connection.bytesSent;
  }
  get unsent(): number {
    return this.connection.socket.writableLength;
  }
  get bodyPath(): Connection | undefined {
    return this.#codec.sendsPlainBody === true ? this.connection.socket : undefined;
  }
  /** It has left the protocol. */
  get isUpgraded(): boolean {
    return this.#upgradeLimit !== undefined;
  }
  /** Of the request that is under way. */
  get target(): MemberTarget {
    return this.#target;
  }

  // For the pool.

  /** An idle connection, found by member and TLS, is one that the target would open. */
  fits(protocol: SerialProtocol, { tlsName, source, peer }: MemberTarget): boolean {
    const { connection } = this;
    return (
      this.protocol === protocol && connection.tlsName === tlsName && connection.source === source && connection.isAllowed(peer.address)
    );
  }

  reopen(target: MemberTarget, reader: MemberReader): void {
    this.#onIdleClosed = undefined;
    this.#target = target;
    this.#reader = reader;
    this.#turn++;
    this.#requestEnded = this.#isReusable = this.#hasHead = false;
    this.received = this.#headLength = 0;
    this.#passed = undefined;
    this.isReused = true;
    this.connection.memory.limit(target.firstRead);
    this.connection.reuse(this);
  }

  park(onClosed: (connection: IdleConnection) => void): void {
    this.#onIdleClosed = onClosed;
    this.connection.rest();
  }

  close(): void {
    this.#reader = undefined;
    this.#onIdleClosed = undefined;
    this.connection.close();
  }

  // For the exchange.

  start(head: AttemptHead, body: readonly Buffer[], ends: boolean): void {
    this.requests++;
    this.#requestEnded = ends;
    try {
      this.#codec.start(head, body, ends);
    } catch (error) {
      this.#codecFailed(error);
    }
  }

  write(piece: Buffer, release: (() => void) | undefined): void {
    try {
      this.#codec.write(piece, release);
    } catch (error) {
      this.#codecFailed(error);
    }
  }

  end(trailers: string): void {
    this.#requestEnded = true;
    try {
      this.#codec.end(trailers);
    } catch (error) {
      this.#codecFailed(error);
    }
  }

  countPassed(count: number): void {
    this.connection.bytesSent += count;
  }

  pause(): void {
    this.connection.socket.pause();
  }

  resume(): void {
    this.connection.socket.resume();
  }

  limit(milliseconds: number): void {
    this.connection.context.timers.arm(this.connection, milliseconds);
  }

  unlimit(): void {
    this.connection.context.timers.disarm(this.connection);
  }

  passBody(target: Connection, user: PassingUser): boolean {
    const { connection } = this;
    if (!((this.#codec.passable ?? 0) > 0) || connection.socket.passTo?.(target, this) !== true) return false;
    this.#passing = user;
    // It is needed no more.
    connection.memory.release();
    return true;
  }

  endPassing(): void {
    if (this.#passing === undefined) return;
    this.#passing = undefined;
    this.connection.socket.endPassing?.();
  }

  release(): void {
    if (this.#reader === undefined) return;
    this.endPassing();
    this.#reader = undefined;
    const { upstream, peer, scope } = this.#target;
    if (this.#upgradeLimit !== undefined) this.connection.closeSoon(this.#upgradeLimit);
    else if (this.#isReusable && this.#requestEnded) upstream.keepalive.put(peer, this, scope);
    else this.connection.close();
  }

  upgrade(limit: number): PeerConnection {
    this.#upgradeLimit = limit;
    return this.connection;
  }

  // For the codec.

  send(text: string): void {
    if (this.#reader !== undefined) this.connection.write(text);
  }

  sendBytes(bytes: Buffer, release?: () => void): void {
    if (this.#reader !== undefined) this.connection.writeBytes(bytes, release);
  }

  respond(status: number, fields: string, length: number, reason = ''): boolean {
    if (!this.#makeHead(status, fields, reason)) return false;
    this.#passed = 0;
    return this.begin(length, 0);
  }

  respondWhole(status: number, fields: string, body: Buffer, reusable: boolean): void {
    if (!this.#makeHead(status, fields, '')) return;
    this.#passed = 0;
    this.beginWhole(body.length, body, 0, body.length, reusable);
  }

  pass(bytes: Buffer, from: number, to: number): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    if (this.#passed !== undefined) this.#passed += to - from;
    // Other memory than that of the read is the codec's, which gives it away.
    reader.onData(bytes, from, to, this.#lent !== undefined && bytes.buffer === this.#lent.buffer ? this.connection : undefined);
  }

  complete(reusable: boolean, trailers = ''): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    this.#isReusable = reusable;
    reader.onEnd(trailers);
  }

  fail(text: string): void {
    this.#reader?.onInvalid(text);
  }

  /** The head in the scratch of the context is that of an interim response. @returns false if the attempt is over */
  passInterim(): boolean {
    const turn = this.#turn;
    this.#reader?.onInterim();
    return this.#isIn(turn);
  }

  /**
   * The head in the scratch of the context begins the response.
   * @param inHand bytes of the present read that are not of it
   * @returns false if the response goes nowhere
   */
  begin(length: number, inHand: number): boolean {
    const reader = this.#reader;
    if (reader === undefined) return false;
    const turn = this.#turn;
    this.#hasHead = true;
    this.#headLength = this.received - inHand;
    reader.onHead(length);
    return this.#isIn(turn);
  }

  /**
   * The head in the scratch of the context, and all of the body.
   * @param length of the body; of one that does not come with a response, what the head says of it
   */
  beginWhole(length: number, bytes: Buffer, from: number, to: number, reusable: boolean): void {
    // The exchange may have no use for the response: that costs no connection.
    this.#isReusable = reusable;
    if (!this.begin(length, bytes.length - from)) return;
    if (to > from) this.pass(bytes, from, to);
    this.complete(reusable);
  }

  // From the connection.

  onConnected(): void {
    // Before that Node would set another time than the system's.
    if (this.#target.keepsAlive) this.connection.socket.setKeepAlive(true);
    this.#reader?.onConnected();
  }

  onUpstreamData(bytes: Buffer, borrowed: boolean): void {
    const reader = this.#reader;
    if (reader === undefined) {
      this.#unexpected();
      return;
    }
    const turn = this.#turn;
    this.received += bytes.length;
    this.#lent = borrowed ? bytes : undefined;
    try {
      this.#codec.read(bytes);
    } catch (error) {
      if (this.#isIn(turn)) this.#codecFailed(error);
    }
    this.#lent = undefined;
    if (this.#isIn(turn)) reader.onRead(bytes.length);
  }

  get most(): number {
    return Math.min(this.#codec.passable ?? 0, this.#passing?.most ?? 0);
  }

  onPassed(count: number, rest: Buffer | undefined): void {
    const turn = this.#turn;
    this.connection.context.clock.refresh();
    this.received += count;
    this.#codec.skip?.(count);
    this.#passing?.onPassed(count, rest);
    if (this.#codec.passable === 0) this.endPassing();
    if (this.#isIn(turn)) this.#reader?.onRead(count);
  }

  onUpstreamDrain(): void {
    this.#reader?.onRoom();
  }

  onUpstreamEnd(): void {
    this.onUpstreamClosed('');
  }

  onUpstreamClosed(reason: string): void {
    const reader = this.#reader;
    if (reader === undefined) this.#unexpected();
    else if (reason === '' && this.#codec.readEnd?.() === true) this.complete(false);
    else if (this.#reader === reader) reader.onClosed(reason);
  }

  onUpstreamTimeout(): void {
    if (this.#reader === undefined) this.#unexpected();
    else this.#reader.onTimeout();
  }

  /** The request of that turn is under way. */
  #isIn(turn: number): boolean {
    return this.#reader !== undefined && this.#turn === turn && !this.isUpgraded;
  }

  #makeHead(status: number, fields: string, reason: string): boolean {
    const reader = this.#reader;
    if (reader === undefined) return false;
    const { responseHead } = this.#target.context;
    if (
      parseResponseHead(responseHead, `HTTP/1.1 ${status} ${reason}\r\n${fields}\r\n`, this.#target.headLimits) === 0 &&
      !responseHead.interim
    )
      return true;
    reader.onInvalid(`upstream sent invalid header while reading response header from upstream (${responseHead.reason})`);
    return false;
  }

  #codecFailed(error: unknown): void {
    this.#reader?.onInvalid(`the protocol of the upstream failed: ${stackOf(error)}`);
  }

  /** Bytes, an end or a deadline while the connection is idle: it cannot be used any more. */
  #unexpected(): void {
    const notify = this.#onIdleClosed;
    this.close();
    notify?.(this);
  }
}
