import type { Address } from '../../contract/address.js';
import type { ConnectionTls } from '../../contract/client-connection.js';
import {
  STREAM_BAD_REQUEST,
  STREAM_INTERNAL_ERROR,
  STREAM_OK,
  type Conversation,
  type ConversationOptions,
  type SessionClient,
} from '../../contract/stream.js';
import type { AcceptedConnection } from '../../net/accepted-connection.js';
import { ConnectionFacts } from '../../net/connection-facts.js';
import type { ListenOptions } from '../../net/listen-options.js';
import type { ConnectionTaker } from '../../net/listener-directory.js';
import { PassedConnection } from '../../net/passed-connection.js';
import type { PreludeEnd } from '../../net/prelude/prelude.js';
import { ProxyProtocol } from '../../net/prelude/proxy-protocol.js';
import { TlsHandshake } from '../../net/prelude/tls-handshake.js';
import type { Connection, ConnectionUser } from '../../net/transport/connection.js';
import { readStream } from '../../net/transport/transport.js';
import type { Timed } from '../../net/timers.js';
import type { TlsIdentities, TlsIdentity, VariableContexts } from '../../net/tls-identity.js';
import type { TlsContext } from '../../net/transport/tls-context.js';
import type { ClientEnd } from '../session/client-end.js';
import type { StreamContext } from '../session/context.js';
import type { Session } from '../session/session.js';
import { TcpConversation } from './tcp-conversation.js';

/** How long the last bytes may take to leave, in milliseconds. */
const LAST_BYTES_TIME = 10_000;
/** Without ssl_handshake_timeout. */
const HANDSHAKE_TIME = 60_000;
const NOTHING: Buffer = Buffer.alloc(0);

/** Parts of the address that a client needs. */
export interface TcpListener {
  readonly options: Pick<ListenOptions, 'address' | 'secure' | 'proxyProtocol'>;
  readonly connections: Set<TcpClient>;
}

/** Current reads before the content. */
type Prelude = 'none' | 'proxy' | 'tls';

/**
 * The connection of a client over TCP. Data received before the content handler takes it over is kept, and no more is read than a handler
 * waits for; a relay becomes the user of the socket itself.
 */
export class TcpClient extends ConnectionFacts implements ClientEnd, ConnectionUser, PreludeEnd, TlsIdentities, SessionClient, Timed {
  readonly protocol = 'TCP';
  deadline = 0;
  slot = -1;
  held = NOTHING;
  hasEnded = false;
  #session: Session | undefined = undefined;
  #prelude: Prelude = 'none';
  #waits = false;
  #isGone = false;

  constructor(
    readonly id: number,
    private readonly listener: TcpListener,
    private readonly context: StreamContext,
    accepted: AcceptedConnection,
  ) {
    super(accepted);
  }

  /** With TLS it is another one. */
  get socket(): Connection {
    return this.seen.socket;
  }

  get facts(): SessionClient {
    return this;
  }
  /** Epoch milliseconds; 0: not yet. */
  get startTime(): number {
    return this.#session?.startTime ?? 0;
  }

  start(session: Session): void {
    this.#session = session;
    this.listener.connections.add(this);
    this.socket.client = this;
    if (!this.listener.options.proxyProtocol) {
      session.continue();
      return;
    }
    this.#prelude = 'proxy';
    new ProxyProtocol(this.seen, this.context, this).start(session.server.settings.proxyProtocolTimeout);
  }

  prepare(session: Session): boolean {
    if (!this.listener.options.secure) return true;
    if (this.secure) {
      if (this.serverName !== undefined) session.chooseServer(this.serverName);
      return true;
    }
    this.#prelude = 'tls';
    const { held } = this;
    this.held = NOTHING;
    const handshake = new TlsHandshake(this.seen, this.context, this, this);
    handshake.start(session.server.tls?.settings.handshakeTimeout ?? HANDSHAKE_TIME);
    if (this.hasEnded) handshake.onEnd();
    else if (held.length > 0) handshake.onData(held, false);
    if (this.socket.isPaused()) this.socket.resume();
    return false;
  }

  waitForMore(): void {
    this.#waits = true;
    if (this.socket.isPaused()) this.socket.resume();
  }

  endWait(): void {
    this.#waits = false;
  }

  /** The kept data goes to another user. */
  takeHeld(): Buffer {
    const { held } = this;
    this.held = NOTHING;
    return held;
  }

  /** The next data that is taken begins with these bytes. */
  putBack(bytes: Buffer): void {
    this.held = this.held.length === 0 ? bytes : Buffer.concat([bytes, this.held]);
  }

