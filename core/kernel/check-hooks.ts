/** Checks the names of a module's methods: srv calls some of them, and a misspelt one would never run. */
import { nearest } from '../contract/suggest.js';
import { actionsOf, routesOf } from '../contract/control.js';
import type { ModuleKind } from '../contract/manifest.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';

/** What the HTTP engine calls: also of modules of the control plane, which has one. */
const HTTP_HOOKS = ['compile', 'compileServer', 'compileTls', 'compileVariables', 'balancer', 'affinity', 'health'];
/** What the stream engine calls of its modules. */
const STREAM_HOOKS = ['compile', 'compileTls', 'compileVariables', 'balancer'];
/** What srv calls. */
const HOOKS = ['start', 'handOver', 'stop'];
/** What it reads. */
const FIELDS = ['variables', 'variablePrefixes'];

/** Everything that is wrong with the methods and fields of a module's object, as far as srv uses them. */
export function* hookErrors(instance: object, kind: ModuleKind): ManifestErrors {
  const declared = new Set([...actionsOf(instance).values(), ...routesOf(instance).map(({ method }) => method)]);
  for (const [name, value] of membersOf(instance)) {
    if (declared.has(name)) continue;
    if (HOOKS.includes(name) || HTTP_HOOKS.includes(name)) yield* hookError(name, value, kind);
    else if (typeof value === 'function') yield* misspelt(name, [...HOOKS, ...engineHooks(kind)]);
    else if (typeof value === 'object' && engineHooks(kind).length > 0) yield* misspelt(name, FIELDS);
  }
}

function* hookError(name: string, value: unknown, kind: ModuleKind): ManifestErrors {
  if (value === undefined) return;
  if (HTTP_HOOKS.includes(name) && !engineHooks(kind).includes(name))
    yield new ManifestError(
      `"${name}" is a hook of HTTP modules, this is a ${kind}Module`,
      'declare the class with @httpModule, or give the method another name',
    );
  else if (typeof value !== 'function') yield new ManifestError(`"${name}" must be a function`);
}

function engineHooks(kind: ModuleKind): readonly string[] {
  if (kind === 'stream') return STREAM_HOOKS;
  return kind === 'http' || kind === 'control' ? HTTP_HOOKS : [];
}

function* misspelt(name: string, known: readonly string[]): ManifestErrors {
  if (known.includes(name)) return;
  const meant = known.find((hook) => hook.toLowerCase() === name.toLowerCase()) ?? nearest(name, known, 1);
  if (meant !== undefined) yield new ManifestError(`unknown hook "${name}"`, `did you mean "${meant}"? If not, choose another name`);
}

/** Own fields and the methods of all classes of an object. Getters are left alone. */
function* membersOf(instance: object): Generator<[name: string, value: unknown]> {
  for (let at: unknown = instance; at instanceof Object && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) if (name !== 'constructor') yield [name, value];
  }
}
