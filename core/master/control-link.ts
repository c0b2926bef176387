import type { BusEndpoint } from '../control/bus-endpoint.js';
import type { ActionServer } from '../control/action-server.js';
import type { RunningModules } from '../kernel/running-modules.js';
import type { Log } from '../module/services.js';

/** The data plane's side of the bus: the actions of its modules, for the processes of the control plane. */
export class ControlLink {
  #server: ActionServer | undefined;
  #endpoint: BusEndpoint | undefined;

  constructor(private readonly log: Log) {}

  /**
   * Opens the bus, if it is not open yet, and makes the actions of these modules callable.
   * @param folder for credentials and socket: private to this user
   * @returns the file that a helper finds the bus by
   */
  async open(folder: string, modules: RunningModules): Promise<string> {
    if (!this.#endpoint || !this.#server) {
      // Only a server with helpers needs any of this.
      const [{ createBusEndpoint }, { BusClient }, { ActionServer }] = await Promise.all([
        import('../control/bus-endpoint.js'),
        import('../control/bus.js'),
        import('../control/action-server.js'),
      ]);
      this.#endpoint = createBusEndpoint(folder);
      this.#server = new ActionServer(new BusClient(this.#endpoint, 'master', this.log), this.log);
      this.#server.start();
    }
    for (const { instance } of modules) this.#server.register(instance);
    return this.#endpoint.file;
  }

  async close(): Promise<void> {
    await this.#server?.stop();
    this.#endpoint?.remove();
  }
}
