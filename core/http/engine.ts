import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { ErrorCollector } from '../config/error-collector.js';
import type { InputFiles } from '../config/input-files.js';
import { systemErrorText } from '../module/system-error.js';
import type { Change, Follower, Prepared } from '../kernel/follower.js';
import type { Resource } from '../module/resource.js';
import { bindCheck, bindProbe } from '../net/bind-probe.js';
import { ListenError } from '../net/listen-error.js';
import { HttpListener } from './listen/http-listener.js';
import { changedGroups, listenGroups, NO_GROUPS, type ChangedGroups, type ListenGroups } from './listen/listen-groups.js';
import type { HttpContext } from './request/context.js';
import { CheckedModule } from './site/checked-module.js';
import { holdingsOf, serverIds, type Compiled, type HttpConfiguration } from './site/compiler.js';
import { HttpCompiler } from './site/http-compiler.js';
import type { Product } from './site/settings.js';
import { checkTemporaryFolder, makeTemporaryFolder } from './site/temporary-path.js';
import { touchesHttp } from './site/touched.js';
import { fileInput, folderInput, pathOfInput, UnitRecorder, upstreamInput, upstreamOfInput } from '../config/holdings.js';
import type { HttpVariables } from './site/variables.js';
import type { HttpExchanges } from './upstream/exchange-route.js';

/**
 * Opening sockets is a worker's job; the master tries whether it can be done; a check (`srv -t`) only reads; to explain requests (`srv explain`)
 * the addresses do not matter.
 */
export type EngineRole = 'master' | 'worker' | 'control' | 'check' | 'explain';

export interface EngineOptions {
  readonly role: EngineRole;
  /** Unix sockets can be bound by one thread only: the first worker. */
  readonly servesUnixSockets: boolean;
  readonly product: Product;
}

/** The HTTP engine of one thread: follows the `http` block of the tree, owns the listeners. */
export class HttpEngine implements Follower {
  readonly #listeners = new Map<string, HttpListener>();
  /** Not in the configuration any more, but connections are still open. */
  readonly #retired = new Set<HttpListener>();
  /** It may have sockets: a worker from {@link open} to {@link quit}, others all the time. */
  #opens: boolean;
  #modules: Change['modules'] | undefined;
  #compiler: HttpCompiler | undefined;
  #configuration: HttpConfiguration | undefined;
  #groups = NO_GROUPS;
  #temporaryFolders = NO_FOLDERS;
  readonly #recorder: UnitRecorder;

  constructor(
    private readonly exchanges: HttpExchanges,
    private readonly context: HttpContext,
    private readonly files: InputFiles,
    private readonly options: EngineOptions,
  ) {
    this.#opens = options.role !== 'worker' && options.role !== 'explain';
    this.#recorder = new UnitRecorder(files, context.log);
    exchanges.onUse = (name) => this.#recorder.use(upstreamInput(name));
    exchanges.onFolder = (path) => this.#recorder.use(folderInput(path));
  }

  /** What requests are served by. */
  get configuration(): HttpConfiguration | undefined {
    return this.#configuration;
  }

  /** Its servers by address. */
  get groups(): ListenGroups {
    return this.#groups;
  }

