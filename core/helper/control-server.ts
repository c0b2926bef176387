import { dirname } from 'node:path';
import { diffTrees } from '../config/diff.js';
import { IdSource, type TreeOperation } from '../config/tree.js';
import type { BusEndpoint } from '../control/bus-endpoint.js';
import { BusClient } from '../control/bus.js';
import { BusDataPlane } from '../control/data-plane.js';
import { GatheringDataPlane } from '../control/gathering-data-plane.js';
import { ControlRouter } from '../control/router.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { assemble, type Assembly } from '../kernel/assembly.js';
import { checkConfiguration, type Configuration } from '../kernel/check-configuration.js';
import { findInstallation } from '../kernel/installation.js';
import { Instance } from '../kernel/instance.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { ApiRoutes, DataPlane, HelperHost } from '../module/services.js';
import { ZoneSet } from '../zone/zone-set.js';
import type { HelperStart } from './helper-start.js';

/** The control plane: one instance in the main thread of a helper process, on the helper's own configuration. */
export class ControlServer extends HelperHost {
  readonly conf: string;
  readonly #ids = new IdSource();
  #instance: Instance | undefined;
  #assembly: Assembly | undefined;
  #dataPlane: BusDataPlane | undefined;

  constructor(
    private readonly options: HelperStart,
    private readonly bus: BusEndpoint,
    private readonly log: ErrorLog,
    private readonly files: AppendedLogFiles,
  ) {
    super();
    this.conf = options.conf;
  }

  /** Where it listens. */
  get addresses(): readonly string[] {
    return this.#assembly?.addresses() ?? [];
  }

  async serve(): Promise<void> {
    const { prefix, conf, errorLog } = this.options;
    const { log, files } = this;
    this.#dataPlane = new BusDataPlane(new BusClient(this.bus, 'ctrl', log), log);
    const identity = { role: 'control', worker: -1, installation: findInstallation(), prefix, confFolder: dirname(conf) } as const;
    const instance = new Instance({ ...identity, log, validates: true });
    this.#instance = instance;
    const dataPlane = new GatheringDataPlane(this.#dataPlane);
    instance.services.provide(DataPlane, dataPlane);
    const router = new ControlRouter(log, instance.options.installation.version, dataPlane);
    instance.services.provide(ApiRoutes, router);
    instance.follow({ prepare: ({ modules }) => router.prepare(modules) });
    const memory = { zones: new ZoneSet('private'), figures: new SharedArrayBuffer(FIGURES_SIZE), workers: 1 };
    this.#assembly = assemble(instance, { role: 'control', files, errorLog, ...memory });
    const { tree } = await this.#read(instance);
    this.#dataPlane.start();
    // Before the sockets are open, which they are with the configuration.
    await instance.start();
    await apply(instance, [{ op: 'root', block: tree.toData() }]);
  }

  /** @throws ConfigErrors; nothing has changed then */
  async reload(): Promise<void> {
    const instance = this.#instance;
    if (!instance) return;
    const { tree, modules } = await this.#read(instance);
    await apply(instance, diffTrees(instance.tree, tree, modules.registry), true);
  }

  async close(): Promise<void> {
    await this.#instance?.stop();
    await this.#dataPlane?.stop();
  }

  #read(instance: Instance): Promise<Configuration> {
    return checkConfiguration({ conf: this.conf, globals: undefined }, this.#ids, instance);
  }
}

async function apply(instance: Instance, operations: readonly TreeOperation[], rereads = false): Promise<void> {
  const prepared = await instance.prepare(operations, { rereads });
  prepared.commit();
}
