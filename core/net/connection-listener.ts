import type { AcceptedConnection } from './accepted-connection.js';
import type { ListenOptions } from './listen-options.js';
import { Listener, type ConnectionServer } from './listener.js';
import type { NetContext } from './net-context.js';
import type { Connection, ConnectionUser } from './transport/connection.js';
import type { TlsIdentities } from './tls-identity.js';

/** A connection of an engine. */
interface EngineConnection {
  readonly socket: { destroy(): unknown };
}

interface ListenerContext extends NetContext {
  readonly figures: { countClosed(): void };
}

/** One listening address of a traffic engine, with the connections that it accepted. */
export abstract class ConnectionListener<C extends EngineConnection> implements ConnectionServer {
  readonly connections = new Set<C>();
  abstract readonly preludeTimeout: number;
  /** Read while this is constructed: an accessor. */
  abstract get identities(): TlsIdentities | undefined;
  protected readonly listener: Listener;
  readonly #context: ListenerContext;

  /** @param listened the options with those of its servers */
  constructor(
    public options: ListenOptions,
    context: ListenerContext,
    listened = options,
  ) {
    this.#context = context;
    this.listener = new Listener(listened, context, this);
  }

  get isUnix(): boolean {
    return this.options.path !== undefined;
  }

  /** It is closed, and so is every connection. */
  get isDone(): boolean {
    return this.listener.isDone && this.connections.size === 0;
  }

  get descriptor(): number | undefined {
    return this.listener.descriptor;
  }

  get handle(): unknown {
    return this.listener.handle;
  }

  leaveFile(): void {
    this.listener.leaveFile();
  }

  /** Opens the socket. See {@link Listener.open}. */
  open(shared: boolean, descriptor?: number): Promise<void> {
    return this.listener.open(shared, descriptor);
  }

  drain(waitsForIdle?: boolean): Promise<void> {
    return this.listener.drain(waitsForIdle);
  }

  /** Ends everything at once. */
  destroy(): void {
    this.listener.destroy();
    for (const connection of this.connections) connection.socket.destroy();
  }

  take(connection: AcceptedConnection, rest: Buffer | undefined, hasEnded: boolean): void {
    this.listener.take(connection, rest, hasEnded);
  }

  admit(socket: Connection): boolean {
    const { admission } = this.#context;
    const isAdmitted = admission.admit(socket);
    admission.watch.came(this.options.address, socket, isAdmitted);
    return isAdmitted;
  }

  onPreludeFailed(): void {
    this.#context.figures.countClosed();
  }

  abstract serve(connection: AcceptedConnection): ConnectionUser;
}
