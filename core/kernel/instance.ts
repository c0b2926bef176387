import { isDeepStrictEqual } from 'node:util';
import { ConfigError, ConfigErrors, errorAt } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import { InputFiles, type FileContents } from '../config/input-files.js';
import { fileInput } from '../config/holdings.js';
import { ConfigTree, type Tree, type TreeOperation } from '../config/tree.js';
import { ErrorLog } from '../log/error-log.js';
import { Log, ServerInfo } from '../module/services.js';
import { TimeIsOver } from '../control/time-limit.js';
import { CallLimit, type LimitedCall } from './call-limit.js';
import { beginVariables, compileVariables } from './configuration-variables.js';
import type { Change, Follower, Prepared } from './follower.js';
import { loadModuleLines, loadModules } from './load-modules.js';
import { LoopGuard } from './loop-guard.js';
import { SEE_LOG } from './module-load-error.js';
import type { ModuleLife } from './module-life.js';
import { isCurrent, runModule, type RunningModule } from './running-module.js';
import { RunningModules, type RunModule } from './running-modules.js';
import { InstanceInfo, type Identity } from './server-info.js';
import { Services } from './services.js';
import { readSettings, type Settings } from './settings.js';
import { withHints } from './shipped-modules.js';
import { validateChange } from './validation.js';

export interface InstanceOptions extends Identity {
  readonly log: ErrorLog;
  /** False where another thread has checked every change already. */
  readonly validates: boolean;
  /** Takes warnings about the configuration; absent: the log. */
  readonly warn?: (message: string) => void;
  /** Longest time that a hook of a module may keep the main thread busy (ms). */
  readonly callMs?: number;
}

/** What the caller of {@link Instance.prepare} knows of a change. */
export interface Preparation {
  /** See {@link Change.rereads}. */
  readonly rereads?: boolean;
  /** Files as another thread has read them for this change. */
  readonly files?: FileContents | undefined;
  /** The tree after the operations; absent: it is still to be made. */
  readonly after?: ConfigTree;
  /** A tree that was validated, and what makes it the one after the change. Absent: the tree in force and the operations. */
  readonly validated?: { readonly tree: Tree; readonly operations: readonly TreeOperation[] };
}

/** A change that is ready, and the files that it was made of. */
export interface PreparedChange extends Prepared {
  readonly files: FileContents;
}

/** Modules that a configuration asks for, and why some of them are missing. */
export interface RunningModulesLoad {
  /** The `load_module` lines. */
  readonly lines: readonly (string | undefined)[];
  readonly modules: RunningModules;
  readonly errors: readonly ConfigError[];
}

/**
 * One server in one thread: its services, its modules, its configuration tree, and the followers that do the work. Everything mutable
 * of a server hangs on one of these, so that several can live in one thread.
 */
export class Instance {
  readonly services = new Services();
  /** Files that directives name. */
  readonly files = new InputFiles();
  readonly #followers: Follower[] = [];
  /** Ends what modules do in the main thread for too long once they have waited for something. */
  readonly guard = new LoopGuard();
  readonly #callLimit: CallLimit;
  readonly #info: InstanceInfo;
  #tree = ConfigTree.empty;
  #settings: Settings | undefined;
  /** The modules in force, and those that were loaded last, for a change that may follow. */
  #inForce: RunningModulesLoad | undefined;
  #loaded: RunningModulesLoad | undefined;
  #started = false;

