import type { BusEndpoint } from '../api/bus-endpoint.js';
import type { EventRecord } from '../api/event-record.js';
import type { Action, ActionModule, ActionServer, ChangeOutcomes, Transact } from '../api/action-server.js';
import { ActionLimit } from '../kernel/action-limit.js';
import type { Instance } from '../kernel/instance.js';
import type { RunningModule } from '../kernel/running-module.js';
import type { RunningModules } from '../kernel/running-modules.js';
import type { Log } from '../contract/log.js';
import { Transactions } from '../contract/transactions.js';
import type { Setting } from '../contract/setting.js';
import { StreamServers } from '../contract/stream-servers.js';
import { VirtualServers } from '../contract/virtual-servers.js';

interface Bus {
  readonly endpoint: BusEndpoint;
  readonly server: ActionServer;
  readonly actionsOf: (settings: Iterable<Setting>) => Iterable<readonly [name: string, action: Action]>;
}

/** The data plane's side of the bus: the actions of its modules, for the processes of the control plane. */
export class ControlLink {
  readonly #limit: ActionLimit;
  #bus: Promise<Bus> | undefined;

  constructor(
    private readonly log: Log,
    private readonly events: EventRecord,
    private readonly transact: Transact,
    private readonly outcomes: ChangeOutcomes,
    private readonly instance: Pick<Instance, 'services' | 'modules' | 'guard'>,
  ) {
    this.#limit = new ActionLimit(instance.guard);
  }

  /**
   * Opens the bus, if it is not open yet, and makes the actions of these modules callable.
   * @param folder for credentials and socket: private to this user
   * @returns the file that a helper finds the bus by, and the socket of the broker
   */
  async open(folder: string, modules: RunningModules): Promise<Pick<BusEndpoint, 'file' | 'socket'>> {
    // A reload may ask for it while the start still opens it: a second one would have other credentials.
    this.#bus ??= this.#create(folder);
    const { endpoint, server, actionsOf } = await this.#bus.catch((error: unknown) => {
      this.#bus = undefined;
      throw error;
    });
    server.serve(
      Array.from(modules, (module) => ({ ...this.#served(module), more: actionsOf(module.declaration.manifest.settings ?? []) })),
    );
    return endpoint;
  }

  /** Carries out no more calls. */
  async disconnect(): Promise<void> {
    const bus = await this.#bus?.catch(() => undefined);
    await bus?.server.stop();
  }

  /** To be called when the helpers have ended: one that starts reads the file of the bus. */
  async close(): Promise<void> {
    const closing = this.#bus;
    // Removed once: later there may be those of a program that has taken the place of this one.
    this.#bus = undefined;
    const bus = await closing?.catch(() => undefined);
    await bus?.server.stop();
    bus?.endpoint.remove();
  }

  #served({ name, instance, isShipped, limited }: RunningModule): ActionModule {
    return isShipped ? { name, instance } : { name, instance, call: (action, context) => this.#limit.call(action, context, limited) };
  }

  async #create(folder: string): Promise<Bus> {
    // Only a server with helpers needs any of this.
    const [{ createBusEndpoint }, { keepPoolSmall }, { BusClient }, { ActionServer }, { settingActions }, { SettingsInForce }] =
      await Promise.all([
        import('../api/bus-endpoint.js'),
        import('../api/small-pool.js'),
        import('../api/bus.js'),
        import('../api/action-server.js'),
        import('../api/settings/setting-actions.js'),
        import('../api/settings/settings-in-force.js'),
      ]);
    const endpoint = createBusEndpoint(folder);
    keepPoolSmall();
    const client = new BusClient(endpoint, 'master', this.log);
    const server = new ActionServer(client, this.log, this.transact, this.outcomes);
    server.start(() => this.events.sendTo({ keep: (topic, text = '') => client.retain(topic, text) }));
    const { services } = this.instance;
    const inForce = new SettingsInForce({
      transactions: services.get(Transactions),
      servers: { http: services.get(VirtualServers), stream: services.get(StreamServers) },
      path: (path, under) => this.instance.modules.args.path(path, under),
    });
    return { endpoint, server, actionsOf: (settings) => settingActions(settings, inForce) };
  }
}
