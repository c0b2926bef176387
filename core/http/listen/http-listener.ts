import type { Socket } from 'node:net';
import type { AcceptedConnection } from '../../net/accepted-connection.js';
import type { ListenOptions } from '../../net/listen-options.js';
import { Listener, type ConnectionServer } from '../../net/listener.js';
import type { SocketUser } from '../../net/socket-user.js';
import type { TlsIdentities, TlsIdentity } from '../../net/tls-identity.js';
import type { Connection } from '../client/connection.js';
import { ClientConnection } from '../client/h1/client-connection.js';
import { Http2Connection } from '../client/h2/http2-connection.js';
import { SocketClient, type ConnectionListener } from '../client/socket-client.js';
import type { HttpContext } from '../request/context.js';
import type { HttpServerNames } from '../site/virtual-server.js';
import type { HttpVariables } from '../site/variables.js';

/** One listening address of the HTTP engine: the virtual servers behind it, and the connections it accepted. */
export class HttpListener implements ConnectionServer, TlsIdentities, ConnectionListener {
  readonly connections = new Set<Connection>();
  readonly identities: TlsIdentities = this;
  draining = false;
  readonly #listener: Listener;

  constructor(
    public options: ListenOptions,
    private readonly context: HttpContext,
    public variables: HttpVariables,
    public names: HttpServerNames,
  ) {
    this.#listener = new Listener(withHttp2(options, names), context, this);
  }

  get address(): string {
    return this.options.address;
  }
  get secure(): boolean {
    return this.options.secure;
  }
  get isUnix(): boolean {
    return this.options.path !== undefined;
  }
  get preludeTimeout(): number {
    return this.names.defaultServer.settings.clientHeaderTimeout;
  }
  /** It is closed, and so is every connection. */
  get isDone(): boolean {
    return this.#listener.isDone && this.connections.size === 0;
  }

  /** Opens the socket. See {@link Listener.open}. */
  open(shared: boolean): Promise<void> {
    return this.#listener.open(shared);
  }

  /** From now on the requests are for these servers. Connections live on; handshakes use the new certificates. */
  use(options: ListenOptions, names: HttpServerNames, variables: HttpVariables): void {
    this.options = options;
    this.#listener.configure(withHttp2(options, names));
    this.names = names;
    this.variables = variables;
  }

  /**
   * Accepts no more; connections end after their current request, or the one that comes soon. Resolves when the socket is closed and every
   * connection it had accepted is known, or has had its time for TLS.
   */
  drain(): Promise<void> {
    this.draining = true;
    for (const connection of this.connections) connection.drain();
    return this.#listener.drain();
  }

  /** Closes the connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): void {
    for (const connection of this.connections) if (connection.oldestRequest < time) connection.socket.destroy();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#listener.destroy();
    for (const connection of this.connections) connection.socket.destroy();
  }

  take(connection: AcceptedConnection, rest: Buffer | undefined, hasEnded: boolean): void {
    this.#listener.take(connection, rest, hasEnded);
  }

  admit(socket: Socket): boolean {
    return this.context.admission.admit(socket);
  }

  onPreludeFailed(): void {
    this.context.figures.countClosed();
  }

  onHandshake(isReused: boolean): void {
    this.context.figures.countHandshake(isReused);
  }

  onHandshakeFailed(): void {
    this.context.figures.countFailedHandshake();
  }

  tlsFor(serverName: string): TlsIdentity | undefined {
    const { server } = this.names.find(serverName);
    const tls = server.tls ?? this.names.defaultServer.tls;
    return server.settings.http2 || this.options.http2 ? tls?.http2Identity : tls?.identity;
  }

  serve(connection: AcceptedConnection): SocketUser {
    const { context } = this;
    const { socket } = connection;
    const client = new SocketClient(context.nextConnectionId(), connection);
    if (connection.prefersHttp2 || connection.alpn === 'h2') return this.#use(new Http2Connection(socket, this, context, client)).start();
    return this.#use(new ClientConnection(socket, this, context, client));
  }

  #use<C extends Connection>(connection: C): C {
    this.connections.add(connection);
    return connection;
  }
}

/** What clients may speak without TLS is decided by the default server: the others are chosen by what they say (as in nginx). */
function withHttp2(options: ListenOptions, { defaultServer }: HttpServerNames): ListenOptions {
  return { ...options, http2: options.http2 || defaultServer.settings.http2 };
}
