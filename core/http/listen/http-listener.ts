import net, { type Server, type Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { SecureContext, Server as TlsServer } from 'node:tls';
import { acceptInto } from '../../net/accept.js';
import { ClientConnection } from '../client/h1/client-connection.js';
import { SocketClient } from '../client/socket-client.js';
import type { ClientSocket } from '../client/socket-user.js';
import type { HttpContext } from '../request/context.js';
import type { ListenOptions } from '../../net/listen-options.js';
import { nodeTls } from '../../net/node-tls.js';
import type { ServerNames } from '../site/server-names.js';
import { TlsFront } from '../../net/prelude/tls-front.js';
import type { HttpVariables } from '../site/variables.js';

/** A turn of the event loop that took no longer left no time for a connection to come. Milliseconds. */
const CALM_TURN = 0.1;
/** Under a load that never pauses the socket is closed after as many milliseconds. */
const CALM_LIMIT = 500;
/** How long handshakes may take that are under way when the socket is closed, and how often one looks. */
const HANDSHAKE_TIME = 1000;
const HANDSHAKE_POLL = 20;

/** One listening address in one thread: the socket, the virtual servers behind it, the connections it accepted. */
export class HttpListener {
  readonly connections = new Set<ClientConnection>();
  draining = false;
  #server: Server | undefined;
  #tls: TlsServer | undefined;
  #accepted = 0;
  /** Connections to a TLS port that are not secure yet. */
  #handshakes = 0;
  /** When the log was last told that connections are short, by level. */
  readonly #warned = { warn: 0, alert: 0, crit: 0 };

  constructor(
    readonly options: ListenOptions,
    private readonly context: HttpContext,
    public variables: HttpVariables,
    public names: ServerNames,
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
  /** It is closed, and so is every connection. */
  get isDone(): boolean {
    return this.#server === undefined && this.#handshakes === 0 && this.connections.size === 0;
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

  /** From now on the requests are for these servers. Connections live on; handshakes use the new certificates. */
  serve(names: ServerNames, variables: HttpVariables): void {
    const before = this.names.defaultServer.tls;
    this.names = names;
    this.variables = variables;
    const now = names.defaultServer.tls;
    if (now !== undefined && now !== before) this.#tls?.setSecureContext(now.settings);
  }

  /** Accepts no more. Connections live on. */
  close(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /**
   * Accepts no more; connections end after their current request, or the one that comes soon. Resolves when the socket is closed and every
   * connection it had accepted is known, or has had its time to become secure.
   */
  async drain(): Promise<void> {
    this.draining = true;
    for (const connection of this.connections) connection.drain();
    await this.#closeWhenCalm();
    const { clock } = this.context;
    for (const until = clock.refresh() + HANDSHAKE_TIME; this.#handshakes > 0 && clock.refresh() < until;) await setTimeout(HANDSHAKE_POLL);
  }

  /** Ends everything at once. */
  destroy(): void {
    this.close();
    for (const connection of this.connections) connection.socket.destroy();
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
    this.close();
  }

  #create(): Server {
    const options = { allowHalfOpen: true, noDelay: true, keepAlive: this.options.keepAlive };
    if (!this.secure) return this.#plainServer(options);
    const timeout = this.names.defaultServer.settings.clientHeaderTimeout;
    const front = new TlsFront(
      (this.#tls = this.#tlsServer(options, timeout)),
      timeout,
      (socket, first) => {
        this.#handshakes--;
        socket.on('data', onData);
        this.#accept(socket, false);
        onData.call(socket, first);
      },
      (socket) => {
        this.#handshakes--;
        this.#logHandshake('peer closed connection in SSL handshake', socket);
      },
    );
    return net.createServer(options, (socket) => {
      this.#handshakes++;
      this.#accepted++;
      front.accept(socket);
    });
  }

  #tlsServer(options: net.ServerOpts, handshakeTimeout: number): TlsServer {
    const server = nodeTls().createServer(
      {
        ...options,
        // Of the default server: versions, ciphers, and the certificate for clients that name none.
        ...this.names.defaultServer.tls?.settings,
        ALPNProtocols: ['http/1.1', 'http/1.0'],
        handshakeTimeout,
        SNICallback: (name, done) => done(null, this.#contextFor(name.toLowerCase())),
      },
      (socket) => {
        this.#handshakes--;
        socket.on('data', onData);
        this.#accept(socket, true);
      },
    );
    server.on('tlsClientError', (error, socket) => {
      this.#handshakes--;
      this.#logHandshake(`SSL_do_handshake() failed (${error.message.trim()})`, socket);
      socket.destroy();
    });
    return server;
  }

  #logHandshake(what: string, { remoteAddress = '' }: Socket): void {
    this.context.log.write('info', `${what} while SSL handshaking, client: ${remoteAddress}, server: ${this.address}`);
  }

  #contextFor(serverName: string): SecureContext | undefined {
    const { names } = this;
    return names.find(serverName).server.tls?.context ?? names.defaultServer.tls?.context;
  }

  #plainServer(options: net.ServerOpts): Server {
    const server = net.createServer(options, (socket) => {
      socket.on('data', onData);
      this.#accept(socket, false);
    });
    server.once('listening', () => acceptInto(server, this.context.buffers.shared, onRead, (socket) => this.#accept(socket, false)));
    return server;
  }

  #accept(socket: ClientSocket, secure: boolean): void {
    const { context } = this;
    this.#accepted++;
    context.clock.refresh();
    context.figures.countAccepted();
    if (context.descriptors.isBeyondLimit(socket)) {
      this.#warn('crit', 'accept4() failed (24: Too many open files)');
      socket.destroy();
      return;
    }
    if (context.figures.own >= context.connectionLimit && !this.#makeRoom()) {
      socket.destroy();
      return;
    }
    const address = this.isUnix ? 'unix:' : socket.remoteAddress;
    if (address === undefined) {
      // Reset by now. What it sent must not be worked on: a rule for addresses would have nothing to go by.
      socket.destroy();
      return;
    }
    context.figures.countHandled();
    const client = new ClientConnection(socket, this, context, new SocketClient(context.nextConnectionId(), socket, this, address, secure));
    socket.client = client;
    this.connections.add(client);
    socket.on('end', onEnd);
    socket.on('error', onError);
    socket.on('close', onClose);
    socket.on('drain', onDrain);
  }

  /** Closes the connection that is idle longest (nginx: ngx_drain_connections). False: all are at work. */
  #makeRoom(): boolean {
    const { connectionLimit, idleClients } = this.context;
    const idle = idleClients.takeOldest();
    idle?.drain();
    const text = `${connectionLimit} worker_connections are not enough`;
    if (idle === undefined) this.#warn('alert', text);
    else this.#warn('warn', `${text}, reusing connections`);
    return idle !== undefined;
  }

  /** At most once a second: the log must not be what ends the server. */
  #warn(level: 'warn' | 'alert' | 'crit', text: string): void {
    const { clock, log } = this.context;
    if (clock.now - this.#warned[level] < 1000) return;
    this.#warned[level] = clock.now;
    log.write(level, text);
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
