import type { ModuleService } from '../contract/manifest.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import type { LoadedModule } from './module-file.js';

/** True for a class that names a service of modules. */
export function isModuleService(value: unknown): value is ModuleService {
  return typeof value === 'function' && 'service' in value && typeof value.service === 'string' && value.service !== '';
}

/** The services that the modules of one server have for each other, by name. */
export class ModuleServices {
  readonly #providers = new Map<string, { readonly module: string; readonly service: object }>();

  find(name: string): object | undefined {
    return this.#providers.get(name)?.service;
  }

  /** Makes the object of a module known as the services it provides. @returns the names that another module has */
  *add({ name: module, declaration }: Pick<LoadedModule, 'name' | 'declaration'>, service: object): ManifestErrors {
    for (const { service: name } of declaration.manifest.provides ?? []) {
      const other = this.#providers.get(name);
      if (other === undefined) this.#providers.set(name, { module, service });
      else yield new ManifestError(`service "${name}" is provided by both "${other.module}" and "${module}"`, 'load one of them');
    }
  }
}
