import type { ListenOptions } from '../../net/listen-options.js';
import type { EngineListener } from '../../net/listener-set.js';
import type { UdpFlow } from '../../net/udp/udp-flow.js';
import { UdpListener, type DatagramServer } from '../../net/udp/udp-listener.js';
import { UdpClient } from '../client/udp-client.js';
import { phaseRunner } from '../phases/phase-runner.js';
import type { SessionListener } from '../session/client-end.js';
import type { StreamContext } from '../session/context.js';
import { Session } from '../session/session.js';
import type { StreamServerNames } from '../site/server.js';
import type { StreamVariables } from '../site/variables.js';

/** One listening address of the stream engine that receives datagrams: its servers, and the sessions of its clients. */
export class UdpStreamListener implements DatagramServer, EngineListener, SessionListener {
  readonly connections = new Set<UdpClient>();
  readonly isUnix = false;
  readonly serverAddress: string;
  readonly #listener: UdpListener;

  constructor(
    public options: ListenOptions,
    private readonly context: StreamContext,
    public variables: StreamVariables,
    public names: StreamServerNames,
  ) {
    this.serverAddress = options.address.replace(/ udp$/, '');
    this.#listener = new UdpListener(options, context, this);
  }

  get isDone(): boolean {
    return !this.#listener.isOpen && this.connections.size === 0;
  }

  get descriptor(): number | undefined {
    return this.#listener.descriptor;
  }

  moveFlows(): void {
    this.#listener.moveFlows();
  }

  async open(shared: boolean, descriptor?: number): Promise<void> {
    this.#listener.open(shared, descriptor);
  }

  /** From now on sessions begin in these servers. Sessions that have begun go on unchanged. */
  use(options: ListenOptions, names: StreamServerNames, variables: StreamVariables): void {
    this.options = options;
    this.names = names;
    this.variables = variables;
  }

  drain(): Promise<void> {
    return this.#listener.drain();
  }

  cutOff(time: number): number {
    const old = [...this.connections].filter(({ startTime }) => startTime < time);
    for (const client of old) client.cutOff();
    return old.length;
  }

  destroy(): void {
    this.#listener.close();
    for (const client of this.connections) client.cutOff();
  }

  admitFlow(): boolean {
    const { admission } = this.context;
    const isAdmitted = admission.admitSession();
    if (!isAdmitted) admission.watch.rejected(this.options.address);
    return isAdmitted;
  }

  serveFlow(flow: UdpFlow, first: Buffer): void {
    const { context } = this;
    const client = new UdpClient(context.nextConnectionId(), this, context, flow);
    const session = new Session(context, this, client, phaseRunner);
    const { watch } = context.admission;
    if (watch.isWatched) {
      watch.accepted(this.options.address);
      session.atEnd(() => watch.closed(this.options.address));
    }
    client.start(session, first);
  }
}
