import { ErrorCollector } from '../config/error-collector.js';
import type { Generations } from '../config/generations.js';
import type { Holdings, UnitRecorder } from '../config/holdings.js';
import type { InputFiles } from '../config/input-files.js';
import { concernedUsers, type InputUsers } from '../config/input-users.js';
import { serverPlaces } from '../config/server-places.js';
import { touchesEngine } from '../config/touched-blocks.js';
import type { Change, Follower, GracefulEnd, Prepared } from '../config/change.js';
import type { Resource } from '../contract/resource.js';
import type { EngineName } from '../contract/spec.js';
import type { ListenGroup, ListenGroups, ListeningServer, ServerChange } from './listen-groups.js';
import type { ListenOptions } from './listen-options.js';
import { ListenerSet, type ApartWork, type EngineListener, type ListenerRole } from './listener-set.js';

/** Result of a change of the block of an engine. `C` is its configuration, `S` one of its servers. */
export interface CompiledServers<S, C> {
  readonly configuration: C;
  /** All servers in the order of the configuration, where they were all looked at. */
  readonly all: readonly S[] | undefined;
  /** Otherwise the servers that the change concerns, by their new state. */
  readonly changes: readonly ServerChange<S>[];
  /** Former resources that are not used any more. */
  readonly retired: readonly Resource[];
}

/** Surroundings of a follower. */
export interface FollowerParts {
  readonly engine: EngineName;
  readonly recorder: UnitRecorder;
  readonly generations: Generations;
  readonly files: InputFiles;
  readonly options: ListenerRole;
  /** See {@link ApartWork}. */
  readonly apart?: ApartWork;
}

/** A traffic engine of one thread: follows the servers in its block of the tree, owns the listeners. `K` compiles them for one set of modules. */
export abstract class ServerFollower<
  S extends ListeningServer,
  L extends EngineListener,
  C extends { readonly users: InputUsers },
  K,
