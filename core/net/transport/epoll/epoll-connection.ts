import type { Socket } from 'node:net';
import type { ReadMemory } from '../../read-memory.js';
import { FileSending, type Connection, type ConnectingUser, type ConnectionUser, type PassingUser } from '../connection.js';
import { openStream } from '../node/stream-of.js';
import type { SocketAddress } from './addresses.js';
import type { ClientHandshake, SecuringUser, ServerHandshake } from '../tls.js';
import { callError, JOINED, type ByteCalls } from './calls.js';
import { Errno } from './errno.js';
import { setKeepAliveProbes } from './keep-alive-probes.js';
import { Ready, type EpollLoop, type DescriptorOwner } from './loop.js';
import type { Later, TlsEngine } from './openssl/engine.js';
import { Handshaking } from './openssl/handshaking.js';
import { Handshake, TlsStream } from './openssl/tls-stream.js';
import { Passing } from './passing.js';
import { UnsentOutput } from './unsent-output.js';

/** Bytes that wait from which on a writer should: as sockets of Node.js have it. */
const HIGH_WATER = 65_536;
/** Most reads of one event: TLS gives 16 KB at most. */
const MOST_READS = 4;

/** A connection over TCP or a unix socket by system calls. It reads when the system reports bytes, into memory that is lent, and writes at once. */
export class EpollConnection implements Connection, DescriptorOwner, Later {
  client: ConnectionUser | undefined = undefined;
  destroyed = false;
  closed = false;
  errored: Error | null = null;
  writableEnded = false;
  writableNeedDrain = false;
  readonly #output = new UnsentOutput();
  /** Calls that move its bytes: the system's, or {@link #tls}. */
  #bytes: ByteCalls;
  #tls: TlsStream | undefined = undefined;
  #handshaking: Handshaking | undefined = undefined;
  #descriptor: number;
  #remote: SocketAddress | undefined;
  /** Reported events; `None`: nothing at all. */
  #watched: number;
  #isPaused = false;
  #hasEnded = false;
  /** Nothing can be written yet, because it connects, or because of a handshake. */
  #isConnecting: boolean;
  /** FIN is sent. */
  #isFinished = false;
  #closesSoon = false;
  #corks = 0;
  /** A part of a file waits for room. */
  #fileWaits = false;
  #closeListeners: (() => void)[] | undefined = undefined;
  #passing: Passing | undefined = undefined;

