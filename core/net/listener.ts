import type { ConnectionEnd } from '../contract/client-connection.js';
import { systemErrorText } from '../contract/system-error.js';
import { isIPv4 } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { AcceptedConnection } from './accepted-connection.js';
import type { ListenOptions } from './listen-options.js';
import type { ConnectionTaker } from './listener-directory.js';
import type { NetContext } from './net-context.js';
import { Http2Preface } from './prelude/http2-preface.js';
import type { Prelude, PreludeEnd } from './prelude/prelude.js';
import { ProxyProtocol } from './prelude/proxy-protocol.js';
import { TlsHandshake } from './prelude/tls-handshake.js';
import { ReadMemory } from './read-memory.js';
import type { Connection, ConnectionUser } from './transport/connection.js';
import type { ListeningSocket, ListeningUser } from './transport/listening.js';
import { readStream } from './transport/transport.js';
import { hasPrivatePath, SocketFile } from './socket-file.js';
import type { TlsIdentities } from './tls-identity.js';

/** A turn of the event loop that took no longer left no time for a connection to come. Milliseconds. */
const CALM_TURN = 0.1;
/** Under a load that never pauses the socket is closed after as many milliseconds. */
const CALM_LIMIT = 500;
/** Most turns of the event loop in which the queue of a socket is emptied that is about to be closed. */
const LAST_TURNS = 20;
/** How long preludes may take that are under way when the socket is closed, and how often one looks. */
const PRELUDE_TIME = 1000;
const PRELUDE_POLL = 20;
/** Most bytes of a read before it is known what the connection is for. */
const FIRST_READ = 16_384;
/** Connections that may wait to be accepted, where `backlog` says nothing. */
const BACKLOG = 511;

/** The traffic engine of a listener. */
export interface ConnectionServer {
  /** A connection was accepted. False: there is no room for it, and it is closed. */
  admit(socket: Connection): boolean;
  /** Milliseconds for each prelude. */
  readonly preludeTimeout: number;
  /** Undefined: it runs the preludes itself, and gives each socket memory of its own to read into. */
  readonly identities: TlsIdentities | undefined;
  /** An admitted connection ended in a prelude. */
  onPreludeFailed(): void;
  /**
   * Takes over a connection whose preludes are finished.
   * @returns who handles its socket from now on
   */
  serve(connection: AcceptedConnection): ConnectionUser;
}

/**
 * One listening socket of one thread: it accepts connections and hands them to its engine when their preludes are over, in this order: PROXY
 * protocol, TLS with ALPN or the preface of HTTP/2.
 */
export class Listener implements PreludeEnd, ConnectionTaker, ListeningUser {
  #socket: ListeningSocket | undefined;
  #accepted = 0;
  /** Connections that are not the engine's yet. */
  readonly #preludes = new Set<AcceptedConnection>();
  /** Preludes of each connection, in order. */
  #row: readonly ((connection: AcceptedConnection) => Prelude)[] = [];
  #options: ListenOptions;
  /** Where connections go to, if it is the same for all. */
  readonly #local: ConnectionEnd | undefined;
  /** Of a unix socket. */
  #file: SocketFile | undefined;
  /** The socket was bound here: its file goes with it. */
  #isOwnFile = false;
  /** The socket is this listener's alone, and others are open at its address. */
  #isOneOfMany = false;

  constructor(
    options: ListenOptions,
    private readonly context: NetContext,
    private readonly engine: ConnectionServer,
  ) {
    this.#options = options;
    this.#local = localEnd(options);
    this.configure(options);
  }

