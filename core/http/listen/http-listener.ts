import type { ConnectionTls } from '../../contract/client-connection.js';
import type { AcceptedConnection } from '../../net/accepted-connection.js';
import type { ListenOptions } from '../../net/listen-options.js';
import { ConnectionListener } from '../../net/connection-listener.js';
import type { ConnectionUser } from '../../net/transport/connection.js';
import type { TlsIdentities, TlsIdentity, VariableContexts } from '../../net/tls-identity.js';
import type { TlsContext } from '../../net/transport/tls-context.js';
import type { ServedConnection } from '../client/connection.js';
import { Http1Connection } from '../client/h1/http1-connection.js';
import { Http2Connection } from '../client/h2/http2-connection.js';
import { SocketClient, type ServedListener } from '../client/socket-client.js';
import type { HttpContext } from '../request/context.js';
import type { HttpServerNames } from '../site/virtual-server.js';
import { withHandshakeRequest } from './handshake-request.js';
import type { HttpVariables } from '../site/variables.js';

/** How long connections of a closed listener wait for a request that may be on its way. Milliseconds. */
const DRAINING_TIME = 1000;

/** One listening address of the HTTP engine: its virtual servers, and the connections it accepted. */
export class HttpListener extends ConnectionListener<ServedConnection> implements TlsIdentities, ServedListener {
  draining = false;
  drainingTime = DRAINING_TIME;

  constructor(
    options: ListenOptions,
    private readonly context: HttpContext,
    public variables: HttpVariables,
    public names: HttpServerNames,
  ) {
    super(options, context, withHttp2(options, names));
  }

  get address(): string {
    return this.options.address;
  }
  get secure(): boolean {
    return this.options.secure;
  }
  get http2(): boolean {
    return this.options.http2;
  }
  get identities(): TlsIdentities {
    return this;
  }
  get preludeTimeout(): number {
    return this.names.defaultServer.settings.clientHeaderTimeout;
  }
  /** From now on the requests are for these servers. Connections live on; handshakes use the new certificates. */
  use(options: ListenOptions, names: HttpServerNames, variables: HttpVariables): void {
    this.options = options;
    this.listener.configure(withHttp2(options, names));
    this.names = names;
    this.variables = variables;
  }

  /**
   * Accepts no more; connections end after their current request, or the one that comes soon. Resolves when the socket is closed and every
   * connection it had accepted is known, or has had its time for TLS.
   */
  override drain(waitsForIdle = false): Promise<void> {
    this.draining = true;
    if (waitsForIdle) this.drainingTime = Infinity;
    for (const connection of this.connections) connection.drain();
    return super.drain(waitsForIdle);
  }

  /** Closes the connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): number {
    const old = [...this.connections].filter(({ oldestRequest }) => oldestRequest < time);
    for (const { socket } of old) socket.destroy();
    return old.length;
  }

  onHandshake(tls: ConnectionTls): void {
    this.context.figures.countHandshake(tls.isReused);
    this.context.admission.watch.handshake(this.options.address, tls);
  }

  onHandshakeFailed(reason: string): void {
    this.context.figures.countFailedHandshake();
    this.context.admission.watch.handshakeFailed(this.options.address, reason);
  }

  tlsFor(serverName: string): TlsIdentity | undefined {
    const { server } = this.names.find(serverName);
    const tls = server.tls ?? this.names.defaultServer.tls;
    return server.settings.http2 || this.options.http2 ? tls?.http2Identity : tls?.identity;
  }

  variableContext(contexts: VariableContexts, connection: AcceptedConnection): TlsContext | undefined {
    return withHandshakeRequest(this.context, this, connection, (request) => contexts.contextFor(request));
  }

  serve(connection: AcceptedConnection): ConnectionUser {
    const { context } = this;
    const { socket } = connection;
    const client = new SocketClient(context.nextConnectionId(), connection);
    if (connection.prefersHttp2 || connection.alpn === 'h2') return this.#use(new Http2Connection(socket, this, context, client)).start();
    return this.#use(new Http1Connection(socket, this, context, client));
  }

  #use<C extends ServedConnection>(connection: C): C {
    this.connections.add(connection);
    return connection;
  }
}

/** The default server decides which protocols clients may use without TLS: the others are chosen by what clients send (as in nginx). */
function withHttp2(options: ListenOptions, { defaultServer }: HttpServerNames): ListenOptions {
  return { ...options, http2: options.http2 || defaultServer.settings.http2 };
}
