import type { Socket } from 'node:net';
import type { ReadMemory } from '../../read-memory.js';
import type { Connection, ConnectingUser, PassingUser } from '../connection.js';
import { openStream } from '../node/stream-of.js';
import type { SocketAddress } from './addresses.js';
import type { ClientHandshake, SecuringUser, ServerHandshake } from '../tls.js';
import { callError } from './calls.js';
import { Errno } from './errno.js';
import { Ready, type AheadReader, type EpollLoop, type DescriptorOwner } from './loop.js';
import type { Later, TlsEngine } from './openssl/engine.js';
import { Handshaking } from './openssl/handshaking.js';
import { Handshake, TlsStream } from './openssl/tls-stream.js';
import { Passing } from './passing.js';
import { AHEAD, type ReadsAhead } from './reads-ahead.js';
import { SendingSocket } from './sending-socket.js';

/** Most reads of one event: TLS gives 16 KB at most. */
const MOST_READS = 4;

/** A connection over TCP or a unix socket by system calls. It reads when the system reports bytes, into memory that is lent, and writes at once. */
export class EpollConnection extends SendingSocket implements Connection, DescriptorOwner, AheadReader, Later {
  closed = false;
  #tls: TlsStream | undefined = undefined;
  #handshaking: Handshaking | undefined = undefined;
  #isPaused = false;
  #hasEnded = false;
  /** FIN is sent. */
  #isFinished = false;
  #closesSoon = false;
  /** Bytes that were read ahead, and could not be taken then. */
  #kept: Buffer | undefined = undefined;
  /** Its reads are long: none is made ahead, and bytes that are passed on are not read. */
  #readsMuch = false;
  #passing: Passing | undefined = undefined;

  /**
   * @param descriptor not watched yet
   * @param buffer where reads go to that have no memory of their own
   * @param target it connects to; undefined: it was accepted
   */
  constructor(
    loop: EpollLoop,
    descriptor: number,
    public memory: ReadMemory | undefined,
    private readonly buffer: Buffer | undefined,
    remote: SocketAddress | undefined,
    private readonly target?: { readonly address: string; readonly port?: number },
  ) {
    const first = target === undefined ? Ready.Read : Ready.Write;
    super(loop, descriptor, remote, first, target !== undefined);
    const error = loop.add(descriptor, this, first);
    if (error < 0) this.destroy(callError(error, 'epoll_ctl'));
  }

  passTo(target: Connection, user: PassingUser): boolean {
    // TLS changes the bytes.
    if (!(target instanceof EpollConnection) || this.#tls !== undefined || target.#tls !== undefined) return false;
    this.#passing = new Passing(this.loop, target, user);
    this.#readsMuch = true;
    return true;
  }

  endPassing(): void {
    this.#passing = undefined;
  }

  end(): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    this.corks = 0;
    if (this.isCollected) return;
    if (this.output.isEmpty) this.finish();
    else this.flush();
  }

  destroySoon(): void {
    if (this.destroyed) return;
    this.#closesSoon = true;
    this.end();
  }