> implements Follower {
  protected readonly listeners: ListenerSet<S, L>;
  #modules: Change['modules'] | undefined;
  #compiler: K | undefined;
  #configuration: C | undefined;

  constructor(private readonly parts: FollowerParts) {
    this.listeners = new ListenerSet(parts.options, parts.apart);
  }

  /** Current configuration of the engine; undefined: it serves no clients. */
  get configuration(): C | undefined {
    return this.#configuration;
  }

  /** Its servers by address. */
  get groups(): ListenGroups<S> {
    return this.listeners.groups;
  }

  /** Addresses that are open. */
  get listens(): ListenOptions[] {
    return this.listeners.listens;
  }

  /** See {@link ListenerSet.descriptors}. */
  get descriptors(): ListenerSet<S, L>['descriptors'] {
    return this.listeners.descriptors;
  }

  /** See {@link ListenerSet.handles}. */
  get handles(): ListenerSet<S, L>['handles'] {
    return this.listeners.handles;
  }

  /** See {@link ListenerSet.moveFlows}. */
  moveFlows(): void {
    this.listeners.moveFlows();
  }

  /** See {@link ListenerSet.leaveFiles}. */
  leaveFiles(): void {
    this.listeners.leaveFiles();
  }

  async prepare(change: Change): Promise<Prepared> {
    const { recorder, engine } = this.parts;
    const { modules } = change;
    const previous = modules === this.#modules ? this.#configuration : undefined;
    const concerned = this.#concerned(change, previous);
    if (previous !== undefined && !change.rereads && concerned.size === 0 && !touchesEngine(engine, change)) return NOTHING_TO_DO;
    const compiler = modules === this.#modules && this.#compiler !== undefined ? this.#compiler : this.makeCompiler(modules);
    recorder.warn = change.warn;
    try {
      const compiled = await this.#compile(() => this.compile(compiler, change, previous, concerned));
      const changed = this.listeners.after(compiled, serverPlaces(change.after, engine));
      this.listeners.warnOfConflicts(changed, change.warn);
      const comeIntoForce = this.check(change, compiler, compiled.configuration);
      const opened = await this.listeners.open(changed, (group) => this.makeListener(group, modules));
      const resources = recorder.takeOpened();
      return {
        commit: () => {
          const retired =
            previous === undefined ? [...this.held(this.#configuration)].flatMap(({ resources }) => resources) : compiled.retired;
          this.#modules = modules;
          this.#compiler = compiler;
          comeIntoForce();
          this.#begin(resources, retired);
          this.#configuration = compiled.configuration;
          this.listeners.commit(changed, opened, (listener, group) => this.renew(listener, group, modules));
        },
        abort: () => {
          this.listeners.abandon(opened);
          abortAll(resources);
        },
      };
    } catch (error) {
      abortAll(recorder.takeOpened());
      throw error;
    }
  }

  /** Opens the sockets of the current configuration; from now on they follow it. @throws ConfigErrors with every one that cannot be opened */
  async open(): Promise<void> {
    const modules = this.#modules;
    if (modules !== undefined) await this.listeners.openAll((group) => this.makeListener(group, modules));
  }

  uses(input: string): boolean {
    return this.#configuration?.users.get(input) !== undefined;
  }

  whenOver(step: () => void): void {
    this.parts.generations.whenOver(step);
  }

  cutOff(time: number): number {
    return this.listeners.cutOff(time);
  }

  /** Accepts nothing more and lets what is under way end. Resolves when no connection is left, or when the time is over. */
  async quit(end: GracefulEnd): Promise<void> {
    await this.listeners.quit(end);
    this.stop();
  }

  /** Closes everything at once. */
  stop(): void {
    this.listeners.stop();
    const held = [...this.held(this.#configuration)].flatMap(({ resources }) => resources);
    if (this.parts.options.role === 'explain') abortAll(held);
    else this.parts.generations.stop(held);
    this.#configuration = undefined;
  }

  protected abstract makeCompiler(modules: Change['modules']): K;

  /**
   * @param again servers to compile although their blocks are the same
   * @throws ConfigErrors with everything that is wrong
   */
  protected abstract compile(compiler: K, change: Change, previous: C | undefined, again: ReadonlySet<number>): CompiledServers<S, C>;

  /** Waits until the names of upstreams are looked up that were used. */
  protected abstract settle(errors: ErrorCollector): Promise<void>;

  /** An upstream is another one after the change. */
  protected abstract isChanging(upstream: string): boolean;

  protected abstract makeListener(group: ListenGroup<S>, modules: Change['modules']): L;

  /** Gives a listener the servers of its address from now on. */
  protected abstract renew(listener: L, group: ListenGroup<S>, modules: Change['modules']): void;

  /** Holdings of all servers. */
  protected abstract held(configuration: C | undefined): Iterable<Holdings>;

  /**
   * Looks at what is besides the servers.
   * @returns the step for the commit of the change
   * @throws ConfigErrors
   */
  protected abstract check(change: Change, compiler: K, configuration: C): () => void;

  /** Servers and locations that have to be compiled because something outside of their blocks is another now: a file, an upstream. */
  #concerned(change: Change, previous: C | undefined): ReadonlySet<number> {
    const { engine, files } = this.parts;
    if (previous === undefined) return NO_IDS;
    return concernedUsers(previous.users, change, engine, files, (name) => this.isChanging(name));
  }

  /** Compiles, and waits for the names that have to be looked up. @throws ConfigErrors with what is wrong with either */
  async #compile(compile: () => CompiledServers<S, C>): Promise<CompiledServers<S, C>> {
    const errors = new ErrorCollector();
    let compiled: CompiledServers<S, C> | undefined;
    try {
      compiled = errors.attempt(compile);
    } finally {
      await this.settle(errors);
      await this.parts.recorder.settle(errors);
    }
    errors.throwIfAny();
    return compiled as CompiledServers<S, C>;
  }

  /** Resources of modules take no effect without listeners. */
  #begin(resources: readonly Resource[], retired: readonly Resource[]): void {
    const { options, generations } = this.parts;
    if (options.role === 'explain') return;
    generations.begin(resources, retired);
  }
}

const NO_IDS: ReadonlySet<number> = new Set();
const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };

function abortAll(resources: readonly Resource[]): void {
  for (const resource of resources.toReversed()) resource.abort?.();
}
