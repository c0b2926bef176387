import { dirname } from 'node:path';
import { diffTrees } from '../config/diff.js';
import { IdSource, type TreeOperation } from '../config/tree.js';
import type { BusEndpoint } from '../api/bus-endpoint.js';
import { BusClient } from '../api/bus.js';
import { BusDataPlane } from '../api/data-plane.js';
import { GatheringDataPlane } from '../api/gathering-data-plane.js';
import { ControlRouter } from '../api/router.js';
import { FIGURES_SIZE } from '../http/request/figures.js';
import { assemble, type Assembly } from '../kernel/assembly.js';
import { checkConfiguration, type Configuration } from '../kernel/check-configuration.js';
import type { Installation } from '../kernel/installation.js';
import { Instance } from '../kernel/instance.js';
import type { ListenOptions } from '../net/listen-options.js';
import type { ErrorLog } from '../log/error-log.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { ApiRoutes } from '../contract/api-routes.js';
import { DataPlane } from '../contract/data-plane.js';
import { HelperHost } from '../contract/helper-host.js';
import { ZoneSet } from '../zone/zone-set.js';
import type { GrantedFiles } from '../config/granted-files.js';
import type { ListenAnnouncements } from './listen-announcements.js';
import type { SocketSource } from '../net/socket-source.js';
import type { HelperSocket, HelperStart } from './helper-start.js';

/** Milliseconds that calls may take which are under way when another program takes over. */
const QUIT_MS = 2000;

/** The server that started a helper, as the helper sees it. */
export interface HelperSurroundings {
  readonly announcements: ListenAnnouncements;
  /** Files that the helper may not read. */
  readonly granted: GrantedFiles;
  /** Undefined: it binds its sockets itself. */
  readonly sockets: SocketSource | undefined;
}

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
    private readonly around: HelperSurroundings & { readonly installation: Installation },
  ) {
    super();
    this.conf = options.conf;
  }

  /** Where it listens. */
  get addresses(): readonly string[] {
    return this.#assembly?.listens().map(({ address }) => address) ?? [];
  }

  /** Open sockets, with their handles in Node.js. */
  sockets(): readonly { readonly key: string; readonly handle: unknown }[] {
    return this.#assembly?.handles() ?? [];
  }

  async serve(): Promise<void> {
    const { prefix, conf, errorLog } = this.options;
    const { log, files } = this;
    const { installation } = this.around;
    this.#dataPlane = new BusDataPlane(new BusClient(this.bus, 'ctrl', log), log);
    const identity = { role: 'control', worker: -1, installation, prefix, confFolder: dirname(conf) } as const;
    const instance = new Instance({ ...identity, log, granted: this.around.granted, validates: true });
    this.#instance = instance;
    const dataPlane = new GatheringDataPlane(this.#dataPlane);
    instance.services.provide(DataPlane, dataPlane);
    const router = new ControlRouter(log, instance.options.installation.version, dataPlane);
    instance.services.provide(ApiRoutes, router);
    instance.follow({ prepare: ({ modules }) => router.prepare(modules) });
    const memory = { zones: new ZoneSet('private'), figures: new SharedArrayBuffer(FIGURES_SIZE), workers: 1 };
    const announce = (options: ListenOptions): Promise<void> => this.around.announcements.opening(options);
    const sockets = withInherited(this.options.sockets, this.around.sockets);
    this.#assembly = assemble(instance, { role: 'control', files, errorLog, ...memory, announce, sockets });
    const { tree } = await this.#read(instance);
    this.#dataPlane.start();
    // Before the sockets are open, which they are with the configuration.
    await instance.start();
    await this.#apply(instance, [{ op: 'root', block: tree.toData() }]);
  }

  /** @throws ConfigErrors; nothing has changed then */
  async reload(): Promise<void> {
    const instance = this.#instance;
    if (!instance) return;
    const { tree, modules } = await this.#read(instance);
    await this.#apply(instance, diffTrees(instance.tree, tree, modules.registry), true);
  }

  /** Accepts no more calls, and finishes those under way. */
  async quit(): Promise<void> {
    this.#assembly?.leaveFiles();
    await this.#instance?.quit({ timeoutMs: QUIT_MS, waitsForIdle: false });
  }

  async close(): Promise<void> {
    await this.#instance?.stop();
    await this.#dataPlane?.stop();
  }

  async #apply(instance: Instance, operations: readonly TreeOperation[], rereads = false): Promise<void> {
    try {
      const prepared = await instance.prepare(operations, { rereads, isChecked: true });
      prepared.commit();
      if (this.#dataPlane !== undefined) this.#dataPlane.limit = instance.settings.main.api_timeout;
    } finally {
      await this.around.announcements.settled(this.#assembly?.listens() ?? []);
    }
  }

  #read(instance: Instance): Promise<Configuration> {
    return checkConfiguration({ conf: this.conf, globals: undefined, granted: this.around.granted }, this.#ids, instance);
  }
}

/** Sockets of the program before, each for one listener; for others the source of this program. */
function withInherited(inherited: readonly HelperSocket[] = [], source: SocketSource | undefined): SocketSource | undefined {
  if (inherited.length === 0) return source;
  const byKey = new Map(inherited.map(({ key, descriptor }) => [key, descriptor]));
  return {
    open: async (request) => {
      const descriptor = byKey.get(request.key);
      byKey.delete(request.key);
      return descriptor ?? source?.open(request);
    },
  };
}