  destroy(error?: Error): this {
    this.sendCollected();
    if (this.destroyed) return this;
    this.destroyed = true;
    this.writableEnded = true;
    this.errored = error ?? null;
    if (this.number >= 0) this.#tls?.close();
    this.close();
    // As sockets of Node.js: the caller is not called back before it is done.
    process.nextTick(close, this);
    return this;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.watchWanted();
    if (this.#kept !== undefined) this.#goOnSoon();
    // No event reports bytes that TLS has decrypted already.
    if (this.#tls !== undefined) this.loop.tls?.later(this);
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  /** A socket of Node.js in its place. */
  toStream(): Socket {
    this.sendCollected();
    this.destroyed = true;
    const stream = openStream(this.giveAway());
    if (this.#kept !== undefined) stream.unshift(this.#kept);
    for (const listener of this.closeListeners) stream.once('close', listener);
    return stream;
  }

  acceptTls(handshake: ServerHandshake, user: SecuringUser): boolean {
    const { tls } = this.loop;
    if (tls === undefined) return false;
    this.#secure(tls, TlsStream.server(tls, this.number, handshake), user);
    return true;
  }

  /**
   * Speaks TLS from now on, as the client. It is connected, and nothing waits to be sent.
   * @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used
   */
  connectTls(handshake: ClientHandshake, user: SecuringUser): void {
    const { tls } = this.loop;
    this.sendCollected();
    if (tls === undefined || !this.output.isEmpty || this.destroyed) throw new TypeError('TLS cannot begin here');
    this.#secure(tls, TlsStream.client(tls, this.number, handshake), user);
  }

  #secure(engine: TlsEngine, stream: TlsStream, user: SecuringUser): void {
    this.#tls = stream;
    this.isSecure = true;
    this.bytes = stream;
    this.isConnecting = true;
    this.client = user;
    this.#handshaking = new Handshaking(engine, stream, user);
    this.#handshake();
  }

  onReady(events: number): void {
    if (this.isConnecting) {
      if (this.#tls === undefined) this.#connected();
      else if (this.#handshaking?.isPostponed === true && this.client === this.#handshaking.user) this.#endHandshake('');
      else this.#handshake();
      return;
    }
    if ((this.fileWaits || !this.output.isEmpty) && (events & (Ready.Write | Ready.Error | Ready.HangUp)) !== 0) this.flush();
    if (this.destroyed) return;
    if (!this.#isPaused && !this.#hasEnded) {
      if ((events & (Ready.Read | Ready.Error | Ready.HangUp)) !== 0) this.#read();
    } else this.watchWanted();
  }

  get ahead(): AheadReader | undefined {
    const isPlain = !this.isConnecting && this.#tls === undefined;
    const isReading = !this.#isPaused && !this.#hasEnded && !this.#readsMuch && this.#kept === undefined;
    return isPlain && isReading && this.memory?.isLent !== false ? this : undefined;
  }

  onAhead(reads: ReadsAhead, place: number): void {
    // The handler of another event may have changed what it wants.
    if (this.ahead === undefined) {
      this.keepAhead(reads, place);
      return;
    }
    const count = reads.result(place);
    if (count <= 0) {
      this.#readNothing(count);
      return;
    }
    const bytes = reads.bytes(place, count);
    if (count === AHEAD) this.#readOn(bytes);
    else this.client?.onData(bytes, true);
  }

  /** Reads more after bytes that have filled their place: a connection that is closed with unread bytes is reset, and the response may be lost. */
  #readOn(bytes: Buffer): void {
    this.#readsMuch = true;
    const buffer = this.memory?.next() ?? this.buffer ?? bytes;
    const room = buffer.length - bytes.length;
    const count = room > 0 ? this.bytes.receive(this.number, buffer.subarray(bytes.length)) : 0;
    if (room > 0) bytes.copy(buffer);
    this.client?.onData(count > 0 ? buffer.subarray(0, bytes.length + count) : bytes, true);
    // The end is reported again, an error is not.
    if (count < 0 && !this.destroyed) this.#readNothing(count);
  }

  keepAhead(reads: ReadsAhead, place: number): void {
    const count = reads.result(place);
    if (count > 0) {
      this.#kept = Buffer.from(reads.bytes(place, count));
      this.#goOnSoon();
      // An error is reported once; the end again and again.
    } else if (count < 0) this.#readNothing(count);
  }

  /** Goes on with what no event reports. */
  onTurn(): void {
    if (this.destroyed) return;
    if (this.isConnecting) this.#handshake();
    else if (!this.#isPaused && !this.#hasEnded && (this.#kept !== undefined || this.#tls?.hasPending === true)) this.#read();
  }

  /** For {@link close}. */
  afterClose(): void {
    this.output.abandon();
    this.closed = true;
    const { client, errored } = this;
    if (errored !== null && this.target !== undefined) (client as ConnectingUser | undefined)?.onError(errored);
    client?.onClose();
    for (const listener of this.closeListeners) listener();
  }

  #goOnSoon(): void {
    setImmediate(goOn, this);
  }

  /** Everything is sent, and nothing more will be written. */
  protected finish(): void {
    if (this.#isFinished || this.isConnecting || this.destroyed) return;
    this.#isFinished = true;
    if (this.#closesSoon || this.#hasEnded) {
      this.#tls?.notifyClosing();
      this.destroy();
      return;
    }
    this.bytes.endWriting(this.number);
    this.watchWanted();
  }

  #read(): void {
    if (this.#tls === undefined) this.#readOnce();
    else this.#readSecurely(this.#tls);
  }

  /** Everything that TLS has taken from the socket, up to a limit. */
  #readSecurely(tls: TlsStream): void {
    for (let count = 0; count < MOST_READS; count++) {
      if (!this.#readOnce() || !tls.hasPending || this.#isPaused) return;
    }
    this.loop.tls?.later(this);
  }

  /** @returns true: bytes came */
  #readOnce(): boolean {
    if (this.#passing !== undefined && this.#readsMuch && this.#kept === undefined && this.#passing.isPossible) {
      const passed = this.#passing.step(this.number);
      this.#readsMuch = passed >= AHEAD;
      if (passed > 0) return true;
      if (passed !== -Errno.InvalidArgument) return this.#readNothing(passed);
      this.endPassing();
    }
    const buffer = this.memory?.next() ?? this.buffer;
    if (buffer === undefined) return false;
    const count = this.#kept === undefined ? this.bytes.receive(this.number, buffer) : this.#takeKept(buffer);
    if (count > 0) {
      this.#readsMuch = count >= AHEAD;
      const isOwn = this.memory?.isOwn === true;
      this.client?.onData(isOwn ? buffer.subarray(0, count) : this.loop.views.of(buffer, count), true);
      return true;
    }
    return this.#readNothing(count);
  }

  /** @returns how many bytes it is */
  #takeKept(into: Buffer): number {
    const kept = this.#kept as Buffer;
    const count = kept.copy(into);
    this.#kept = count < kept.length ? kept.subarray(count) : undefined;
    if (this.#kept !== undefined) this.#goOnSoon();
    return count;
  }

  /** @param count 0: the end; below 0: the number of an error */
  #readNothing(count: number): boolean {
    if (count < 0) {
      if (count !== -Errno.Again && count !== -Errno.Interrupted) this.fail(count, 'read');
      return false;
    }
    this.#hasEnded = true;
    this.watchWanted();
    this.client?.onEnd();
    if (this.#isFinished) this.destroy();
    return false;
  }

  #handshake(): void {
    const [tls, handshaking] = [this.#tls, this.#handshaking];
    if (tls === undefined || handshaking === undefined || this.destroyed) return;
    const { user } = handshaking;
    if (this.client !== user) {
      // The session has ended meanwhile, and its last user waits for the end of the connection.
      this.destroy();
      return;
    }
    const result = handshaking.step(this);
    if (result === Handshake.Waits) {
      this.watchWanted();
      return;
    }
    if (result !== Handshake.Done) {
      this.#endHandshake(result === Handshake.Ended ? '' : tls.failure);
      return;
    }
    this.isConnecting = false;
    this.#handshaking = undefined;
    this.watchWanted();
    user.onSecured(tls.result(), tls.otherSide());
    this.#sendWaiting();
    // Bytes that came with the end of the handshake.
    this.loop.tls?.later(this);
  }

  #endHandshake(reason: string): void {
    this.isConnecting = false;
    this.#handshaking?.user.onNotSecured(reason);
  }

  #connected(): void {
    const error = this.loop.calls.connectResult(this.number);
    if (error < 0) {
      this.fail(error, 'connect');
      return;
    }
    this.isConnecting = false;
    this.watchWanted();
    (this.client as ConnectingUser | undefined)?.onConnect();
    this.#sendWaiting();
  }

  /** Sends bytes, or the end, written before anything could be sent. */
  #sendWaiting(): void {
    if (!this.output.isEmpty) this.flush();
    else if (this.writableEnded) this.finish();
  }

  protected fail(error: number, syscall: string): void {
    const reason = error === -Errno.Protocol ? this.#tls?.failure : undefined;
    if (reason === undefined) this.destroy(callError(error, syscall, syscall === 'connect' ? this.target : undefined));
    else this.destroy(Object.assign(new Error(`SSL: ${reason}`), { code: 'EPROTO', syscall: `SSL_${syscall}` }));
  }

  get #wanted(): number {
    if (this.isConnecting && this.#handshaking !== undefined) return this.#handshaking.waitsFor;
    const reads = this.#isPaused || this.#hasEnded ? Ready.None : Ready.Read;
    return reads | ((this.output.isEmpty && !this.fileWaits) || this.corks > 0 ? Ready.None : Ready.Write);
  }

  protected watchWanted(): void {
    this.watch(this.#wanted);
  }
}

function close(connection: EpollConnection): void {
  connection.afterClose();
}

function goOn(connection: EpollConnection): void {
  connection.onTurn();
}
