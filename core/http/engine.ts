import { ErrorCollector } from '../config/error-collector.js';
import type { InputFiles } from '../config/input-files.js';
import { concernedUsers } from '../config/input-users.js';
import { serverPlaces } from '../config/server-places.js';
import type { Change, Follower, Prepared } from '../kernel/follower.js';
import type { Resource } from '../module/resource.js';
import { ListenerSet, type ListenerRole } from '../net/listener-set.js';
import { HttpListener } from './listen/http-listener.js';
import type { HttpContext } from './request/context.js';
import { CheckedModule } from './site/checked-module.js';
import { holdingsOf, type Compiled, type HttpConfiguration } from './site/compiler.js';
import { HttpCompiler } from './site/http-compiler.js';
import type { Product } from './site/settings.js';
import { checkTemporaryFolder, makeTemporaryFolder } from './site/temporary-path.js';
import { touchesEngine } from '../config/touched-blocks.js';
import { folderInput, UnitRecorder, upstreamInput } from '../config/holdings.js';
import type { HttpListenGroup, HttpListenGroups, VirtualServer } from './site/virtual-server.js';
import type { HttpExchanges } from './upstream/exchange-route.js';

export interface EngineOptions extends ListenerRole {
  readonly product: Product;
}

/** The HTTP engine of one thread: follows the `http` block of the tree, owns the listeners. */
export class HttpEngine implements Follower {
  readonly #listeners: ListenerSet<VirtualServer, HttpListener>;
  #modules: Change['modules'] | undefined;
  #compiler: HttpCompiler | undefined;
  #configuration: HttpConfiguration | undefined;
  #temporaryFolders = NO_FOLDERS;
  readonly #recorder: UnitRecorder;

