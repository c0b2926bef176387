import { isDeepStrictEqual } from 'node:util';
import { type ConfigError, ConfigErrors } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import { InputFiles } from '../config/input-files.js';
import type { FileContents } from '../config/granted-files.js';
import { fileInput } from '../config/holdings.js';
import type { ModulePlan, ModuleShare } from '../config/module-share.js';
import { ConfigTree, type Tree, type TreeOperation } from '../config/tree.js';
import { ErrorLog } from '../log/error-log.js';
import { Log, LogRecords } from '../contract/log.js';
import { ServerInfo } from '../contract/server-info.js';
import { CallLimit, type LimitedCall } from './call-limit.js';
import { beginVariables, compileVariables } from './configuration-variables.js';
import type { Change, Follower, GracefulEnd, Prepared } from '../config/change.js';
import { loadModuleLines, loadModules, planModules } from './load-modules.js';
import { LoopGuard } from './loop-guard.js';
import type { InstanceOptions } from './instance-options.js';
import { moduleCode } from './module-code.js';
import { discardModules, ModuleTurnover } from './module-turnover.js';
import { isCurrent, runModule } from './running-module.js';
import { RunningModules, type RunModule, type ServiceType } from './running-modules.js';
import { InstanceInfo } from './server-info.js';
import { Services } from './services.js';
import { readSettings, type KernelSettings } from './settings.js';
import { settingErrors, withHints } from './shipped-modules.js';
import { validateChange } from './validation.js';

/** Longest `commit`, `abort` or `release` of a resource, in milliseconds: requests wait meanwhile, in all workers. */
const RESOURCE_MS = 5000;

/** Knowledge of the caller of {@link Instance.prepare} about a change. */
export interface Preparation {
  /** See {@link Change.rereads}. */
  readonly rereads?: boolean;
  /** Files as another thread has read them for this change. */
  readonly files?: FileContents | undefined;
  /** The tree after the operations; absent: it is still to be made. */
  readonly after?: ConfigTree;
  /** The change was checked: its modules are the last result of {@link Instance.modulesFor}. */
  readonly isChecked?: boolean;
  /** The modules as another thread has found them; absent: the current ones, if the `load_module` lines are the same. */
  readonly plan?: ModulePlan | undefined;
  /** A validated tree, and the operations from it to the one after the change. Absent: the current tree and the operations. */
  readonly validated?: { readonly tree: Tree; readonly operations: readonly TreeOperation[] };
}

/** A change that is ready, and the files that it was made of. */
export interface PreparedChange extends Prepared {
  readonly files: FileContents;
  /** Undefined: the modules stay as they are. */
  readonly modules: ModuleShare | undefined;
}

/** Modules that a configuration asks for, and why some of them are missing. */
export interface RunningModulesLoad {
  /** The `load_module` lines. */
  readonly lines: readonly (string | undefined)[];
  readonly plan: ModulePlan;
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
  readonly files: InputFiles;
  readonly #followers: Follower[] = [];
  /** Ends what modules do in the main thread for too long once they have waited for something. */
  readonly guard = new LoopGuard();
  readonly #callLimit: CallLimit;
  readonly #resourceLimit = new CallLimit(RESOURCE_MS);
  readonly #info: InstanceInfo;
  #tree = ConfigTree.empty;
  #settings: KernelSettings | undefined;
  /** The current modules, and the ones loaded last, for a change that may follow. */
  #inForce: RunningModulesLoad | undefined;
  #loaded: RunningModulesLoad | undefined;
  readonly #turnover: ModuleTurnover;