  converse(session: Session, options: ConversationOptions): Conversation {
    session.leaveHandlers();
    return new TcpConversation(session, this, options).start();
  }

  get passes(): number {
    return this.seen instanceof PassedConnection ? this.seen.passes : 0;
  }

  passTo(listener: ConnectionTaker, address: Address, client: SessionClient, then: () => void): void {
    const { seen, hasEnded } = this;
    const held = this.takeHeld();
    // It is counted where it goes.
    this.#isGone = true;
    this.listener.connections.delete(this);
    seen.socket.client = undefined;
    listener.take(new PassedConnection(seen, client, address, then), held.length === 0 ? undefined : held, hasEnded);
  }

  send(bytes: Uint8Array, then: () => void): void {
    this.socket.write(bytes, then);
  }

  close(): void {
    const { socket } = this;
    socket.client = this;
    socket.memory?.release();
    this.held = NOTHING;
    socket.destroySoon();
    if (socket.closed) this.#gone();
    else if (!socket.destroyed) this.context.timers.arm(this, LAST_BYTES_TIME);
  }

  // The end of a prelude.

  done(_: AcceptedConnection, rest: Buffer | undefined): void {
    const session = this.#session;
    const prelude = this.#prelude;
    this.#prelude = 'none';
    this.socket.client = this;
    if (session === undefined) return;
    if (prelude === 'tls') {
      if (!this.secure) {
        this.context.log.write('info', 'SSL_do_handshake() failed (wrong version number) while SSL handshaking', session);
        session.end(STREAM_INTERNAL_ERROR);
        return;
      }
      // The socket of TLS has no reader before.
      readStream(this.socket);
    }
    if (rest !== undefined) this.#hold(rest, false);
    session.continue();
  }

  failed(_: AcceptedConnection, level: 'info' | 'error', reason: string | undefined): void {
    const session = this.#session;
    const status = this.#prelude === 'tls' ? STREAM_INTERNAL_ERROR : level === 'error' ? STREAM_BAD_REQUEST : STREAM_OK;
    this.#prelude = 'none';
    if (reason !== undefined) this.context.log.write(level, reason, session);
    session?.end(status);
  }

  // The handshake.

  tlsFor(serverName: string): TlsIdentity | undefined {
    const names = this.#session?.names;
    const tls = names?.find(serverName).server.tls ?? names?.defaultServer.tls;
    return tls?.identity;
  }

  variableContext(contexts: VariableContexts, { serverName }: AcceptedConnection): TlsContext | undefined {
    const session = this.#session;
    if (session === undefined) return undefined;
    if (serverName !== undefined) session.chooseServer(serverName);
    return contexts.contextFor(session);
  }

  onHandshake(tls: ConnectionTls): void {
    this.context.figures.countHandshake(tls.isReused);
    this.context.admission.watch.handshake(this.listener.options.address, tls);
  }

  onHandshakeFailed(reason: string): void {
    this.context.figures.countFailedHandshake();
    this.context.admission.watch.handshakeFailed(this.listener.options.address, reason);
  }

  // The socket, until it is taken over.

  onData(chunk: Buffer, borrowed: boolean): void {
    // Data received after the end of the session is dropped.
    if (this.#session === undefined || this.#session.status !== 0) return;
    this.#hold(chunk, borrowed);
    if (this.#waits) {
      this.#waits = false;
      this.#session.continue();
    }
    if (!this.#waits && this.socket.client === this) this.socket.pause();
  }

  onEnd(): void {
    this.hasEnded = true;
    if (!this.#waits) return;
    this.#waits = false;
    this.#session?.continue();
  }

  onClose(): void {
    this.#session?.end(STREAM_OK);
    this.#gone();
  }

  onDrain(): void {}

  /** It does not take what was sent last. */
  onDeadline(): void {
    this.socket.destroy();
  }

  #hold(chunk: Buffer, borrowed: boolean): void {
    // Data received before TLS is not content: it goes to the handshake.
    const isContent = this.secure || !this.listener.options.secure;
    if (isContent && this.#session !== undefined) this.#session.bytesReceived += chunk.length;
    if (this.held.length > 0) this.held = Buffer.concat([this.held, chunk]);
    else this.held = borrowed ? Buffer.from(chunk) : chunk;
  }

  /** The connection is closed. */
  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.context.timers.forget(this);
    this.listener.connections.delete(this);
    this.context.figures.countClosed();
  }
}