  /** Other options for connections to come. Address, kind of socket and `ssl` are the same as before. */
  configure(options: ListenOptions): void {
    const { context } = this;
    const { identities } = this.engine;
    const row: ((connection: AcceptedConnection) => Prelude)[] = [];
    if (options.mode !== undefined && options.mode !== this.#options.mode) this.#changeMode(options.mode);
    this.#options = options;
    this.#socket?.tune?.(options);
    this.#row = row;
    if (identities === undefined) return;
    if (options.proxyProtocol) row.push((connection) => new ProxyProtocol(connection, context, this));
    if (options.secure) row.push((connection) => new TlsHandshake(connection, context, this, identities));
    // Over TLS it is agreed on by ALPN.
    if (options.http2 && !options.secure) row.push((connection) => new Http2Preface(connection, context, this));
  }

  /** It is closed, and has no connections that are not the engine's. */
  get isDone(): boolean {
    return this.#socket === undefined && this.#preludes.size === 0;
  }

  /**
   * Opens the socket.
   * @param shared SO_REUSEPORT: every worker has one of its own on this address.
   * @param descriptor of a socket that is bound already; the file of a unix socket is not this listener's then
   * @throws Error of the system: EADDRINUSE, EACCES …
   */
  async open(shared: boolean, descriptor?: number): Promise<void> {
    const { context } = this;
    const { host, port, path, mode, backlog = BACKLOG, ipv6Only, secure } = this.#options;
    const isOwn = path !== undefined && descriptor === undefined && (mode !== undefined || hasPrivatePath(path));
    const file = isOwn ? SocketFile.make(path) : undefined;
    const { buffers, transport } = context;
    const socket = file?.privatePath ?? path;
    this.#isOneOfMany = shared && descriptor === undefined && path === undefined;
    try {
      const place = {
        host,
        port,
        path: socket,
        ipv6Only,
        shared,
        descriptor,
        backlog,
        tuning: this.#options,
        secure,
        buffer: buffers.shared,
      };
      this.#socket = await transport.listen(place, this);
    } catch (error) {
      file?.abandon();
      throw error;
    }
    try {
      file?.publish(mode);
    } catch (error) {
      this.close();
      throw error;
    }
    this.#file = file ?? (path === undefined ? undefined : SocketFile.of(path));
    this.#isOwnFile = file !== undefined;
  }

  /** Number of the open socket. */
  get descriptor(): number | undefined {
    return this.#socket?.descriptor;
  }

  /** Handle of the open socket in Node.js: it can be sent to another process. */
  get handle(): unknown {
    return this.#socket?.handle;
  }

  /** Another program listens on the same socket: its file stays when this one closes it. */
  leaveFile(): void {
    this.#isOwnFile = false;
    this.#isOneOfMany = false;
  }

  /** Accepts no more. Connections live on. */
  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
    try {
      if (this.#isOwnFile) this.#file?.remove();
    } catch (error) {
      // The server may have become a user who may not.
      this.context.log.write('error', `unlink() "${this.#options.path}" failed (${systemErrorText(error)})`);
    }
    this.#file = undefined;
  }

  /**
   * Accepts no more. Resolves when the socket is closed and every accepted connection is the engine's, or has had its time.
   * @param waitsForIdle preludes have all of their time
   */
  async drain(waitsForIdle = false): Promise<void> {
    await this.#closeWhenCalm();
    const { clock } = this.context;
    for (const until = clock.refresh() + (waitsForIdle ? Infinity : PRELUDE_TIME); this.#preludes.size > 0 && clock.refresh() < until;)
      await setTimeout(PRELUDE_POLL);
  }

  /** Closes at once what is not the engine's yet. */
  destroy(): void {
    this.close();
    for (const connection of this.#preludes) connection.socket.destroy();
  }

  take(connection: AcceptedConnection, rest: Buffer | undefined, hasEnded: boolean): void {
    const { socket } = connection;
    if (socket.isPaused()) socket.resume();
    this.#preludes.add(connection);
    this.done(connection, rest);
    if (hasEnded) connection.socket.client?.onEnd();
  }

  done(connection: AcceptedConnection, rest: Buffer | undefined): void {
    const makePrelude = this.#row[connection.preludes++];
    if (makePrelude === undefined) {
      this.#preludes.delete(connection);
      this.#serve(connection, rest);
      return;
    }
    const prelude = makePrelude(connection);
    prelude.start(this.engine.preludeTimeout);
    if (rest !== undefined) prelude.onData(rest, false);
  }

  failed(connection: AcceptedConnection, level: 'info' | 'error', reason: string | undefined): void {
    this.#preludes.delete(connection);
    if (reason !== undefined) {
      this.context.log.write(level, `${reason}, client: ${connection.remoteAddress}, server: ${this.#options.address}`);
    }
    connection.socket.destroy();
    this.engine.onPreludeFailed();
  }

  /**
   * The system resets what waits in the queue of a socket that is closed, also when other workers listen on the same address. So the socket
   * goes on accepting until a turn of the event loop has found the queue empty and was over at once.
   */
  async #closeWhenCalm(): Promise<void> {
    const { clock } = this.context;
    const until = clock.refresh() + CALM_LIMIT;
    for (let calm = false; !calm && clock.refresh() < until;) {
      const [accepted, since] = [this.#accepted, performance.now()];
      await setImmediate();
      calm = accepted === this.#accepted && performance.now() - since < CALM_TURN;
    }
    if (this.#isOneOfMany) await this.#emptyQueue();
    this.close();
  }

  /**
   * Leaves one place in the queue. The system drops what a client sends to connect where there is no place; the client sends it again after a
   * second, and another worker accepts the connection. Thus at most one is reset, however long this thread does not run before it closes
   * the socket.
   */
  async #emptyQueue(): Promise<void> {
    this.#socket?.limitQueue(0);
    for (let turn = 0, accepted = -1; accepted !== this.#accepted && turn < LAST_TURNS; turn++) {
      accepted = this.#accepted;
      await setImmediate();
    }
  }

  #changeMode(mode: number): void {
    try {
      this.#file?.changeMode(mode);
    } catch (error) {
      this.context.log.write('alert', `chmod() of "${this.#options.address}" failed (${systemErrorText(error)})`);
    }
  }

  newMemory(): ReadMemory | undefined {
    return this.engine.identities === undefined ? new ReadMemory(this.context.buffers, FIRST_READ) : undefined;
  }

  onAcceptFailed(error: Error): void {
    this.context.admission.acceptFailed(error);
  }

  onAccepted(socket: Connection): void {
    this.#accepted++;
    this.context.clock.refresh();
    if (!this.engine.admit(socket)) {
      socket.destroy();
      return;
    }
    const { path, keepAlive } = this.#options;
    const remoteAddress = path === undefined ? socket.remoteAddress : 'unix:';
    if (remoteAddress === undefined) {
      // Reset by now. Its data must not be processed: access rules would not know its address.
      socket.destroy();
      this.engine.onPreludeFailed();
      return;
    }
    if (keepAlive !== undefined) socket.setKeepAlive(true, keepAlive.idle, keepAlive.interval, keepAlive.count);
    const connection = new AcceptedConnection(socket, remoteAddress, this.#local ?? endOf(socket), this.context.clock.now);
    if (this.#row.length === 0) {
      socket.client = this.engine.serve(connection);
      return;
    }
    this.#preludes.add(connection);
    this.done(connection, undefined);
  }

  #serve(connection: AcceptedConnection, rest: Buffer | undefined): void {
    const { socket } = connection;
    socket.client = this.engine.serve(connection);
    // The socket of TLS has no reader before, if it was not passed on.
    if (connection.secure) readStream(socket);
    if (rest !== undefined) socket.client.onData(rest, false);
  }
}

/** Address that all connections of a listener are connected to. Undefined: it differs by socket. */
function localEnd({ address, host, port, path }: ListenOptions): ConnectionEnd | undefined {
  if (path !== undefined) return { address, port: 0 };
  return isIPv4(host) && host !== '0.0.0.0' ? { address: host, port } : undefined;
}

function endOf({ localAddress = '', localPort = 0 }: Connection): ConnectionEnd {
  return { address: localAddress, port: localPort };
}
