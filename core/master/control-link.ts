import type { BusEndpoint } from '../control/bus-endpoint.js';
import type { EventRecord } from '../control/event-record.js';
import type { ActionServer, Transact } from '../control/action-server.js';
import type { RunningModules } from '../kernel/running-modules.js';
import type { Log } from '../module/services.js';

interface Bus {
  readonly endpoint: BusEndpoint;
  readonly server: ActionServer;
}

/** The data plane's side of the bus: the actions of its modules, for the processes of the control plane. */
export class ControlLink {
  #bus: Promise<Bus> | undefined;

  constructor(
    private readonly log: Log,
    private readonly events: EventRecord,
    private readonly transact: Transact,
  ) {}

  /**
   * Opens the bus, if it is not open yet, and makes the actions of these modules callable.
   * @param folder for credentials and socket: private to this user
   * @returns the file that a helper finds the bus by
   */
  async open(folder: string, modules: RunningModules): Promise<string> {
    // A reload may ask for it while the start still opens it: a second one would have other credentials.
    this.#bus ??= this.#create(folder);
    const { endpoint, server } = await this.#bus.catch((error: unknown) => {
      this.#bus = undefined;
      throw error;
    });
    server.serve(Array.from(modules, ({ instance }) => instance));
    return endpoint.file;
  }

  async close(): Promise<void> {
    const bus = await this.#bus?.catch(() => undefined);
    await bus?.server.stop();
    bus?.endpoint.remove();
  }

  async #create(folder: string): Promise<Bus> {
    // Only a server with helpers needs any of this.
    const [{ createBusEndpoint }, { BusClient }, { ActionServer }] = await Promise.all([
      import('../control/bus-endpoint.js'),
      import('../control/bus.js'),
      import('../control/action-server.js'),
    ]);
    const endpoint = createBusEndpoint(folder);
    const client = new BusClient(endpoint, 'master', this.log);
    const server = new ActionServer(client, this.log, this.transact);
    server.start(() => this.events.sendTo({ keep: (topic, text = '') => client.retain(topic, text) }));
    return { endpoint, server };
  }
}
