import type { HttpModule, Lifecycle } from '../contract/manifest.js';
import { Log } from '../contract/log.js';
import type { ServerInfo } from '../contract/server-info.js';
import type { CodeVersion } from '../config/module-share.js';
import type { ModuleInForce } from '../config/modules-in-force.js';
import { TimeIsOver, within } from '../changes/time-limit.js';
import { CALL_MS, type CallLimit, type LimitedCall } from './call-limit.js';
import type { LoopGuard } from './loop-guard.js';
import type { LoadedModule } from './module-file.js';
import { limitedHooks } from './module-hooks.js';
import { type Belonging, ModuleLife } from './module-life.js';
import { ownServices } from './own-services.js';
import { isModuleService, type ModuleServices } from './module-services.js';
import { missingService, wantedServices, type Services } from './services.js';

/** A module at work in one thread: its one object there. */
export interface RunningModule extends ModuleInForce, CodeVersion {
  readonly file: string;
  /** Makes further calls of its code, which are limited in the same way. */
  readonly limited: LimitedCall;
  /** It comes with srv. */
  readonly isShipped: boolean;
  readonly life: ModuleLife;
  /** The services of other modules that its constructor was given, by name. */
  readonly needs: ReadonlyMap<string, object>;
}

/** Surroundings in which a module is created. */
export interface ModuleSurroundings {
  readonly services: Services;
  readonly role: ServerInfo['role'];
  /** The server's. */
  readonly log: Log;
  readonly callLimit: CallLimit;
  readonly resourceLimit: CallLimit;
  readonly guard: LoopGuard;
  /** See `InstanceOptions`. */
  readonly onCall?: ((module: string | undefined) => void) | undefined;
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
  { services, role, log, callLimit, resourceLimit, guard, onCall }: ModuleSurroundings,
): RunningModule {
  const { name, file, version, declaration, class: moduleClass } = module;
  // The master ends a worker that hangs. The main thread cannot be ended.
  const limited: LimitedCall = role === 'worker' ? announced(name, onCall) : module.isShipped ? (call) => call() : callLimit.run;
  const { own, tasks, belongings } = ownServices(module, { services, log, limited });
  const needs = new Map<string, object>();
  for (const token of [...(declaration.manifest.needs ?? []), ...wantedServices(moduleClass)].filter(isModuleService)) {
    const service = others.find(token.service);
    if (service === undefined) throw missingService(token.service);
    own.set(token, service);
    needs.set(token.service, service);
  }
  const construct = (): object => services.construct(moduleClass, PLACES[role], own);
  const instance: HttpModule & Lifecycle = constructOrClose(() => limited(construct), belongings);
  const hooks = limitedHooks(instance, declaration.kind, limited);
  const { isShipped } = module;
  const life = new ModuleLife(name, hooks, isShipped ? undefined : guard, tasks, belongings, log);
  const resourceLimits = isShipped ? undefined : { call: resourceLimit.run, ready: (ready: Promise<void>) => readyInTime(name, ready) };
  return { name, file, version, declaration, instance, hooks, limited, resourceLimits, needs, isShipped, life };
}

/** An object whose constructor throws leaves nothing open. */
function constructOrClose<T>(construct: () => T, belongings: readonly Belonging[]): T {
  try {
    return construct();
  } catch (error) {
    for (const belonging of belongings) belonging.close();
    throw error;
  }
}

/** True if the object of a module still has the services that it would be given now. */
export function isCurrent({ needs }: RunningModule, others: ModuleServices): boolean {
  return [...needs].every(([name, service]) => others.find(name) === service);
}

/** @throws Error when a resource of the module is not ready in time: the change waits for it, and those after it */
async function readyInTime(module: string, ready: Promise<void>): Promise<void> {
  try {
    await within(CALL_MS, ready);
  } catch (error) {
    if (!(error instanceof TimeIsOver)) throw error;
    throw new Error(`what module "${module}" has opened was not ready within ${CALL_MS / 1000} s`, { cause: error });
  }
}

/** Makes calls, and says of each that it begins and that it has returned. */
function announced(name: string, onCall: (module: string | undefined) => void = () => undefined): LimitedCall {
  return (call) => {
    onCall(name);
    try {
      return call();
    } finally {
      onCall(undefined);
    }
  };
}
