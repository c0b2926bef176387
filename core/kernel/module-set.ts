import { SpecRegistry } from '../config/registry.js';
import type { Plane } from '../module/manifest.js';
import { ModuleLoadError, type LoadedModule } from './module-file.js';

/** The modules of one server in load order. Each is checked against those before it when it is added. */
export class ModuleSet implements Iterable<LoadedModule> {
  readonly registry = new SpecRegistry();
  readonly #modules = new Map<string, LoadedModule>();

  /** @param plane what this server is: traffic (`data`) or the process of `helper ctrl` (`control`). */
  constructor(readonly plane: Exclude<Plane, 'both'>) {}

  [Symbol.iterator](): Iterator<LoadedModule> {
    return this.#modules.values();
  }

  has(name: string): boolean {
    return this.#modules.has(name);
  }

  /** True if the module may be loaded on this plane. One that does not say may be loaded on either. */
  fits(module: LoadedModule): boolean {
    const { plane = 'both' } = module.declaration.manifest;
    return plane === 'both' || plane === this.plane;
  }

  /** @throws ModuleLoadError for a wrong plane, a name or directive that is taken, a module it needs that is not there. */
  add(module: LoadedModule): void {
    const { name, declaration } = module;
    if (!this.fits(module)) throw wrongPlane(name, this.plane);
    const known = this.#modules.get(name);
    if (known) {
      const hint =
        known.file === module.file ? 'it is loaded by default or by an earlier line: remove this one' : `the first is ${known.file}`;
      throw new ModuleLoadError(`module "${name}" is already loaded`, hint);
    }
    const missing = (declaration.manifest.needs ?? []).filter((need) => !this.#modules.has(need));
    if (missing.length > 0) throw needsOthers(name, missing);
    const faults = this.registry.register(name, declaration.manifest.directives ?? {});
    if (faults.length > 0) throw new ModuleLoadError(`module "${name}" cannot be loaded: ${faults.join('; ')}`);
    this.#modules.set(name, module);
  }
}

function wrongPlane(name: string, plane: 'data' | 'control'): ModuleLoadError {
  if (plane === 'data') {
    const hint = 'load it in the configuration that "helper ctrl" names, srv_ctrl.conf';
    return new ModuleLoadError(`module "${name}" belongs to the control plane and cannot be loaded in the data plane`, hint);
  }
  const hint = 'load it in the main configuration, srv.conf';
  return new ModuleLoadError(`module "${name}" belongs to the data plane and cannot be loaded in the control plane`, hint);
}

function needsOthers(name: string, missing: readonly string[]): ModuleLoadError {
  const lines = missing.map((need) => `load_module modules/${need}.js;`).join(' ');
  return new ModuleLoadError(`module "${name}" needs ${missing.map((need) => `"${need}"`).join(', ')}`, `add before it: ${lines}`);
}