  constructor(readonly options: InstanceOptions) {
    this.#callLimit = new CallLimit(options.callMs);
    this.services.provide(Log, options.log);
    this.services.provide(ErrorLog, options.log);
    this.#info = new InstanceInfo(options, () => this.#settings?.main);
    this.services.provide(ServerInfo, this.#info);
  }

  /** The tree in force. */
  get tree(): ConfigTree {
    return this.#tree;
  }

  /** What the main level and `events` say. Only after the first commit. */
  get settings(): Settings {
    if (!this.#settings) throw new Error('no configuration is in force yet');
    return this.#settings;
  }

  /** Makes a call of a module's code in the main thread, and ends it when it takes too long. Each limit costs a thread that watches the time. */
  get limited(): LimitedCall {
    return this.#inForce?.modules.areShipped === true ? (call) => call() : this.#callLimit.run;
  }

  /** The modules in force. Only after the first commit. */
  get modules(): RunningModules {
    if (!this.#inForce) throw new Error('no configuration is in force yet');
    return this.#inForce.modules;
  }

  /** Adds a part that follows the tree. They prepare and commit in the order they were added, and end in the opposite one. */
  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  /**
   * Makes a change ready in every part of this thread, without any effect.
   * @throws ConfigErrors with every reason why not; what was made ready is undone
   */
  async prepare(operations: readonly TreeOperation[], known: Preparation = {}): Promise<PreparedChange> {
    this.files.begin(known.rereads ?? false, known.files);
    try {
      return await this.#prepare(operations, known);
    } catch (error) {
      this.files.abort();
      throw error;
    }
  }

  async #prepare(operations: readonly TreeOperation[], known: Preparation): Promise<PreparedChange> {
    const before = this.#tree;
    const { after = before.apply(operations), rereads = false, validated = { tree: before, operations } } = known;
    const load = await this.modulesFor(after);
    const { modules, errors } = load;
    if (errors.length > 0) throw new ConfigErrors(errors);
    const { variables } = modules;
    try {
      return await this.#prepareWith(load, { before, after, operations, rereads }, validated);
    } catch (error) {
      variables.abort();
      throw error;
    }
  }

  async #prepareWith(
    load: RunningModulesLoad,
    change: Pick<Change, 'before' | 'operations' | 'rereads'> & { readonly after: ConfigTree },
    validated: NonNullable<Preparation['validated']>,
  ): Promise<PreparedChange> {
    const { modules } = load;
    const { after } = change;
    const mentions = beginVariables(change, modules, load !== this.#inForce);
    if (this.options.validates) await this.#validate(validated, after, modules);
    compileVariables(mentions, after, modules, (message) => this.warn(message));
    const settings = readSettings(after.root, modules.args);
    const parts = await this.#prepareFollowers({
      ...change,
      modules,
      ...settings,
      warn: (message) => this.warn(message),
    });
    const started = await this.#startModulesOf(load).catch((error: unknown) => {
      for (const part of parts.toReversed()) part.abort();
      throw error;
    });
    return {
      files: this.files.brought,
      commit: () => {
        this.files.commit();
        modules.variables.commit();
        this.#tree = after;
        this.#settings = settings;
        const replaced = this.#inForce;
        this.#inForce = load;
        for (const part of parts) part.commit();
        if (change.rereads) this.files.retain((path) => this.#followers.some((follower) => follower.uses?.(fileInput(path)) === true));
        if (replaced !== undefined && replaced !== load) void this.#stopModules(replaced.modules, load.modules);
      },
      abort: () => {
        this.files.abort();
        modules.variables.abort();
        for (const part of parts.toReversed()) part.abort();
        this.#loaded = undefined;
        void this.#stopModules(started);
      },
    };
  }

  /** Something of the configuration is probably not meant as it stands. Workers read the same as the master, which has said it. */
  warn(message: string): void {
    const { role, log, warn } = this.options;
    if (warn !== undefined) warn(message);
    else if (role !== 'worker') log.write('warn', message);
  }

  /**
   * Starts the modules in force, in load order. From now on those of a change start before it takes effect, if there is none yet the
   * first ones too.
   * @throws ConfigErrors when a module fails; {@link stop} cleans up then
   */
  async start(): Promise<void> {
    this.#started = true;
    for (const module of this.#inForce?.modules ?? []) await this.#startModule(module);
  }

  /** Takes nothing new, and resolves when the work at hand is done or `timeoutMs` milliseconds are over. */
  async quit(timeoutMs: number | undefined): Promise<void> {
    this.#info.leave();
    await Promise.all(this.#followers.map((follower) => this.#attempt('quit', () => follower.quit?.(timeoutMs))));
    await this.stop();
  }

  /** Closes connections whose request began before `time` (epoch milliseconds). */
  cutOff(time: number): void {
    for (const follower of this.#followers) follower.cutOff?.(time);
  }

  /** Ends everything now. Never throws: what fails is logged. */
  async stop(): Promise<void> {
    this.#info.leave();
    for (const follower of this.#followers.toReversed()) await this.#attempt('stop', () => follower.stop?.());
    this.#started = false;
    await this.#stopModules(this.#inForce?.modules ?? []);
  }

  /**
   * The modules that a configuration asks for, the ones at work kept. Errors are those of modules that cannot be loaded: the rest is there,
   * so that a configuration can be checked with it.
   */
  async modulesFor(tree: Tree): Promise<RunningModulesLoad> {
    const lines = loadModuleLines(tree.root).map((line) => line.args[0]?.text);
    // What could not be loaded is tried again: its file may be there now.
    const known = [this.#inForce, this.#loaded].find((load) => load?.errors.length === 0 && isDeepStrictEqual(lines, load.lines));
    if (known !== undefined) return known;
    const { role, prefix, installation, log } = this.options;
    const { guard } = this;
    const plane = role === 'control' ? 'control' : 'data';
    const { set, errors } = await loadModules(tree.root, { plane, prefix, installation, log, isChecked: role === 'worker', guard });
    const run: RunModule = (module, others) => {
      const old = this.#inForce?.modules.same(module) ?? this.#loaded?.modules.same(module);
      return old !== undefined && isCurrent(old, others)
        ? old
        : runModule(module, others, { services: this.services, role, log, callLimit: this.#callLimit, guard });
    };
    const modules = new RunningModules(set, run, this.options);
    this.#loaded = { lines, modules, errors: [...errors, ...modules.errors] };
    return this.#loaded;
  }

  async #validate(
    { tree: before, operations }: NonNullable<Preparation['validated']>,
    after: ConfigTree,
    modules: RunningModules,
  ): Promise<void> {
    // What uses a variable may be anywhere: without its last definition all is looked at again.
    const all = modules.variables.hasOrphans ? [{ op: 'root', block: [] } as const] : operations;
    const find = (): ConfigError[] => validateChange(before, after, all, modules);
    const errors = await withHints(find, modules.set, this.options.installation);
    if (errors.length > 0) throw new ConfigErrors(errors);
  }

  async #prepareFollowers(change: Change): Promise<Prepared[]> {
    const parts: Prepared[] = [];
    const errors = new ErrorCollector();
    try {
      for (const follower of this.#followers) {
        try {
          parts.push(await follower.prepare(change));
        } catch (error) {
          errors.add(error);
        }
      }
      errors.throwIfAny();
      return parts;
    } catch (error) {
      for (const part of parts.toReversed()) part.abort();
      throw error;
    }
  }

  /**
   * Starts the modules that a change brings, if those in force are started.
   * @throws ConfigErrors when one of them fails; those before it are stopped then
   */
  async #startModulesOf(load: RunningModulesLoad): Promise<readonly RunningModule[]> {
    if (!this.#started || load === this.#inForce) return [];
    const old = livesOf(this.#inForce?.modules ?? []);
    const fresh = [...load.modules].filter(({ life }) => !old.has(life));
    try {
      for (const module of fresh) await this.#startModule(module, load);
      return fresh;
    } catch (error) {
      this.#loaded = undefined;
      // The refusal does not wait for it.
      void this.#stopModules(fresh);
      throw error;
    }
  }

  async #startModule({ name, life }: RunningModule, load = this.#inForce): Promise<void> {
    try {
      await life.start(this.options.role);
    } catch (error) {
      const line = load?.modules.set.lineOf({ name });
      const { message, cause } = error as Error;
      const hint = cause instanceof TimeIsOver ? 'its "start" waits for something: give that a time limit of its own' : SEE_LOG;
      throw line === undefined ? new ConfigError(message, undefined, 1, hint) : errorAt(line, message, line.args[0], hint);
    }
  }

  /** Stops modules, the last one first, apart from those that stay. Their objects are not used again. */
  async #stopModules(modules: Iterable<RunningModule>, staying: Iterable<RunningModule> = []): Promise<void> {
    const stays = livesOf(staying);
    const going = [...modules].filter(({ life }) => !stays.has(life));
    for (const { life } of going.reverse()) await life.stop();
  }

  async #attempt(what: string, step: () => void | Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.options.log.write('alert', `could not ${what}: ${(error as Error).stack ?? String(error)}`);
    }
  }
}

function livesOf(modules: Iterable<RunningModule>): ReadonlySet<ModuleLife> {
  return new Set(Array.from(modules, ({ life }) => life));
}
