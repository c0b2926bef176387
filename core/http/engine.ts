import type { MetricKinds } from '../contract/metrics.js';
import { ErrorCollector } from '../config/error-collector.js';
import { folderInput, UnitRecorder, upstreamInput, type Holdings } from '../config/holdings.js';
import type { InputFiles } from '../config/input-files.js';
import type { Change } from '../config/change.js';
import { SharedResolvers } from '../net/dns/shared-resolvers.js';
import type { ListenerRole } from '../net/listener-set.js';
import { ServerFollower } from '../net/server-follower.js';
import { assertEventMethod } from './event-method-check.js';
import { HttpListener } from './listen/http-listener.js';
import type { HttpContext } from './request/context.js';
import { CheckedModule } from './site/checked-module.js';
import { holdingsOf, type Compiled, type HttpConfiguration } from './site/compiler.js';
import { HttpCompiler } from './site/http-compiler.js';
import type { Product } from './site/settings.js';
import { checkTemporaryFolder, makeTemporaryFolder } from './site/temporary-path.js';
import type { HttpListenGroup, VirtualServer } from './site/virtual-server.js';
import type { HttpExchanges } from './member/http-exchanges.js';

export interface EngineOptions extends ListenerRole {
  readonly product: Product;
  readonly metrics: Pick<MetricKinds, 'counter'>;
}

/** The HTTP engine of one thread: follows the `http` block of the tree. */
export class HttpEngine extends ServerFollower<VirtualServer, HttpListener, HttpConfiguration, HttpCompiler> {
  readonly #recorder: UnitRecorder;
  #temporaryFolders = NO_FOLDERS;

  constructor(
    private readonly exchanges: HttpExchanges,
    private readonly context: HttpContext,
    files: InputFiles,
    private readonly options: EngineOptions,
  ) {
    const recorder = new UnitRecorder(files, context.log, options.metrics);
    super({ engine: 'http', recorder, generations: context.generations, files, options, apart: context.ownRequests });
    this.#recorder = recorder;
    context.listeners.add(this.listeners);
    exchanges.onUse = (name) => recorder.use(upstreamInput(name));
    exchanges.onFolder = (path) => recorder.use(folderInput(path));
  }

  /** Folders it writes temporary files into. */
  get temporaryFolders(): ReadonlySet<string> {
    return this.#temporaryFolders;
  }

  protected makeCompiler(modules: Change['modules']): HttpCompiler {
    const http = Array.from(modules).filter(({ declaration }) => declaration.kind !== 'stream');
    const checked = http.map((module) => new CheckedModule(module, this.context.log));
    const { dialer, log } = this.context;
    const resolvers = new SharedResolvers(dialer, log, this.options.metrics);
    return new HttpCompiler(checked, modules.args, this.options.product, this.#recorder, resolvers, this.options.role !== 'worker');
  }

  protected compile(compiler: HttpCompiler, change: Change, previous: HttpConfiguration | undefined, again: ReadonlySet<number>): Compiled {
    return compiler.compile(change, previous, again);
  }

  protected settle(errors: ErrorCollector): Promise<void> {
    return this.exchanges.settle(errors);
  }

  protected isChanging(upstream: string): boolean {
    return this.exchanges.isChanging(upstream);
  }

  protected makeListener({ options, names }: HttpListenGroup, { variables }: Change['modules']): HttpListener {
    return new HttpListener(options, this.context, variables.http, names);
  }

  protected renew(listener: HttpListener, { options, names }: HttpListenGroup, { variables }: Change['modules']): void {
    listener.use(options, names, variables.http);
  }

  protected held(configuration: HttpConfiguration | undefined): Iterable<Holdings> {
    return holdingsOf(configuration);
  }

  protected check(change: Change, compiler: HttpCompiler, { users }: HttpConfiguration): () => void {
    const { rereads, events } = change;
    const { transports } = this.context;
    const isWorker = this.options.role === 'worker';
    if (!isWorker) assertEventMethod(change);
    // Listening sockets are opened before the change takes effect.
    if (isWorker) transports.choose(events.use, events.io_uring);
    const folders = this.exchanges.inUse
      ? this.#toMake(new Set([...compiler.takeTemporaryFolders(), ...this.exchanges.takeTemporaryFolders()]), rereads ? users : undefined)
      : NO_FOLDERS;
    this.#eachFolder(folders, checkTemporaryFolder);
    return () => {
      this.#makeFolders(folders);
      this.context.admission.limit = events.worker_connections;
      if (isWorker) transports.announce(events.use);
    };
  }

  /** Workers find them made. */
  #eachFolder(folders: Iterable<string>, step: (folder: string) => void): void {
    const { role } = this.options;
    if (role === 'worker' || role === 'explain') return;
    const errors = new ErrorCollector();
    for (const folder of folders) errors.attempt(() => step(folder));
    errors.throwIfAny();
  }

  /** Folders that are not known yet; on a reload also folders in use, which may have been removed. */
  #toMake(folders: ReadonlySet<string>, users: HttpConfiguration['users'] | undefined): ReadonlySet<string> {
    const known = this.#temporaryFolders;
    const used = users === undefined ? [] : [...known].filter((folder) => users.get(folderInput(folder)) !== undefined);
    return new Set([...used, ...[...folders].filter((folder) => !known.has(folder))]);
  }

  #makeFolders(folders: ReadonlySet<string>): void {
    this.#temporaryFolders = new Set([...this.#temporaryFolders, ...folders]);
    try {
      this.#eachFolder(folders, makeTemporaryFolder);
    } catch (error) {
      this.context.log.write('alert', (error as Error).message);
    }
  }
}

const NO_FOLDERS: ReadonlySet<string> = new Set();
