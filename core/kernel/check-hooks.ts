/** Checks the names of a module's methods: srv calls some of them, and a misspelt one would never run. */
import { nearest } from '../module/suggest.js';
import { actionsOf, routesOf } from '../module/control.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';

/** What srv calls. */
const HOOKS = ['start', 'stop', 'compile', 'compileServer', 'compileTls', 'compileVariables', 'balancer'];
/** What it reads. */
const FIELDS = ['variables', 'variablePrefixes'];

/** Everything that is wrong with the methods and fields of a module's object, as far as srv uses them. */
export function* hookErrors(instance: object): ManifestErrors {
  const declared = new Set([...actionsOf(instance).values(), ...routesOf(instance).map(({ method }) => method)]);
  for (const [name, value] of membersOf(instance)) {
    if (declared.has(name)) continue;
    if (HOOKS.includes(name)) yield* hookError(name, value);
    else if (typeof value === 'function') yield* misspelt(name, HOOKS);
    else if (typeof value === 'object') yield* misspelt(name, FIELDS);
  }
}

function* hookError(name: string, value: unknown): ManifestErrors {
  if (value !== undefined && typeof value !== 'function') yield new ManifestError(`"${name}" must be a function`);
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
