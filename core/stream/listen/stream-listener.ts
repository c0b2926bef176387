import type { Socket } from 'node:net';
import type { AcceptedConnection } from '../../net/accepted-connection.js';
import type { ListenOptions } from '../../net/listen-options.js';
import type { EngineListener } from '../../net/listener-set.js';
import { Listener, type ConnectionServer } from '../../net/listener.js';
import type { SocketUser } from '../../net/socket-user.js';
import { TcpClient, type TcpListener } from '../client/tcp-client.js';
import { phaseRunner } from '../phases/phase-runner.js';
import type { SessionListener } from '../session/client-end.js';
import type { StreamContext } from '../session/context.js';
import { Session } from '../session/session.js';
import type { StreamServerNames } from '../site/server.js';
import type { StreamVariables } from '../site/variables.js';

/** One listening address of the stream engine that accepts connections: the servers behind it, and the connections it accepted. */
export class StreamListener implements ConnectionServer, EngineListener, SessionListener, TcpListener {
  readonly connections = new Set<TcpClient>();
  readonly identities = undefined;
  readonly preludeTimeout = 0;
  readonly #listener: Listener;

  constructor(
    public options: ListenOptions,
    private readonly context: StreamContext,
    public variables: StreamVariables,
    public names: StreamServerNames,
  ) {
    this.#listener = new Listener(options, context, this);
  }

  get serverAddress(): string {
    return this.options.address;
  }
  get isUnix(): boolean {
    return this.options.path !== undefined;
  }
  get isDone(): boolean {
    return this.#listener.isDone && this.connections.size === 0;
  }

  open(shared: boolean): Promise<void> {
    return this.#listener.open(shared);
  }

  /** From now on sessions begin in these servers. Those that have begun go on as they began. */
  use(options: ListenOptions, names: StreamServerNames, variables: StreamVariables): void {
    this.options = options;
    this.#listener.configure(options);
    this.names = names;
    this.variables = variables;
  }

  drain(): Promise<void> {
    return this.#listener.drain();
  }

  cutOff(time: number): void {
    for (const client of this.connections) if (client.startTime < time) client.socket.destroy();
  }

  destroy(): void {
    this.#listener.destroy();
    for (const client of this.connections) client.socket.destroy();
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

  serve(connection: AcceptedConnection): SocketUser {
    const { context } = this;
    const client = new TcpClient(context.nextConnectionId(), this, context, connection);
    client.start(new Session(context, this, client, phaseRunner));
    // A prelude may have taken it over.
    return connection.socket.client ?? client;
  }
}
