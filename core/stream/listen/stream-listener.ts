import type { AcceptedConnection } from '../../net/accepted-connection.js';
import type { ListenOptions } from '../../net/listen-options.js';
import type { EngineListener } from '../../net/listener-set.js';
import { ConnectionListener } from '../../net/connection-listener.js';
import type { ConnectionUser } from '../../net/transport/connection.js';
import { TcpClient, type TcpListener } from '../client/tcp-client.js';
import { phaseRunner } from '../phases/phase-runner.js';
import type { SessionListener } from '../session/client-end.js';
import type { StreamContext } from '../session/context.js';
import { Session } from '../session/session.js';
import type { StreamServerNames } from '../site/server.js';
import type { StreamVariables } from '../site/variables.js';

/** One listening address of the stream engine that accepts connections: its servers, and the connections it accepted. */
export class StreamListener extends ConnectionListener<TcpClient> implements EngineListener, SessionListener, TcpListener {
  readonly preludeTimeout = 0;

  constructor(
    options: ListenOptions,
    private readonly context: StreamContext,
    public variables: StreamVariables,
    public names: StreamServerNames,
  ) {
    super(options, context);
  }

  get identities(): undefined {
    return undefined;
  }
  get serverAddress(): string {
    return this.options.address;
  }
  /** From now on sessions begin in these servers. Sessions that have begun go on unchanged. */
  use(options: ListenOptions, names: StreamServerNames, variables: StreamVariables): void {
    this.options = options;
    this.listener.configure(options);
    this.names = names;
    this.variables = variables;
  }

  cutOff(time: number): number {
    const old = [...this.connections].filter(({ startTime }) => startTime < time);
    for (const { socket } of old) socket.destroy();
    return old.length;
  }

  serve(connection: AcceptedConnection): ConnectionUser {
    const { context } = this;
    const client = new TcpClient(context.nextConnectionId(), this, context, connection);
    client.start(new Session(context, this, client, phaseRunner));
    // A prelude may have taken it over.
    return connection.socket.client ?? client;
  }
}
