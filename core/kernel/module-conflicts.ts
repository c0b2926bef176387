import { actionsOf, routesOf } from '../contract/control.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import type { RunningModule } from './running-module.js';

/** Finds what two modules of one server have both declared, or one module twice. Otherwise the last one would win silently. */
export class ModuleConflicts {
  readonly #actions = new Map<string, string>();
  readonly #keys = new Map<string, string>();

  *add({ name: module, declaration, instance }: RunningModule): ManifestErrors {
    for (const action of actionsOf(instance).keys()) yield* claim(this.#actions, 'action', action, module);
    const { key, settings = [] } = declaration.manifest;
    for (const setting of settings) yield* claim(this.#keys, 'key', setting.key, module);
    if (key === undefined) return;
    yield* claim(this.#keys, 'key', key, module);
    const seen = new Map<string, string>();
    for (const { verb, path } of routesOf(instance)) {
      // Paths that differ in the names of their parameters only are the same.
      const shape = `${verb} ${path.replaceAll(/:\w+/g, ':').replace(/\/$/, '')}`;
      const other = seen.get(shape);
      if (other === undefined) seen.set(shape, path);
      else yield new ManifestError(`route ${verb} "${path}" is the same as ${verb} "${other}"`, 'a call could not tell them apart');
    }
  }
}

function* claim(owners: Map<string, string>, what: string, name: string, module: string): ManifestErrors {
  const other = owners.get(name);
  if (other === undefined) owners.set(name, module);
  else yield new ManifestError(`${what} "${name}" is declared by both "${other}" and "${module}"`, 'choose another name');
}