  constructor(
    private readonly exchanges: HttpExchanges,
    private readonly context: HttpContext,
    private readonly files: InputFiles,
    private readonly options: EngineOptions,
  ) {
    this.#listeners = new ListenerSet(options);
    context.listeners.add(this.#listeners);
    this.#recorder = new UnitRecorder(files, context.log);
    exchanges.onUse = (name) => this.#recorder.use(upstreamInput(name));
    exchanges.onFolder = (path) => this.#recorder.use(folderInput(path));
  }

  /** What requests are served by. */
  get configuration(): HttpConfiguration | undefined {
    return this.#configuration;
  }

  /** Its servers by address. */
  get groups(): HttpListenGroups {
    return this.#listeners.groups;
  }

  /** Addresses that are open, as `listen` names them. */
  get addresses(): string[] {
    return this.#listeners.addresses;
  }

  /** Folders it writes temporary files into. */
  get temporaryFolders(): ReadonlySet<string> {
    return this.#temporaryFolders;
  }

  async prepare(change: Change): Promise<Prepared> {
    const { modules, events } = change;
    const previous = modules === this.#modules ? this.#configuration : undefined;
    const concerned = this.#concerned(change, previous);
    if (previous !== undefined && !change.rereads && concerned.size === 0 && !touchesEngine('http', change)) return NOTHING_TO_DO;
    const compiler = modules === this.#modules && this.#compiler ? this.#compiler : this.#newCompiler(modules);
    this.#recorder.warn = change.warn;
    try {
      const compiled = await this.#compile(() => compiler.compile(change, previous, concerned));
      const changed = this.#listeners.after(compiled, serverPlaces(change.after, 'http'));
      this.#listeners.warnOfConflicts(changed, change.warn);
      const users = change.rereads ? compiled.configuration.users : undefined;
      const folders = this.exchanges.inUse
        ? this.#toMake(new Set([...compiler.takeTemporaryFolders(), ...this.exchanges.takeTemporaryFolders()]), users)
        : NO_FOLDERS;
      this.#eachFolder(folders, checkTemporaryFolder);
      const opened = await this.#listeners.open(changed, this.#maker(modules));
      const resources = this.#recorder.takeOpened();
      return {
        commit: () => {
          const retired = previous === undefined ? [...holdingsOf(this.#configuration)] : compiled.retired;
          this.#modules = modules;
          this.#compiler = compiler;
          this.#makeFolders(folders);
          this.context.admission.limit = events.worker_connections;
          // What modules have opened takes no effect where nobody is served.
          if (this.options.role !== 'explain')
            this.context.generations.begin(
              resources,
              retired.flatMap((holdings) => holdings.resources),
            );
          this.#configuration = compiled.configuration;
          this.#listeners.commit(changed, opened, (listener, { options, names }) => listener.use(options, names, modules.variables.http));
        },
        abort: () => {
          for (const listener of opened.values()) listener.destroy();
          abortAll(resources);
        },
      };
    } catch (error) {
      abortAll(this.#recorder.takeOpened());
      throw error;
    }
  }

  /** Opens the sockets of the configuration in force; from now on they follow it. @throws ConfigErrors with every one that cannot be opened */
  async open(): Promise<void> {
    if (this.#modules !== undefined) await this.#listeners.openAll(this.#maker(this.#modules));
  }

  /** Compiles, and waits for the names that have to be looked up. @throws ConfigErrors with what is wrong with either */
  async #compile(compile: () => Compiled): Promise<Compiled> {
    const errors = new ErrorCollector();
    let compiled: Compiled | undefined;
    try {
      compiled = errors.attempt(compile);
    } finally {
      await this.exchanges.settle(errors);
    }
    errors.throwIfAny();
    return compiled as Compiled;
  }

  /** Servers and locations that have to be compiled because something outside of their blocks is another now: a file, an upstream. */
  #concerned(change: Change, previous: HttpConfiguration | undefined): ReadonlySet<number> {
    if (previous === undefined) return NO_IDS;
    return concernedUsers(previous.users, change, 'http', this.files, (name) => this.exchanges.isChanging(name));
  }

  #maker({ variables }: Change['modules']): (group: HttpListenGroup) => HttpListener {
    return ({ options, names }) => new HttpListener(options, this.context, variables.http, names);
  }

  uses(input: string): boolean {
    return this.#configuration?.users.get(input) !== undefined;
  }

  cutOff(time: number): void {
    this.#listeners.cutOff(time);
  }

  /** Accepts nothing more and lets requests end. Resolves when no connection is left, or after `timeout` ms. */
  async quit(timeout: number | undefined): Promise<void> {
    await this.#listeners.quit(timeout);
    this.stop();
  }

  /** Closes everything at once. */
  stop(): void {
    this.#listeners.stop();
    const inForce = [...holdingsOf(this.#configuration)];
    const held = inForce.flatMap(({ resources }) => resources);
    if (this.options.role === 'explain') abortAll(held);
    else this.context.generations.stop(held);
    this.#configuration = undefined;
  }

  #newCompiler(modules: Change['modules']): HttpCompiler {
    const http = Array.from(modules).filter(({ declaration }) => declaration.kind !== 'stream');
    const checked = http.map((module) => new CheckedModule(module, this.context.log));
    return new HttpCompiler(checked, modules.args, this.options.product, this.#recorder, this.options.role !== 'worker');
  }

  /** Workers find them made. */
  #eachFolder(folders: Iterable<string>, step: (folder: string) => void): void {
    const { role } = this.options;
    if (role === 'worker' || role === 'explain') return;
    const errors = new ErrorCollector();
    for (const folder of folders) errors.attempt(() => step(folder));
    errors.throwIfAny();
  }

  /** Those that are not known yet; on a reload also those that are still used, which somebody may have removed. */
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

const NO_IDS: ReadonlySet<number> = new Set();
const NO_FOLDERS: ReadonlySet<string> = new Set();
const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };

function abortAll(resources: readonly Resource[]): void {
  for (const resource of resources.toReversed()) resource.abort?.();
}