  constructor(readonly options: InstanceOptions) {
    this.files = new InputFiles(options.granted);
    this.#callLimit = new CallLimit(options.callMs);
    this.#turnover = new ModuleTurnover(options, this.#followers);
    this.services.provide(Log, options.log);
    this.services.provide(ErrorLog, options.log);
    this.services.provide(LogRecords, options.log.records);
    this.#info = new InstanceInfo(options, () => this.#settings?.main);
    this.services.provide(ServerInfo, this.#info);
  }

  /** The current tree. */
  get tree(): ConfigTree {
    return this.#tree;
  }

  /** Settings of the main level and `events`. Only after the first commit. */
  get settings(): KernelSettings {
    if (!this.#settings) throw new Error('no configuration is active yet');
    return this.#settings;
  }

  /** Makes a call of a module's code in the main thread, and ends it when it takes too long. Each limit costs a thread that watches the time. */
  get limited(): LimitedCall {
    return this.#inForce?.modules.areShipped === true ? (call) => call() : this.#callLimit.run;
  }

  /** The current modules. Only after the first commit. */
  get modules(): RunningModules {
    if (!this.#inForce) throw new Error('no configuration is active yet');
    return this.#inForce.modules;
  }

  /** The current modules, for another thread. Only after the first commit. */
  get share(): ModuleShare {
    return shareOf(this.#inForce?.plan ?? new Map());
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
      this.discardLoaded();
      throw error;
    }
  }

  async #prepare(operations: readonly TreeOperation[], known: Preparation): Promise<PreparedChange> {
    const before = this.#tree;
    const { after = before.apply(operations), rereads = false, validated = { tree: before, operations } } = known;
    const load = await this.modulesFor(after, known.isChecked === true ? this.#loaded?.plan : known.plan);
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
    const started = await this.#turnover.startAdded(this.#inForce?.modules, modules).catch((error: unknown) => {
      for (const part of parts.toReversed()) part.abort();
      throw error;
    });
    return {
      files: this.files.brought,
      modules: load === this.#inForce ? undefined : shareOf(load.plan),
      commit: () => {
        this.files.commit();
        modules.variables.commit();
        this.#tree = after;
        this.#settings = settings;
        const replaced = this.#inForce;
        this.#inForce = load;
        for (const part of parts) part.commit();
        if (change.rereads) this.files.retain((path) => this.#followers.some((follower) => follower.uses?.(fileInput(path)) === true));
        if (replaced === undefined || replaced === load) return;
        if (moduleCode.warning !== undefined) this.warn(moduleCode.warning);
        this.#turnover.replace(replaced.modules, load.modules);
      },
      abort: () => {
        this.files.abort();
        modules.variables.abort();
        for (const part of parts.toReversed()) part.abort();
        this.#turnover.retire(started);
        this.discardLoaded();
      },
    };
  }

  /** Something in the configuration was probably meant differently. Workers read the same as the master, which has reported it. */
  warn(message: string): void {
    const { role, log, warn } = this.options;
    if (warn !== undefined) warn(message);
    else if (role !== 'worker') log.write('warn', message);
  }

  /**
   * Starts the current modules, in load order. From now on those of a change start before it takes effect, if there is none yet the
   * first ones too.
   * @throws ConfigErrors when a module fails; {@link stop} cleans up then
   */
  start(): Promise<void> {
    return this.#turnover.start(this.#inForce?.modules);
  }

  /**
   * Starts the module that provides a service before the others.
   * @returns the service; undefined: no module provides it
   * @throws ConfigErrors when it fails
   */
  async startProvider<T extends object>(type: ServiceType<T>): Promise<T | undefined> {
    const modules = this.#inForce?.modules;
    const service = modules?.optionalService(type);
    const module = service && [...(modules ?? [])].find(({ instance }) => instance === service);
    if (modules !== undefined && module !== undefined) await this.#turnover.startEarly(module, modules);
    return service;
  }

  /** Takes nothing new, and resolves when the work at hand is done or its time is over. */
  async quit(end: GracefulEnd): Promise<void> {
    this.#info.leave();
    await Promise.all(this.#followers.map((follower) => this.#attempt('quit', () => follower.quit?.(end))));
    await this.stop();
  }

  /** Closes connections whose request began before `time` (epoch milliseconds): `worker_shutdown_timeout` of a reload is over. */
  cutOff(time: number): void {
    const modules = this.#turnover.formerNames;
    const count = this.#followers.reduce((sum, follower) => sum + (follower.cutOff?.(time) ?? 0), 0);
    if (count === 0) return;
    const code = modules.length === 0 ? '' : `, which ran the old code of ${modules.map((name) => `"${name}"`).join(', ')}`;
    const what = count === 1 ? '1 request or session' : `${count} requests or sessions`;
    this.options.log.write(
      'warn',
      `${what} that began before a reload ${count === 1 ? 'was' : 'were'} cut off after "worker_shutdown_timeout"${code}`,
    );
  }

  /** Ends everything now. Never throws: what fails is logged. */
  async stop(): Promise<void> {
    this.#info.leave();
    for (const follower of this.#followers.toReversed()) await this.#attempt('stop', () => follower.stop?.());
    await this.#turnover.stop(this.#inForce?.modules);
  }

  /** The modules that a configuration asks for, as their files are now. */
  planFor(tree: Tree): ModulePlan {
    return planModules(tree.root, this.options, this.#inForce?.plan);
  }

  /**
   * The modules that a configuration asks for, the ones at work kept. Errors are about modules that cannot be loaded: the result has the
   * others, so that a configuration can be checked with them.
   * @param wanted their versions; absent: if the lines are the same, the current ones, else the versions of the files now
   */
  async modulesFor(tree: Tree, wanted?: ModulePlan): Promise<RunningModulesLoad> {
    const lines = loadModuleLines(tree.root).map((line) => line.args[0]?.text);
    const isWanted = (load: RunningModulesLoad): boolean => wanted === undefined || isDeepStrictEqual(wanted, load.plan);
    // A module that could not be loaded is tried again: its file may exist now.
    const isKnown = (load: RunningModulesLoad): boolean =>
      load.errors.length === 0 && isDeepStrictEqual(lines, load.lines) && isWanted(load);
    const known = [this.#inForce, this.#loaded].find((load) => load !== undefined && isKnown(load));
    if (known !== undefined) {
      if (wanted !== undefined) this.#loaded = known;
      return known;
    }
    const plan = wanted ?? this.planFor(tree);
    const { role, prefix, installation, log, onCall } = this.options;
    const { guard } = this;
    const plane = role === 'control' ? 'control' : 'data';
    const { set, errors } = await loadModules(tree.root, { plane, prefix, installation, log, guard }, plan);
    const run: RunModule = (module, others) => {
      const old = this.#inForce?.modules.same(module) ?? this.#loaded?.modules.same(module);
      return old !== undefined && isCurrent(old, others)
        ? old
        : runModule(module, others, {
            services: this.services,
            role,
            log,
            callLimit: this.#callLimit,
            resourceLimit: this.#resourceLimit,
            guard,
            onCall,
          });
    };
    const modules = new RunningModules(set, run, this.options);
    discardModules(this.#loaded?.modules, [this.#inForce?.modules, modules]);
    const settings = role === 'worker' ? [] : await settingErrors(set, installation, log);
    this.#loaded = { lines, plan, modules, errors: [...errors, ...modules.errors, ...settings] };
    return this.#loaded;
  }

  /** The configuration that modules were loaded for was rejected. */
  discardLoaded(): void {
    discardModules(this.#loaded?.modules, [this.#inForce?.modules]);
    this.#loaded = undefined;
  }

  async #validate(
    { tree: before, operations }: NonNullable<Preparation['validated']>,
    after: ConfigTree,
    modules: RunningModules,
  ): Promise<void> {
    // Users of a variable may be anywhere: without its last definition all is checked again.
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

  async #attempt(what: string, step: () => void | Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.options.log.write('alert', `could not ${what}: ${(error as Error).stack ?? String(error)}`);
    }
  }
}

function shareOf(plan: ModulePlan): ModuleShare {
  return { plan, files: moduleCode.filesOf([...plan.values()].flat()) };
}
