import type { ConnectionTls } from '../../../../contract/client-connection.js';
import { systemErrorText } from '../../../../contract/system-error.js';
import type { ClientHandshake, OtherSide, ServerHandshake, TlsContextOptions } from '../../tls.js';
import type { TlsContext } from '../../tls-context.js';
import { callError, type ByteCalls } from '../calls.js';
import { Errno } from '../errno.js';
import { Ready } from '../loop.js';
import type { TlsSubject } from './callbacks.js';
import type { TlsEngine } from './engine.js';
import { EarlyData, EarlyRead } from './early-data.js';
import { BIO_SET_END_RESULT, Control, NONE, SslError, type Handle } from './library.js';
import { HandshakeOtherSide } from './other-side.js';
import { TlsResult } from './tls-result.js';

/** Results of {@link TlsStream.handshake}. */
export const enum Handshake {
  Done,
  /** Waits for the socket. */
  Waits,
  /** The other side has closed it. */
  Ended,
  Failed,
}

/** `SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN`: sessions of connections that end in any way can be resumed. */
const ENDED = 3;
/** `BIO_NOCLOSE`. */
const STAYS_OPEN = 0;

const NO_PROTOCOLS = Buffer.alloc(0);
/** A client does not know what the server has chosen from. */
const NO_OFFER = { ciphers: '', groups: '', signatures: '' };

/** TLS on one socket: it reads and writes as the system's calls do, with the same results. */
export class TlsStream implements ByteCalls, TlsSubject {
  readonly joined: Buffer;
  readonly options: TlsContextOptions;
  isChainTooLong = false;
  /** The event that the handshake waits for. */
  waitsFor: Ready.Read | Ready.Write = Ready.Read;
  /** Why the handshake has failed. */
  failure = '';
  #ssl: Handle;
  /** Bytes that were read before, until the handshake has read them. */
  #received: Buffer | undefined = undefined;
  #isDone = false;
  #offered: ConnectionTls['offered'] = NO_OFFER;
  /** Sessions come with what it reads. */
  #client: ClientHandshake | undefined = undefined;
  #early: EarlyData | undefined = undefined;