  /** Addresses that are open, as `listen` names them. */
  get addresses(): string[] {
    return Array.from(this.#listeners.values(), (listener) => listener.address);
  }

  /** Folders it writes temporary files into. */
  get temporaryFolders(): ReadonlySet<string> {
    return this.#temporaryFolders;
  }

  async prepare(change: Change): Promise<Prepared> {
    const { modules, events } = change;
    const previous = modules === this.#modules ? this.#configuration : undefined;
    const concerned = this.#concerned(change, previous);
    if (previous !== undefined && !change.rereads && concerned.size === 0 && !touchesHttp(change)) return NOTHING_TO_DO;
    const compiler = modules === this.#modules && this.#compiler ? this.#compiler : this.#newCompiler(modules);
    this.#recorder.warn = change.warn;
    try {
      const compiled = await this.#compile(() => compiler.compile(change, previous, concerned));
      const { groups, addresses } = this.#groupsOf(compiled, change);
      this.#warnOfConflicts(groups, addresses, change.warn);
      const users = change.rereads ? compiled.configuration.users : undefined;
      const folders = this.exchanges.inUse
        ? this.#toMake(new Set([...compiler.takeTemporaryFolders(), ...this.exchanges.takeTemporaryFolders()]), users)
        : NO_FOLDERS;
      this.#eachFolder(folders, checkTemporaryFolder);
      const opened = await this.#open(groups, addresses, modules.variables);
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
          this.#serve(groups, addresses, opened, modules.variables);
          if (change.rereads) this.files.retain((path) => compiled.configuration.users.get(fileInput(path)) !== undefined);
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
    this.#opens = true;
    if (this.#modules === undefined) return;
    const addresses = Array.from(this.#groups, ([address]) => address);
    const opened = await this.#open(this.#groups, addresses, this.#modules.variables);
    for (const [key, listener] of opened) this.#listeners.set(key, listener);
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
    const inputs = this.#changedUpstreams(change, previous);
    if (change.rereads) {
      const paths = Array.from(previous.users, ([input]) => pathOfInput(input)).filter((path) => path !== undefined);
      inputs.push(...this.files.changed(paths).map(fileInput));
    }
    const ids = new Set<number>();
    for (const input of inputs) for (const id of previous.users.get(input)?.keys() ?? []) ids.add(id);
    return ids;
  }

  #changedUpstreams(change: Change, { users }: HttpConfiguration): string[] {
    const names = upstreamNames(change);
    const used = names === undefined ? Array.from(users, ([input]) => input) : Array.from(names, upstreamInput);
    return used.filter((input) => {
      const name = upstreamOfInput(input);
      return name !== undefined && users.get(input) !== undefined && this.exchanges.isChanging(name);
    });
  }

  #groupsOf(compiled: Compiled, { after }: Change): ChangedGroups {
    if (compiled.all !== undefined) {
      const groups = listenGroups(compiled.all);
      const addresses = new Set([...this.#groups, ...groups].map(([address]) => address));
      return { groups, addresses };
    }
    let places: ReadonlyMap<number, number> | undefined;
    return changedGroups(this.#groups, compiled.changes, ({ directive }) => {
      places ??= new Map(serverIds(after).map((id, at) => [id, at]));
      return places.get(directive.id) ?? 0;
    });
  }

  #warnOfConflicts(groups: ListenGroups, addresses: Iterable<string>, warn: Change['warn']): void {
    for (const address of addresses) {
      const names = groups.get(address)?.names;
      if (names !== this.#groups.get(address)?.names)
        for (const name of names?.conflicts ?? []) warn(`conflicting server name "${name}" on ${address}, ignored`);
    }
  }

  cutOff(time: number): void {
    for (const listener of this.#all()) listener.cutOff(time);
  }

  /** Accepts nothing more and lets requests end. Resolves when no connection is left, or after `timeout` ms. */
  async quit(timeout: number | undefined): Promise<void> {
    this.#opens = false;
    const until = timeout === undefined ? Infinity : Date.now() + timeout;
    const closing = Promise.all([...this.#listeners.values()].map((listener) => listener.drain()));
    await Promise.race([closing, timeout === undefined ? closing : sleep(timeout)]);
    while (this.#connections() > 0 && Date.now() < until) await sleep(20);
    await this.#cutOffAll();
    this.stop();
  }

  /** Closes everything at once. */
  stop(): void {
    for (const listener of this.#all()) listener.destroy();
    this.#listeners.clear();
    this.#retired.clear();
    const inForce = [...holdingsOf(this.#configuration)];
    const held = inForce.flatMap(({ resources }) => resources);
    if (this.options.role === 'explain') abortAll(held);
    else this.context.generations.stop(held);
    this.#configuration = undefined;
  }

  #newCompiler(modules: Change['modules']): HttpCompiler {
    const checked = Array.from(modules, (module) => new CheckedModule(module, this.context.log));
    return new HttpCompiler(checked, modules.args, this.options.product, this.#recorder, this.options.role !== 'worker');
  }

  /** Closes what is open, and waits until what its requests have in hand is released and logged. */
  async #cutOffAll(): Promise<void> {
    for (const listener of this.#all()) listener.destroy();
    const until = Date.now() + CUT_OFF_MS;
    while (this.#connections() > 0 && Date.now() < until) await immediate();
  }

  #connections(): number {
    let count = 0;
    for (const listener of this.#all()) count += listener.connections.size;
    return count;
  }

  #all(): readonly HttpListener[] {
    return [...this.#listeners.values(), ...this.#retired];
  }

  /** Opens what is not open yet. On failure nothing of it stays open. */
  async #open(groups: ListenGroups, addresses: Iterable<string>, variables: HttpVariables): Promise<Map<string, HttpListener>> {
    const opened = new Map<string, HttpListener>();
    const errors = new ErrorCollector();
    try {
      for (const address of addresses) {
        const group = groups.get(address);
        if (!this.#opens || group === undefined || this.#listeners.has(group.key)) continue;
        const listener = new HttpListener(group.options, this.context, variables, group.names);
        const before = this.#groups.get(address);
        try {
          await this.#bind(listener, before !== undefined && this.#listeners.has(before.key));
          opened.set(group.key, listener);
        } catch (error) {
          errors.add(bindError(listener, error as NodeJS.ErrnoException));
        }
      }
      errors.throwIfAny();
      return opened;
    } catch (error) {
      for (const listener of opened.values()) listener.destroy();
      throw error;
    }
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

  async #bind(listener: HttpListener, held: boolean): Promise<void> {
    const { role, servesUnixSockets } = this.options;
    if (role === 'check') {
      if (!held) await bindCheck(listener.options);
      return;
    }
    // SO_REUSEPORT lets a second server bind unnoticed: the master asks for the address alone first.
    if (role === 'master') {
      if (!held) await bindProbe(listener.options);
    } else if (!listener.isUnix) await listener.open(role === 'worker');
    else if (servesUnixSockets) {
      // Nobody has looked at the address for the process of the control plane: a killed one leaves its file.
      if (role === 'control' && !held) await bindProbe(listener.options);
      await listener.open(false);
    }
  }

  #serve(groups: ListenGroups, addresses: Iterable<string>, opened: Map<string, HttpListener>, variables: HttpVariables): void {
    for (const address of addresses) {
      const [before, after] = [this.#groups.get(address), groups.get(address)];
      const old = before && this.#listeners.get(before.key);
      if (old !== undefined && before?.key !== after?.key) {
        this.#listeners.delete(before?.key ?? '');
        void this.#retire(old);
      }
      if (after !== undefined) this.#listeners.get(after.key)?.use(after.options, after.names, variables);
    }
    this.#groups = groups;
    for (const [key, listener] of opened) {
      this.#listeners.set(key, listener);
      // It was told to end while this change was on its way.
      if (!this.#opens) void listener.drain();
    }
  }

  async #retire(listener: HttpListener): Promise<void> {
    for (const old of this.#retired) if (old.isDone) this.#retired.delete(old);
    this.#retired.add(listener);
    await listener.drain();
  }
}

/** Longest time that sockets which are closed may take to say so, in milliseconds. */
const CUT_OFF_MS = 1000;
const NO_IDS: ReadonlySet<number> = new Set();
const NO_FOLDERS: ReadonlySet<string> = new Set();
const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };

function abortAll(resources: readonly Resource[]): void {
  for (const resource of resources.toReversed()) resource.abort?.();
}

/** Names of the upstreams that a change concerns; undefined: it may be any. */
function upstreamNames({ before, after, operations }: Change): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  for (const operation of operations) {
    if (operation.op === 'root') return undefined;
    const id = operation.op === 'add' || operation.op === 'replace' ? operation.directive.id : operation.id;
    for (const tree of [before, after]) {
      const path = tree.pathOf(id);
      if (path[0]?.name === 'http' && path.length === 1) return undefined;
      if (path[0]?.name === 'http' && path[1]?.name === 'upstream') names.add(path[1].args[0]?.text ?? '');
    }
  }
  return names;
}

const HINTS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program listens there: stop it, or change the port of "listen"',
  EACCES: 'ports below 1024 need root: change the port, or start as root',
  EADDRNOTAVAIL: 'this machine has no such address',
};

function bindError(listener: HttpListener, error: NodeJS.ErrnoException): Error {
  if (error.code === undefined) return error;
  return new ListenError(`bind() to ${listener.address} failed (${systemErrorText(error)})`, undefined, 1, HINTS[error.code]);
}
