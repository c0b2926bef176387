import type { ModuleHooks } from '../config/modules-in-force.js';
import { actionsOf, routesOf } from '../contract/control.js';
import type { ModuleKind } from '../contract/manifest.js';
import type { LimitedCall } from './call-limit.js';

type HookName = keyof ModuleHooks;

const EVERY: readonly ModuleKind[] = ['core', 'http', 'stream', 'control', 'helper'];
/** Modules of the control plane are part of an HTTP engine too. */
const HTTP: readonly ModuleKind[] = ['http', 'control'];
const BOTH_ENGINES: readonly ModuleKind[] = [...HTTP, 'stream'];

/** Methods that srv calls, with the kinds of modules on which it calls them. */
const KINDS: Readonly<Record<HookName, readonly ModuleKind[]>> = {
  start: EVERY,
  handOver: EVERY,
  stop: EVERY,
  compileMain: EVERY,
  compile: BOTH_ENGINES,
  compileServer: HTTP,
  compileTls: BOTH_ENGINES,
  compileVariables: BOTH_ENGINES,
  balancer: BOTH_ENGINES,
  affinity: HTTP,
  health: HTTP,
  members: HTTP,
};

export const HOOKS = Object.keys(KINDS) as readonly HookName[];

/** Hooks of modules of a kind. */
export function hooksOf(kind: ModuleKind): readonly HookName[] {
  return HOOKS.filter((name) => KINDS[name].includes(kind));
}

/** Names of the methods that are actions or routes: srv calls such a method for that alone, whatever its name is. */
export function declaredMethods(instance: object): ReadonlySet<string> {
  return new Set([...actionsOf(instance).values(), ...routesOf(instance).map(({ method }) => method)]);
}

/** The hooks of a module's object, each of them called through `limit`. A method of another kind's hook is a method like any other. */
export function limitedHooks(instance: ModuleHooks, kind: ModuleKind, limit: LimitedCall): ModuleHooks {
  const declared = declaredMethods(instance);
  const names = hooksOf(kind).filter((name) => instance[name] !== undefined && !declared.has(name));
  const limited = (name: HookName) => {
    const method = instance[name] as (...args: readonly unknown[]) => unknown;
    return (...args: readonly unknown[]): unknown => limit(() => method.apply(instance, [...args]));
  };
  return Object.fromEntries(names.map((name) => [name, limited(name)]));
}
