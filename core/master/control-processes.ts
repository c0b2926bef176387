import type { Transact } from '../api/action-server.js';
import type { EventRecord } from '../api/event-record.js';
import type { HelperStart } from '../helper/helper-start.js';
import { helperFile } from '../kernel/helper-file.js';
import { isShippedHelper } from '../kernel/helper-module.js';
import type { Instance } from '../kernel/instance.js';
import type { ControlListeners } from '../net/control-listeners.js';
import { ControlLink } from './control-link.js';
import type { NodeCluster } from './node-cluster.js';
import { HelperSet } from './helper-set.js';
import type { MasterOptions } from './master-options.js';
import type { Takeover } from './takeover.js';

export interface ControlSurroundings {
  readonly options: Pick<MasterOptions, 'prefix' | 'errorLog' | 'installation' | 'log' | 'parent'>;
  readonly instance: Instance;
  readonly events: EventRecord;
  readonly transact: Transact;
  readonly cluster: NodeCluster;
  /** Where the control plane listens, for all threads. */
  readonly listeners: ControlListeners;
  readonly takeover: Takeover | undefined;
}

/** The helper processes of a server and the bus between them and the main thread. */
export class ControlProcesses {
  readonly helpers: HelperSet;
  readonly #link: ControlLink;
  /** Path of the socket of the broker. */
  #busSocket: string | undefined;

  constructor(private readonly surroundings: ControlSurroundings) {
    const { options, instance, events, transact, cluster } = surroundings;
    this.helpers = new HelperSet(options.log, events, () => this.#listens(), options.parent);
    this.#link = new ControlLink(options.log, events, transact, cluster, instance);
  }

  /** Starts, ends and keeps the processes of the current configuration. */
  async follow(): Promise<void> {
    const { instance, takeover, options } = this.surroundings;
    const { prefix, errorLog, installation } = options;
    const { main } = instance.settings;
    const lines = main.helper.map((line) => ({ ...line, conf: helperFile(line.conf, { prefix, installation }) }));
    const bus = lines.length === 0 ? undefined : await this.#link.open(main.data_folder, instance.modules);
    this.#busSocket = bus?.socket;
    this.guard();
    const wanted = lines.map(({ kind, module, conf }): HelperStart => {
      const isShipped = isShippedHelper(module, prefix, installation);
      return { kind, module, isShipped, conf, prefix, errorLog, bus: bus?.file ?? '' };
    });
    this.helpers.follow(wanted, (helper) => takeover?.sockets.takeOf(helper) ?? []);
    takeover?.sockets.closeRestOfHelpers();
    void this.helpers.firstStarts().then(() => this.#releaseRest());
  }

  /** From now on no connection to a member leads to the control plane. */
  guard(): void {
    const { instance, listeners, takeover } = this.surroundings;
    const bus = this.#busSocket === undefined ? [] : [{ host: 'unix:', port: 0, path: this.#busSocket, ipv6Only: true }];
    const { api_from_data_plane: isAllowed } = instance.settings.main;
    listeners.publish(isAllowed ? [] : [...this.helpers.listeners, ...(takeover?.control ?? []), ...bus]);
  }

  /** Ends at once. */
  async stop(): Promise<void> {
    await this.#link.disconnect();
    await this.helpers.stop();
    await this.#link.close();
  }

  /** Ends when the calls that are in progress have their responses. */
  async quit(): Promise<void> {
    await this.helpers.quit();
    await this.#link.close();
  }

  /** Its processes say themselves where they listen. */
  #listens(): void {
    const { takeover } = this.surroundings;
    if (takeover !== undefined) takeover.control = [];
    this.guard();
  }

  /** Everybody has the sockets that are needed. */
  async #releaseRest(): Promise<void> {
    const { parent, log } = this.surroundings.options;
    for (const { level, text } of (await parent?.releaseRest()) ?? []) log.write(level, text);
  }
}
