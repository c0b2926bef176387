/** Checks the names of a module's methods: srv calls some of them, and a misspelt one would never run. */
import { nearest } from '../contract/suggest.js';
import type { ModuleKind } from '../contract/manifest.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import { declaredMethods, HOOKS, hooksOf } from './module-hooks.js';

/** Fields that srv reads. */
const FIELDS = ['variables', 'variablePrefixes'];

/** Everything that is wrong with the methods and fields of a module's object, as far as srv uses them. */
export function* hookErrors(instance: object, kind: ModuleKind): ManifestErrors {
  const declared = declaredMethods(instance);
  const hooks: readonly string[] = hooksOf(kind);
  for (const [name, value] of membersOf(instance)) {
    if (declared.has(name)) continue;
    if ((HOOKS as readonly string[]).includes(name)) yield* hookError(name, value, kind, hooks);
    else if (typeof value === 'function') yield* misspelt(name, hooks);
    else if (typeof value === 'object' && hooks.includes('compile')) yield* misspelt(name, FIELDS);
  }
}

function* hookError(name: string, value: unknown, kind: ModuleKind, hooks: readonly string[]): ManifestErrors {
  if (value === undefined) return;
  if (!hooks.includes(name))
    yield new ManifestError(
      `"${name}" is a hook of HTTP modules, this is a ${kind}Module`,
      'declare the class with @httpModule, or give the method another name',
    );
  else if (typeof value !== 'function') yield new ManifestError(`"${name}" must be a function`);
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