  /**
   * @param descriptor not watched yet
   * @param buffer where reads go to that have no memory of their own
   * @param target it connects to; undefined: it was accepted
   */
  constructor(
    private readonly loop: EpollLoop,
    descriptor: number,
    public memory: ReadMemory | undefined,
    private readonly buffer: Buffer | undefined,
    remote: SocketAddress | undefined,
    private readonly target?: { readonly address: string; readonly port?: number },
  ) {
    this.#bytes = loop.calls;
    this.#descriptor = descriptor;
    this.#remote = remote;
    this.#isConnecting = target !== undefined;
    this.#watched = this.#isConnecting ? Ready.Write : Ready.Read;
    loop.open.add(descriptor);
    const error = loop.add(descriptor, this, this.#watched);
    if (error < 0) this.destroy(callError(error, 'epoll_ctl'));
  }

  get descriptor(): number | undefined {
    return this.#descriptor < 0 ? undefined : this.#descriptor;
  }
  get remoteAddress(): string | undefined {
    return this.#peer?.address;
  }
  get remotePort(): number | undefined {
    return this.#peer?.port;
  }
  get localAddress(): string | undefined {
    return this.#local?.address;
  }
  get localPort(): number | undefined {
    return this.#local?.port;
  }
  get writableLength(): number {
    return this.#output.length;
  }
  /** A write goes to the system at once. */
  get hasRoom(): boolean {
    return this.#corks === 0 && !this.#isConnecting && this.#output.isEmpty && !this.writableEnded;
  }

  write(data: string | Uint8Array, encodingOrTaken?: 'latin1' | ((error?: Error | null) => void)): boolean {
    const taken = typeof encodingOrTaken === 'function' ? encodingOrTaken : undefined;
    if (this.destroyed || this.writableEnded) {
      if (taken !== undefined) process.nextTick(taken, new Error('the connection is closed'));
      return false;
    }
    if (this.#corks > 0 || this.#isConnecting || !this.#output.isEmpty) return this.#enqueue(data, taken);
    const sent = typeof data === 'string' ? this.#sendText(data) : this.#bytes.send(this.#descriptor, data);
    if (sent === data.length) {
      if (taken !== undefined) process.nextTick(taken);
      return true;
    }
    if (sent < 0 && sent !== -Errno.Again && sent !== -Errno.Interrupted) {
      this.#fail(sent, 'write');
      if (taken !== undefined) process.nextTick(taken, this.errored);
      return false;
    }
    if (sent <= 0) return this.#enqueue(data, taken);
    return this.#enqueue(typeof data === 'string' ? data.slice(sent) : data.subarray(sent), taken);
  }

  writeBoth(text: string, bytes: Buffer, from: number, to: number): boolean {
    const length = text.length + to - from;
    const mustWait = this.#corks > 0 || this.#isConnecting || !this.#output.isEmpty;
    if (mustWait || this.destroyed || this.writableEnded || length > JOINED)
      return this.write(text + bytes.latin1Slice(from, to), 'latin1');
    const { joined } = this.#bytes;
    bytes.copy(joined, joined.latin1Write(text, 0), from, to);
    const sent = this.#bytes.sendJoined(this.#descriptor, length);
    if (sent === length) return true;
    // An error is found, and reported, once more.
    const rest = sent <= 0 ? text + bytes.latin1Slice(from, to) : (text + bytes.latin1Slice(from, to)).slice(sent);
    return this.write(rest, 'latin1');
  }

  writeFile(text: string, file: number, from: number, count: number): boolean {
    const length = text.length + count;
    const mustWait = this.#corks > 0 || this.#isConnecting || !this.#output.isEmpty;
    if (mustWait || this.destroyed || this.writableEnded || length > JOINED) return false;
    const { joined } = this.#bytes;
    if (this.loop.calls.files.readJoined(file, joined.latin1Write(text, 0), count, from) !== count) return false;
    const sent = this.#bytes.sendJoined(this.#descriptor, length);
    // An error is found, and reported, once more.
    if (sent !== length) this.write(joined.latin1Slice(Math.max(sent, 0), length), 'latin1');
    return true;
  }

  writeNow(bytes: Buffer): number {
    if (this.destroyed || this.writableEnded || this.#corks > 0 || this.#isConnecting || !this.#output.isEmpty) return 0;
    return Math.max(this.#bytes.send(this.#descriptor, bytes), 0);
  }

  sendFile(file: number, from: number, count: number): number {
    const isBusy = this.#corks > 0 || this.#isConnecting;
    // The system would send it as it is.
    if (isBusy || this.#tls !== undefined || this.destroyed || this.writableEnded) return FileSending.Impossible;
    if (this.#output.isEmpty) {
      const sent = this.loop.calls.sendFile(this.#descriptor, file, from, count);
      if (sent >= 0) return sent;
      if (sent === -Errno.BrokenPipe || sent === -Errno.Reset) this.#fail(sent, 'write');
      else if (sent !== -Errno.Again && sent !== -Errno.Interrupted) return FileSending.Impossible;
      this.#fileWaits = true;
      this.#watch();
    }
    this.writableNeedDrain = true;
    return FileSending.NoRoom;
  }

  passTo(target: Connection, user: PassingUser): boolean {
    // TLS changes the bytes.
    if (!(target instanceof EpollConnection) || this.#tls !== undefined || target.#tls !== undefined) return false;
    this.#passing = new Passing(this.loop, target, user);
    return true;
  }

  endPassing(): void {
    this.#passing = undefined;
  }

  cork(): void {
    this.#corks++;
  }

  uncork(): void {
    if (this.#corks > 0 && --this.#corks === 0) this.#flush();
  }

  end(): void {
    if (this.writableEnded) return;
    this.writableEnded = true;
    this.#corks = 0;
    if (this.#output.isEmpty) this.#finish();
    else this.#flush();
  }

  destroySoon(): void {
    if (this.destroyed) return;
    this.#closesSoon = true;
    this.end();
  }

  destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.writableEnded = true;
    this.errored = error ?? null;
    if (this.#descriptor >= 0) {
      const { open, calls } = this.loop;
      this.#tls?.close();
      this.loop.remove(this.#descriptor, true);
      open.delete(this.#descriptor);
      calls.close(this.#descriptor);
      this.#descriptor = -1;
    }
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
    this.#watch();
    // No event reports bytes that TLS has decrypted already.
    if (this.#tls !== undefined) this.loop.tls?.later(this);
  }

  isPaused(): boolean {
    return this.#isPaused;
  }

  setKeepAlive(on: boolean, idle = 0, interval = 0, count = 0): void {
    if (this.#descriptor < 0 || this.#isUnix) return;
    setKeepAliveProbes(this.loop.calls, this.#descriptor, on ? { idle, interval, count } : undefined);
  }

  once(_: 'close', listener: () => void): void {
    (this.#closeListeners ??= []).push(listener);
  }

  /** See `streamOf`. */
  toStream(): Socket {
    const descriptor = this.#descriptor;
    this.loop.remove(descriptor, false);
    this.loop.open.delete(descriptor);
    this.#descriptor = -1;
    this.destroyed = true;
    const stream = openStream(descriptor);
    for (const listener of this.#closeListeners ?? []) stream.once('close', listener);
    return stream;
  }

  acceptTls(handshake: ServerHandshake, user: SecuringUser): boolean {
    const { tls } = this.loop;
    if (tls === undefined) return false;
    this.#secure(tls, TlsStream.server(tls, this.#descriptor, handshake), user);
    return true;
  }

  connectTls(handshake: ClientHandshake, user: SecuringUser): void {
    const { tls } = this.loop;
    if (tls === undefined || !this.#output.isEmpty || this.destroyed) throw new TypeError('TLS cannot begin here');
    this.#secure(tls, TlsStream.client(tls, this.#descriptor, handshake), user);
  }

  #secure(engine: TlsEngine, stream: TlsStream, user: SecuringUser): void {
    this.#tls = stream;
    this.#bytes = stream;
    this.#isConnecting = true;
    this.client = user;
    this.#handshaking = new Handshaking(engine, stream, user);
    this.#handshake();
  }

  onReady(events: number): void {
    if (this.#isConnecting) {
      if (this.#tls === undefined) this.#connected();
      else if (this.#handshaking?.isPostponed === true && this.client === this.#handshaking.user) this.#endHandshake('');
      else this.#handshake();
      return;
    }
    if ((this.#fileWaits || !this.#output.isEmpty) && (events & (Ready.Write | Ready.Error | Ready.HangUp)) !== 0) this.#flush();
    if (this.destroyed) return;
    if (!this.#isPaused && !this.#hasEnded) {
      if ((events & (Ready.Read | Ready.Error | Ready.HangUp)) !== 0) this.#read();
    } else this.#watch();
  }

  /** Goes on with what no event reports. */
  onTurn(): void {
    if (this.destroyed) return;
    if (this.#isConnecting) this.#handshake();
    else if (!this.#isPaused && !this.#hasEnded && this.#tls?.hasPending === true) this.#read();
  }

  /** For {@link close}. */
  afterClose(): void {
    this.#output.abandon();
    this.closed = true;
    const { client, errored } = this;
    if (errored !== null && this.target !== undefined) (client as ConnectingUser | undefined)?.onError(errored);
    client?.onClose();
    for (const listener of this.#closeListeners ?? []) listener();
  }

  /** For {@link drain}. */
  afterDrain(): void {
    if (!this.writableNeedDrain || this.#output.length > 0 || this.destroyed) return;
    this.writableNeedDrain = false;
    this.client?.onDrain();
  }

  get #peer(): SocketAddress | undefined {
    if (this.#remote === undefined && this.#descriptor >= 0) this.#remote = this.loop.calls.peerAddress(this.#descriptor);
    return this.#remote;
  }

  get #local(): SocketAddress | undefined {
    return this.#descriptor < 0 ? undefined : this.loop.calls.localAddress(this.#descriptor);
  }

  get #isUnix(): boolean {
    return this.#local?.address === undefined;
  }

  #sendText(text: string): number {
    if (text.length > JOINED) return 0;
    return this.#bytes.sendJoined(this.#descriptor, this.#bytes.joined.latin1Write(text, 0));
  }

  #enqueue(data: string | Uint8Array, taken: ((error?: Error | null) => void) | undefined): boolean {
    this.#output.add(data, taken);
    if (this.#corks === 0 && !this.#isConnecting) this.#watch();
    if (this.#output.length < HIGH_WATER) return true;
    this.writableNeedDrain = true;
    return false;
  }

  #flush(): void {
    if (this.#isConnecting || this.destroyed) return;
    this.#fileWaits = false;
    const error = this.#output.send(this.#bytes, this.#descriptor);
    if (error < 0) {
      this.#fail(error, 'write');
      return;
    }
    if (!this.#output.isEmpty) {
      this.#watch();
      return;
    }
    if (this.writableNeedDrain) process.nextTick(drain, this);
    if (this.writableEnded) this.#finish();
    else if ((this.#watched & Ready.Write) !== 0) this.#watch();
  }

  /** Everything is sent, and nothing more will be written. */
  #finish(): void {
    if (this.#isFinished || this.#isConnecting || this.destroyed) return;
    this.#isFinished = true;
    if (this.#closesSoon || this.#hasEnded) {
      this.#tls?.notifyClosing();
      this.destroy();
      return;
    }
    this.#bytes.endWriting(this.#descriptor);
    this.#watch();
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
    if (this.#passing?.isPossible === true) {
      const passed = this.#passing.step(this.#descriptor);
      if (passed > 0) return true;
      if (passed !== -Errno.InvalidArgument) return this.#readNothing(passed);
      this.endPassing();
    }
    const buffer = this.memory?.next() ?? this.buffer;
    if (buffer === undefined) return false;
    const count = this.#bytes.receive(this.#descriptor, buffer);
    if (count > 0) {
      const isOwn = this.memory?.isOwn === true;
      this.client?.onData(isOwn ? buffer.subarray(0, count) : this.loop.views.of(buffer, count), true);
      return true;
    }
    return this.#readNothing(count);
  }

  /** @param count 0: the end; below 0: the number of an error */
  #readNothing(count: number): boolean {
    if (count < 0) {
      if (count !== -Errno.Again && count !== -Errno.Interrupted) this.#fail(count, 'read');
      return false;
    }
    this.#hasEnded = true;
    this.#watch();
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
      this.#watch();
      return;
    }
    if (result !== Handshake.Done) {
      this.#endHandshake(result === Handshake.Ended ? '' : tls.failure);
      return;
    }
    this.#isConnecting = false;
    this.#handshaking = undefined;
    this.#watch();
    user.onSecured(tls.result(), tls.otherSide());
    this.#sendWaiting();
    // Bytes that came with the end of the handshake.
    this.loop.tls?.later(this);
  }

  #endHandshake(reason: string): void {
    this.#isConnecting = false;
    this.#handshaking?.user.onNotSecured(reason);
  }

  #connected(): void {
    const error = this.loop.calls.connectResult(this.#descriptor);
    if (error < 0) {
      this.#fail(error, 'connect');
      return;
    }
    this.#isConnecting = false;
    this.#watch();
    (this.client as ConnectingUser | undefined)?.onConnect();
    this.#sendWaiting();
  }

  /** Sends bytes, or the end, written before anything could be sent. */
  #sendWaiting(): void {
    if (!this.#output.isEmpty) this.#flush();
    else if (this.writableEnded) this.#finish();
  }

  #fail(error: number, syscall: string): void {
    const reason = error === -Errno.Protocol ? this.#tls?.failure : undefined;
    if (reason === undefined) this.destroy(callError(error, syscall, syscall === 'connect' ? this.target : undefined));
    else this.destroy(Object.assign(new Error(`SSL: ${reason}`), { code: 'EPROTO', syscall: `SSL_${syscall}` }));
  }

  get #wanted(): number {
    if (this.#isConnecting && this.#handshaking !== undefined) return this.#handshaking.waitsFor;
    const reads = this.#isPaused || this.#hasEnded ? Ready.None : Ready.Read;
    return reads | ((this.#output.isEmpty && !this.#fileWaits) || this.#corks > 0 ? Ready.None : Ready.Write);
  }

  /** Has reported what is waited for; without anything the system would go on to report errors. */
  #watch(): void {
    if (this.#descriptor < 0) return;
    const { loop } = this;
    const events = this.#wanted;
    const before = this.#watched;
    if (events === before) return;
    this.#watched = events;
    if (events === Ready.None) loop.rest(this.#descriptor);
    else if (before === Ready.None) loop.goOn(this.#descriptor, events);
    else loop.change(this.#descriptor, events);
  }
}

function close(connection: EpollConnection): void {
  connection.afterClose();
}

function drain(connection: EpollConnection): void {
  connection.afterDrain();
}
