import type { HttpModule, Lifecycle, ModuleDeclaration } from '../module/manifest.js';
import { Log, Tasks, type ServerInfo } from '../module/services.js';
import type { CallLimit, LimitedCall } from './call-limit.js';
import type { LoopGuard } from './loop-guard.js';
import type { LoadedModule } from './module-file.js';
import { limitedHooks, type ModuleHooks } from './module-hooks.js';
import { ModuleLife } from './module-life.js';
import { ModuleLog } from './module-log.js';
import { isModuleService, type ModuleServices } from './module-services.js';
import { ModuleTasks } from './module-tasks.js';
import { missingService, wantedServices, type Services } from './services.js';

/** A module at work in one thread: its one object there. */
export interface RunningModule {
  readonly name: string;
  readonly file: string;
  readonly declaration: ModuleDeclaration;
  readonly instance: HttpModule & Lifecycle;
  /** What the server calls of it. In the main thread of a process calls of modules that do not come with srv are limited in time. */
  readonly hooks: ModuleHooks;
  /** Makes further calls of its code, which are limited in the same way. */
  readonly limited: LimitedCall;
  /** It comes with srv. */
  readonly isShipped: boolean;
  readonly life: ModuleLife;
  /** The services of other modules that its constructor was given, by name. */
  readonly needs: ReadonlyMap<string, object>;
}

/** What a module is made in. */
export interface ModuleSurroundings {
  readonly services: Services;
  readonly role: ServerInfo['role'];
  /** The server's. */
  readonly log: Log;
  readonly callLimit: CallLimit;
  readonly guard: LoopGuard;
}

const PLACES = { master: 'the main thread', worker: 'a worker', control: 'the control plane' } as const;

/**
 * Makes the object of a module.
 * @param others the services of the modules before it
 * @throws ManifestError, and what its constructor throws
 */
export function runModule(
  module: LoadedModule,
  others: ModuleServices,
  { services, role, log, callLimit, guard }: ModuleSurroundings,
): RunningModule {
  const { name, file, declaration, class: moduleClass } = module;
  // The master ends a worker that hangs. Nobody can end the main thread.
  const limited: LimitedCall = module.isShipped || role === 'worker' ? (call) => call() : callLimit.run;
  const tasks = new ModuleTasks(name, log, limited);
  const own = new Map<unknown, object>([[Tasks, tasks]]);
  // The texts of those that come with srv are nginx's, and are found by them.
  if (!module.isShipped) own.set(Log, new ModuleLog(name, log));
  const needs = new Map<string, object>();
  for (const token of [...(declaration.manifest.needs ?? []), ...wantedServices(moduleClass)].filter(isModuleService)) {
    const service = others.find(token.service);
    if (service === undefined) throw missingService(token.service);
    own.set(token, service);
    needs.set(token.service, service);
  }
  const instance: HttpModule & Lifecycle = limited(() => services.construct(moduleClass, PLACES[role], own));
  const hooks = limitedHooks(instance, limited);
  const { isShipped } = module;
  const life = new ModuleLife(name, hooks, isShipped ? undefined : guard, tasks, log);
  return { name, file, declaration, instance, hooks, limited, needs, isShipped, life };
}

/** True if the object of a module still has the services that it would be given now. */
export function isCurrent({ needs }: RunningModule, others: ModuleServices): boolean {
  return [...needs].every(([name, service]) => others.find(name) === service);
}
