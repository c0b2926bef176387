import net, { type Server, type Socket } from 'node:net';
import tls, { type SecureContext } from 'node:tls';
import { acceptInto } from '../net/accept.js';
import { ClientConnection } from './client-connection.js';
import type { HttpContext } from './context.js';
import type { ListenOptions } from './listen.js';
import type { ServerNames } from './server-names.js';
import type { HttpVariables } from './variables.js';

/** A socket that knows its connection: the handlers below are shared by all of them, so none costs a closure. */
interface ClientSocket extends Socket {
  client?: ClientConnection;
}

/** The TLS side of a listener: certificates by the name the client asks for. */
export interface ListenerTls {
  readonly options: tls.TlsOptions;
  find(serverName: string): SecureContext | undefined;
}

/** How long a client may take for the TLS handshake (nginx: client_header_timeout). */
const HANDSHAKE_TIMEOUT = 60_000;

/** One listening address in one thread: the socket, the virtual servers behind it, the connections it accepted. */
export class HttpListener {
  readonly connections = new Set<ClientConnection>();
  draining = false;
  #server: Server | undefined;
  #warned = 0;

  constructor(
    readonly options: ListenOptions,
    private readonly context: HttpContext,
    public variables: HttpVariables,
    public names: ServerNames,
    public tls: ListenerTls | undefined,
  ) {}

  get address(): string {
    return this.options.address;
  }
  get secure(): boolean {
    return this.options.secure;
  }
  get isUnix(): boolean {
    return this.options.path !== undefined;
  }

  /**
   * Opens the socket.
   * @param shared SO_REUSEPORT: every worker has one of its own on this address.
   * @throws Error of the system: EADDRINUSE, EACCES …
   */
  open(shared: boolean): Promise<void> {
    const server = this.#create();
    const { host, port, path, backlog, ipv6Only } = this.options;
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(
        path === undefined ? { host, port, reusePort: shared, ipv6Only, backlog: backlog ?? 511, exclusive: true } : { path },
        () => {
          server.off('error', reject);
          server.on('error', (error) => this.context.log.write('alert', `accept() on ${this.address} failed: ${error.message}`));
          resolve();
        },
      );
    });
  }

  /** Accepts no more. Connections live on. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Accepts no more; idle connections end now, the others after their current request. */
  drain(): void {
    this.draining = true;
    this.close();
    for (const connection of this.connections) connection.drain();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.close();
    for (const connection of this.connections) connection.socket.destroy();
  }

  #create(): Server {
    const options = { allowHalfOpen: true, noDelay: true, keepAlive: this.options.keepAlive };
    if (this.tls === undefined) return this.#plainServer(options);
    const server = tls.createServer(
      {
        ...options,
        ...this.tls.options,
        handshakeTimeout: HANDSHAKE_TIMEOUT,
        SNICallback: (name, done) => done(null, this.tls?.find(name.toLowerCase())),
      },
      (socket) => {
        socket.on('data', onData);
        this.#accept(socket);
      },
    );
    server.on('tlsClientError', (error, socket) => {
      this.context.log.write(
        'info',
        `SSL_do_handshake() failed (${error.message}) while SSL handshaking, client: ${socket.remoteAddress ?? ''}, server: ${this.address}`,
      );
      socket.destroy();
    });
    return server;
  }

  #plainServer(options: net.ServerOpts): Server {
    const server = net.createServer(options, (socket) => {
      socket.on('data', onData);
      this.#accept(socket);
    });
    server.once('listening', () => acceptInto(server, this.context.buffers.shared, onRead, (socket) => this.#accept(socket)));
    return server;
  }

  #accept(socket: ClientSocket): void {
    const { context } = this;
    context.clock.refresh();
    context.figures.countAccepted();
    if (context.figures.own >= context.connectionLimit) {
      this.#warnLimit();
      socket.destroy();
      return;
    }
    context.figures.countHandled();
    const client = new ClientConnection(socket, this, context);
    socket.client = client;
    this.connections.add(client);
    socket.on('end', onEnd);
    socket.on('error', onError);
    socket.on('close', onClose);
    socket.on('drain', onDrain);
  }

  /** At most once a second: the log must not be what ends the server. */
  #warnLimit(): void {
    const { clock, log, connectionLimit } = this.context;
    if (clock.now - this.#warned < 1000) return;
    this.#warned = clock.now;
    log.write('alert', `${connectionLimit} worker_connections are not enough`);
  }
}

function onData(this: ClientSocket, chunk: Buffer): void {
  this.client?.onData(chunk, false);
}
function onRead(this: ClientSocket, length: number, buffer: Buffer): boolean {
  this.client?.onData(buffer.subarray(0, length), true);
  return true;
}
function onEnd(this: ClientSocket): void {
  this.client?.onEnd();
}
/** What happened is told by `close`, which always follows. */
function onError(): void {}
function onClose(this: ClientSocket): void {
  this.client?.onClose();
}
function onDrain(this: ClientSocket): void {
  this.client?.onDrain();
}
