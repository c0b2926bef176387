import { ErrorCollector } from '../config/error-collector.js';
import { Generations } from '../config/generations.js';
import { UnitRecorder, upstreamInput } from '../config/holdings.js';
import type { InputFiles } from '../config/input-files.js';
import { concernedUsers } from '../config/input-users.js';
import { serverPlaces } from '../config/server-places.js';
import { touchesEngine } from '../config/touched-blocks.js';
import type { Change, Follower, Prepared } from '../kernel/follower.js';
import type { StreamModule } from '../module/manifest.js';
import type { Resource } from '../module/resource.js';
import { ListenerSet, type ListenerRole } from '../net/listener-set.js';
import { StreamListener } from './listen/stream-listener.js';
import { UdpStreamListener } from './listen/udp-stream-listener.js';
import { StreamContext, type SharedContext } from './session/context.js';
import { CheckedStreamModule } from './site/checked-module.js';
import { heldBy, type CompiledStream, type StreamConfiguration } from './site/compiler.js';
import { ServerCompiler } from './site/server-compiler.js';
import type { StreamListenGroup, StreamListenGroups, StreamServer } from './site/server.js';
import type { StreamRelays } from './upstream/relay-route.js';

/** The stream engine of one thread: follows the `stream` block of the tree, owns the listeners. */
export class StreamEngine implements Follower {
  readonly #listeners: ListenerSet<StreamServer, StreamListener | UdpStreamListener>;
  readonly #context: StreamContext;
  readonly #recorder: UnitRecorder;
  #modules: Change['modules'] | undefined;
  #compiler: ServerCompiler | undefined;
  #configuration: StreamConfiguration | undefined;

  constructor(
    private readonly relays: StreamRelays,
    shared: SharedContext,
    private readonly files: InputFiles,
    private readonly options: ListenerRole,
  ) {
    this.#context = new StreamContext(shared, new Generations());
    this.#listeners = new ListenerSet(options);
    shared.listeners.add(this.#listeners);
    this.#recorder = new UnitRecorder(files, shared.log);
    relays.targets.onUse = (name) => this.#recorder.use(upstreamInput(name));
  }

  /** What sessions are served by. */
  get configuration(): StreamConfiguration | undefined {
    return this.#configuration;
  }

  /** Its servers by address. */
  get groups(): StreamListenGroups {
    return this.#listeners.groups;
  }

  /** Addresses that are open, as `listen` names them. */
  get addresses(): string[] {
    return this.#listeners.addresses;
  }

  async prepare(change: Change): Promise<Prepared> {
    const { modules } = change;
    const previous = modules === this.#modules ? this.#configuration : undefined;
    const concerned =
      previous === undefined
        ? NO_IDS
        : concernedUsers(previous.users, change, 'stream', this.files, (name) => this.relays.targets.isChanging(name));
    if (previous !== undefined && !change.rereads && concerned.size === 0 && !touchesEngine('stream', change)) return NOTHING_TO_DO;
    const compiler = modules === this.#modules && this.#compiler ? this.#compiler : this.#newCompiler(modules);
    this.#recorder.warn = change.warn;
    try {
      const compiled = await this.#compile(() => compiler.run(change, previous, concerned));
      const changed = this.#listeners.after(compiled, serverPlaces(change.after, 'stream'));
      this.#listeners.warnOfConflicts(changed, change.warn);
      const opened = await this.#listeners.open(changed, this.#maker(modules));
      const resources = this.#recorder.takeOpened();
      return {
        commit: () => {
          const retired = previous === undefined ? [...heldBy(this.#configuration)] : compiled.retired;
          this.#modules = modules;
          this.#compiler = compiler;
          if (this.options.role !== 'explain')
            this.#context.generations.begin(
              resources,
              retired.flatMap((holdings) => holdings.resources),
            );
          this.#configuration = compiled.configuration;
          this.#listeners.commit(changed, opened, (listener, { options, names }) => listener.use(options, names, modules.variables.stream));
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

  uses(input: string): boolean {
    return this.#configuration?.users.get(input) !== undefined;
  }

  cutOff(time: number): void {
    this.#listeners.cutOff(time);
  }

  /** Accepts nothing more and lets sessions end. Resolves when none is left, or after `timeout` ms. */
  async quit(timeout: number | undefined): Promise<void> {
    await this.#listeners.quit(timeout);
    this.stop();
  }

  /** Closes everything at once. */
  stop(): void {
    this.#listeners.stop();
    const held = [...heldBy(this.#configuration)].flatMap(({ resources }) => resources);
    if (this.options.role === 'explain') abortAll(held);
    else this.#context.generations.stop(held);
    this.#configuration = undefined;
  }

  /** Compiles, and waits for the names that have to be looked up. @throws ConfigErrors with what is wrong with either */
  async #compile(compile: () => CompiledStream): Promise<CompiledStream> {
    const errors = new ErrorCollector();
    const compiled = errors.attempt(compile);
    await this.relays.targets.settle(errors);
    errors.throwIfAny();
    return compiled as CompiledStream;
  }

  #maker({ variables }: Change['modules']): (group: StreamListenGroup) => StreamListener | UdpStreamListener {
    return ({ options, names }) => {
      const Kind = options.udp ? UdpStreamListener : StreamListener;
      return new Kind(options, this.#context, variables.stream, names);
    };
  }

  #newCompiler(modules: Change['modules']): ServerCompiler {
    const checked = Array.from(modules)
      .filter(({ declaration }) => declaration.kind === 'stream')
      // The kind of a module says which hooks it has.
      .map(
        ({ declaration, hooks, file }) =>
          new CheckedStreamModule({ declaration, hooks: hooks as unknown as StreamModule, file }, this.#context.log),
      );
    return new ServerCompiler(checked, modules.streamArgs, this.#recorder);
  }
}

const NO_IDS: ReadonlySet<number> = new Set();
const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };

function abortAll(resources: readonly Resource[]): void {
  for (const resource of resources.toReversed()) resource.abort?.();
}
