import type { ExecutionContext } from 'ava';
import { diffTrees } from '../../core/config/diff.js';
import { parseText } from '../../core/config/parser.js';
import { ConfigTree, IdSource, type TreeOperation } from '../../core/config/tree.js';
import { FIGURES_SIZE } from '../../core/http/request/figures.js';
import type { HttpConfiguration } from '../../core/http/site/compiler.js';
import type { HttpEngine } from '../../core/http/engine.js';
import type { HttpServerNames } from '../../core/http/site/virtual-server.js';
import type { Location } from '../../core/http/site/location.js';
import type { LocationTable } from '../../core/http/site/location-table.js';
import type { StreamEngine } from '../../core/stream/engine.js';
import { assemble } from '../../core/kernel/assembly.js';
import { findInstallation } from '../../core/kernel/installation.js';
import { Instance } from '../../core/kernel/instance.js';
import { ErrorLog } from '../../core/log/error-log.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { ZoneSet } from '../../core/zone/zone-set.js';
import { tempFolder } from '../harness/temp.js';

/** What a configuration compiles to with all standard modules, in this thread and without sockets. */
export class Site {
  readonly instance: Instance;
  readonly #engine: Pick<HttpEngine, 'configuration' | 'groups'>;
  readonly #stream: Pick<StreamEngine, 'configuration'>;
  readonly #ids = new IdSource();

  constructor(t: ExecutionContext) {
    const files = new AppendedLogFiles();
    const prefix = tempFolder(t);
    const log = new ErrorLog(files, '1#0', [{ path: `${prefix}/log`, level: 'emerg' }]);
    this.instance = new Instance({
      role: 'worker',
      worker: 0,
      installation: findInstallation(),
      prefix,
      confFolder: prefix,
      log,
      validates: true,
    });
    const memory = { zones: new ZoneSet('private'), figures: new SharedArrayBuffer(FIGURES_SIZE), workers: 1 };
    const { engine, stream } = assemble(this.instance, { role: 'check', files, errorLog: `${prefix}/log`, ...memory });
    this.#engine = engine;
    this.#stream = stream;
    t.teardown(async () => {
      await this.instance.stop();
      files.close();
    });
  }

  get configuration(): HttpConfiguration {
    const { configuration } = this.#engine;
    if (configuration === undefined) throw new Error('no configuration is active');
    return configuration;
  }

  /** Puts another text in force, as a reload does: by the operations that lead to it. */
  async become(text: string): Promise<readonly TreeOperation[]> {
    const { directives, errors } = parseText(text, { ids: this.#ids, file: 'test.conf' });
    if (errors.length > 0) throw errors[0] ?? new Error('the text is broken');
    const tree = ConfigTree.fromData(directives);
    const { modules } = await this.instance.modulesFor(tree);
    const isFirst = this.instance.tree.root.size === 0;
    const operations: readonly TreeOperation[] = isFirst
      ? [{ op: 'root', block: tree.toData() }]
      : diffTrees(this.instance.tree, tree, modules.registry);
    const prepared = await this.instance.prepare(operations);
    prepared.commit();
    return operations;
  }

  /** The servers of an address by their names. */
  names(address: string): HttpServerNames | undefined {
    return this.#engine.groups.get(address)?.names;
  }

  /** Every server of either engine and every location, by the id of its directive. */
  objects(): Map<number, object> {
    const objects = new Map<number, object>();
    for (const server of this.configuration.servers.values()) {
      objects.set(server.directive.id, server);
      collect(server.locations, objects);
    }
    for (const server of this.#stream.configuration?.servers.values() ?? []) objects.set(server.directive.id, server);
    return objects;
  }
}

function collect(table: LocationTable, into: Map<number, object>): void {
  for (const location of table.all()) {
    into.set((location as Location & { directive: { id: number } }).directive.id, location);
    collect(location.nested, into);
  }
}