  private constructor(
    private readonly engine: TlsEngine,
    private readonly descriptor: number,
    context: TlsContext,
    readonly protocols: Buffer,
    group = 0,
  ) {
    const { ssl, calls } = engine;
    this.joined = calls.joined;
    this.options = context.options;
    this.#ssl = ssl.c.SSL_new(engine.contextOf(context, group));
    ssl.assert(this.#ssl !== NONE);
    engine.made.addConnection(descriptor, this.#ssl);
    engine.open++;
    ssl.c.SSL_set0_wbio(this.#ssl, ssl.c.BIO_new_socket(descriptor, STAYS_OPEN));
  }

  /** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  static server(engine: TlsEngine, descriptor: number, { context, received, protocols, offered }: ServerHandshake): TlsStream {
    const { c } = engine.ssl;
    const stream = new TlsStream(engine, descriptor, context, protocols);
    stream.#received = received;
    stream.#offered = offered;
    c.SSL_set_accept_state(stream.#ssl);
    if (context.options.earlyData === true) stream.#early = new EarlyData(engine.ssl, stream.#ssl);
    const first = c.BIO_new_mem_buf(received, received.length);
    // At its end there may be more, on the socket.
    c.BIO_ctrl(first, BIO_SET_END_RESULT, -1n, NONE);
    c.SSL_set0_rbio(stream.#ssl, first);
    return stream;
  }

  /** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  static client(engine: TlsEngine, descriptor: number, handshake: ClientHandshake): TlsStream {
    const { ssl } = engine;
    const { c } = ssl;
    const { context, serverName, protocols, session, group } = handshake;
    const stream = new TlsStream(engine, descriptor, context, NO_PROTOCOLS, group);
    const at = stream.#ssl;
    if (context.options.client?.keepsSessions === true) stream.#client = handshake;
    c.SSL_set_connect_state(at);
    c.SSL_set0_rbio(at, c.BIO_new_socket(descriptor, STAYS_OPEN));
    // Copies of all of them are kept. A name that is too long is not sent.
    if (serverName !== '') c.SSL_ctrl(at, Control.SetServerName, 0n, Buffer.from(`${serverName}\0`, 'latin1'));
    if (protocols.length > 0) c.SSL_set_alpn_protos(at, protocols, protocols.length);
    const known = session === undefined ? NONE : ssl.session(session);
    if (known !== NONE) {
      c.SSL_set_session(at, known);
      c.SSL_SESSION_free(known);
    }
    return stream;
  }

  /** Goes on with the handshake. */
  handshake(): Handshake {
    const { engine } = this;
    const { ssl, callbacks } = engine;
    const before = performance.now();
    ssl.c.ERR_clear_error();
    callbacks.current = this;
    const result = this.#begin();
    callbacks.current = undefined;
    const outcome = result === 1 ? Handshake.Done : this.#outcomeOf(result);
    engine.countTime(performance.now() - before);
    if (outcome === Handshake.Done) this.#isDone = true;
    else if (outcome === Handshake.Waits) this.#readSocket();
    return outcome;
  }

  /** @returns as SSL_do_handshake does; it is as good as over when there is early data */
  #begin(): number {
    const { ssl } = this.engine;
    const early = this.#early?.begin() ?? EarlyRead.Finished;
    if (early !== EarlyRead.Finished) return early === EarlyRead.Some ? 1 : 0;
    this.#early = undefined;
    return ssl.c.SSL_do_handshake(this.#ssl);
  }

  /** There is early data, and the handshake is not over. */
  get isEarly(): boolean {
    return this.#early?.isOpen === true && this.#ssl !== NONE;
  }

  /** Of a handshake that is over. */
  result(): TlsResult {
    return new TlsResult(this.engine.ssl, this.#ssl, this.#offered, this.#early && this);
  }

  otherSide(): OtherSide {
    return new HandshakeOtherSide(this.engine.ssl, this.#ssl);
  }

  onSession(session: Handle): boolean {
    const { sessions, sessionTimeout = 0, clientAuthority } = this.options;
    const { ssl } = this.engine;
    const bytes = ssl.encoded(session, 'i2d_SSL_SESSION');
    if (bytes === undefined) return false;
    if (this.#client !== undefined) this.#client.onSession(bytes);
    if (sessions === undefined) return false;
    const id = ssl.sessionId(session);
    const isTrusted = clientAuthority === undefined || ssl.c.SSL_get_verify_result(this.#ssl) === 0n;
    if (isTrusted) sessions.store(id, bytes, sessionTimeout * 1000);
    return false;
  }

  // The calls.

  receive(_: number, buffer: Uint8Array): number {
    const { engine } = this;
    const { ssl } = engine;
    const { c } = ssl;
    if (this.#ssl === NONE) return -Errno.BadDescriptor;
    c.ERR_clear_error();
    // Sessions of TLS 1.3 come after the handshake (RFC 8446, 4.6.1).
    if (this.#client !== undefined || this.#early !== undefined) engine.callbacks.current = this;
    const count = this.#early === undefined ? c.SSL_read(this.#ssl, ssl.at(buffer), ssl.lastLength) : this.#readEarly(this.#early, buffer);
    engine.callbacks.current = undefined;
    return count > 0 ? count : this.#resultOf(count);
  }

  #readEarly(early: EarlyData, buffer: Uint8Array): number {
    const { ssl } = this.engine;
    const { c } = ssl;
    for (;;) {
      let count = early.isReading ? early.read(buffer) : 0;
      if (!early.isReading) {
        count = c.SSL_read(this.#ssl, ssl.at(buffer), ssl.lastLength);
        early.look();
        if (!early.isOpen) this.#early = undefined;
      }
      const isUsedUp = count <= 0 && this.#received !== undefined && c.SSL_get_error(this.#ssl, count) === SslError.WantRead;
      if (!isUsedUp) return count;
      // The rest is on the socket.
      this.#readSocket();
    }
  }

  /** Decrypted bytes, or received ones, that no event of the socket will report. */
  get hasPending(): boolean {
    if (this.#ssl === NONE) return false;
    return this.#early?.hasFirst === true || this.engine.ssl.c.SSL_has_pending(this.#ssl) === 1;
  }

  send(_: number, bytes: Uint8Array): number {
    return bytes.length === 0 ? 0 : this.#write(this.engine.ssl.ffi.getRawPointer(bytes), bytes.length);
  }

  sendJoined(_: number, length: number): number {
    return this.#write(this.engine.ssl.at(this.joined), length);
  }

  sendJoinedFirst(_: number, length: number): number {
    return this.sendJoined(_, length);
  }

  /** Sends close_notify (RFC 8446, 6.1), and FIN. */
  endWriting(descriptor: number): void {
    this.notifyClosing();
    this.engine.calls.endWriting(descriptor);
  }

  notifyClosing(): void {
    const { c } = this.engine.ssl;
    if (this.#ssl === NONE || !this.#isDone) return;
    c.ERR_clear_error();
    if (c.SSL_shutdown(this.#ssl) < 0) c.ERR_clear_error();
  }

  /** It is not used any more. */
  close(): void {
    if (this.#ssl === NONE) return;
    const { c } = this.engine.ssl;
    c.SSL_set_shutdown(this.#ssl, ENDED);
    this.engine.made.deleteConnection(this.descriptor);
    c.SSL_free(this.#ssl);
    this.#ssl = NONE;
    this.engine.open--;
  }

  /** Sends records of up to 16 KB, as many as the socket accepts. OpenSSL keeps a record that is sent in part: its bytes have to be written again. */
  #write(at: Handle, length: number): number {
    const { c } = this.engine.ssl;
    if (this.#ssl === NONE) return -Errno.BadDescriptor;
    c.ERR_clear_error();
    let sent = 0;
    while (sent < length) {
      const from = sent === 0 ? at : at + BigInt(sent);
      const count = this.#early?.write(from, length - sent) ?? c.SSL_write(this.#ssl, from, BigInt(length - sent));
      if (count <= 0) {
        const result = this.#resultOf(count);
        return sent > 0 && (result === 0 || result === -Errno.Again) ? sent : result;
      }
      sent += count;
    }
    return sent;
  }

  /** Of a call that has moved nothing, as the system has it. */
  #resultOf(result: number): number {
    const { ssl } = this.engine;
    const { errno } = ssl;
    switch (ssl.c.SSL_get_error(this.#ssl, result)) {
      case SslError.WantRead:
      case SslError.WantWrite:
        return -Errno.Again;
      case SslError.ZeroReturn:
        return 0;
      case SslError.Syscall:
        return errno === 0 ? -Errno.Reset : -errno;
      default:
        this.failure = ssl.takeErrors();
        return -Errno.Protocol;
    }
  }

  #outcomeOf(result: number): Handshake {
    const { ssl } = this.engine;
    const { errno } = ssl;
    switch (ssl.c.SSL_get_error(this.#ssl, result)) {
      case SslError.WantRead:
        this.waitsFor = Ready.Read;
        return Handshake.Waits;
      case SslError.WantWrite:
        this.waitsFor = Ready.Write;
        return Handshake.Waits;
      case SslError.ZeroReturn:
        return Handshake.Ended;
      case SslError.Syscall:
        if (errno === 0) return Handshake.Ended;
        this.failure = systemErrorText(callError(-errno, 'read'));
        return Handshake.Failed;
      default:
        this.failure = `SSL: ${ssl.takeErrors()}`;
        return Handshake.Failed;
    }
  }

  /** The bytes that had been read are used up. */
  #readSocket(): void {
    if (this.#received === undefined || this.waitsFor === Ready.Write) return;
    this.#received = undefined;
    const { c } = this.engine.ssl;
    c.SSL_set0_rbio(this.#ssl, c.BIO_new_socket(this.descriptor, STAYS_OPEN));
  }
}
