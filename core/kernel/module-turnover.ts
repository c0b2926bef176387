import { TimeIsOver } from '../changes/time-limit.js';
import { ConfigError, errorAt } from '../config/errors.js';
import type { Follower } from '../config/change.js';
import { FormerModules } from './former-modules.js';
import type { InstanceOptions } from './instance-options.js';
import type { ModuleLife } from './module-life.js';
import { SEE_LOG } from './module-load-error.js';
import type { RunningModule } from './running-module.js';
import type { RunningModules } from './running-modules.js';

/** Starts and stops the modules of an instance as configurations come and go. */
export class ModuleTurnover {
  #isStarted = false;
  readonly #former: FormerModules;

  constructor(
    private readonly options: Pick<InstanceOptions, 'role' | 'log' | 'retire'>,
    followers: readonly Follower[],
  ) {
    this.#former = new FormerModules(options.log, followers, (modules) => this.retire(modules));
  }

  /** Names of replaced modules that requests still use. */
  get formerNames(): readonly string[] {
    return this.#former.names;
  }

  /** Starts the first modules, in load order. @throws ConfigErrors when one fails */
  async start(modules: RunningModules | undefined): Promise<void> {
    this.#isStarted = true;
    for (const module of modules ?? []) await this.#start(module, modules, undefined);
  }

  /** Starts one of the first modules before the others. @throws ConfigErrors when it fails */
  startEarly(module: RunningModule, modules: RunningModules): Promise<void> {
    return this.#start(module, modules, undefined);
  }

  /**
   * Starts the modules that a change adds, if the current ones are started.
   * @throws ConfigErrors when one of them fails; those before it are stopped then
   */
  async startAdded(before: RunningModules | undefined, after: RunningModules): Promise<readonly RunningModule[]> {
    if (!this.#isStarted || after === before) return [];
    const old = livesOf(before ?? []);
    const fresh = [...after].filter(({ life }) => !old.has(life));
    try {
      for (const module of fresh) await this.#start(module, after, before);
      return fresh;
    } catch (error) {
      // The rejection does not wait for it.
      this.retire(fresh);
      throw error;
    }
  }

  /** Modules of which there is a new object serve the requests under way; the others stop. */
  replace(before: RunningModules, after: RunningModules): void {
    const stays = livesOf(after);
    const going = [...before].filter(({ life }) => life.isStarted && !stays.has(life));
    this.#former.add(going.filter(({ name }) => after.named(name) !== undefined));
    this.retire(going.filter(({ name }) => after.named(name) === undefined));
  }

  /** Stops modules when it is time to. Their objects are not used again. */
  retire(modules: Iterable<RunningModule>): void {
    const going = [...modules].filter(({ life }) => life.isStarted);
    const { retire } = this.options;
    if (retire === undefined) void stopModules(going);
    else if (going.length > 0) retire({ stop: () => stopModules(going), leave: () => leaveModules(going) });
  }

  /** Stops all now. */
  stop(modules: RunningModules | undefined): Promise<void> {
    this.#isStarted = false;
    return stopModules([...this.#former.take(), ...(modules ?? [])]);
  }

  async #start({ name, life }: RunningModule, modules: RunningModules | undefined, before: RunningModules | undefined): Promise<void> {
    try {
      await life.start(this.options.role, before?.named(name)?.life.handOver());
    } catch (error) {
      const line = modules?.set.lineOf({ name });
      const { message, cause } = error as Error;
      const hint = cause instanceof TimeIsOver ? 'its "start" waits for something: give that a time limit of its own' : SEE_LOG;
      throw line === undefined ? new ConfigError(message, undefined, 1, hint) : errorAt(line, message, line.args[0], hint);
    }
  }
}

/** Releases modules that do not start. @param staying modules with objects of their own or the same ones */
export function discardModules(modules: RunningModules | undefined, staying: readonly (RunningModules | undefined)[]): void {
  const stays = livesOf(staying.flatMap((some) => [...(some ?? [])]));
  for (const { life } of modules ?? []) if (!stays.has(life)) life.discard();
}

/** The last one first. */
async function stopModules(modules: Iterable<RunningModule>): Promise<void> {
  for (const { life } of [...modules].reverse()) await life.stop();
}

function leaveModules(modules: readonly RunningModule[]): void {
  for (const { life } of modules) life.leave();
}

function livesOf(modules: Iterable<RunningModule>): ReadonlySet<ModuleLife> {
  return new Set(Array.from(modules, ({ life }) => life));
}
