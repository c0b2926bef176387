import { SpecRegistry } from '../config/registry.js';
import { nearest } from '../contract/suggest.js';
import type { Plane } from '../contract/manifest.js';
import { blockContext, CONTEXTS, type ContextName, type Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import type { Installation } from './installation.js';
import type { LoadedModule } from './module-file.js';
import { ModuleErrors, ModuleLoadError } from './module-load-error.js';
import { isModuleService } from './module-services.js';
import { wantedServices } from './services.js';

/** The modules of one server in load order. Each is checked against those before it when it is added. */
export class ModuleSet implements Iterable<LoadedModule> {
  readonly registry = new SpecRegistry();
  readonly #modules = new Map<string, LoadedModule>();
  readonly #lines = new Map<string, Directive>();
  /** Names of the services that these modules provide. */
  readonly #services = new Set<string>();
  /** Contexts of directives: srv's own, and the ones that directives of these modules open. */
  readonly #contexts = new Set<ContextName>(CONTEXTS);

  /** @param plane what this server is: traffic (`data`) or the process of `helper ctrl` (`control`). */
  constructor(
    readonly plane: Exclude<Plane, 'both'>,
    private readonly installation: Installation,
  ) {}

  /** True for the name of a module that comes with srv, loaded or not. */
  isShipped(name: string): boolean {
    return this.installation.modules.has(name);
  }

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

  /** True if all modules are here that it names, that provide its services, or that open the contexts of its directives. */
  hasNeedsOf(module: LoadedModule): boolean {
    const { directives = {} } = module.declaration.manifest;
    const contexts = new Set([...this.#contexts, ...openedContexts(directives)]);
    return (
      this.#missingNeeds(module).length === 0 && this.#hasServicesOf(module) && unknownContexts(directives, contexts).next().done === true
    );
  }

  #hasServicesOf({ class: moduleClass, declaration }: LoadedModule): boolean {
    const wanted = [...(declaration.manifest.needs ?? []), ...declaredServices(moduleClass)].filter(isModuleService);
    return wanted.every(({ service }) => this.#services.has(service));
  }

  #missingNeeds({ declaration }: LoadedModule): readonly string[] {
    return (declaration.manifest.needs ?? []).filter((need): need is string => typeof need === 'string' && !this.#modules.has(need));
  }

  /** The `load_module` line that asked for the module; undefined if it is loaded by default. */
  lineOf({ name }: Pick<LoadedModule, 'name'>): Directive | undefined {
    return this.#lines.get(name);
  }

  /** @throws ModuleLoadError for a wrong plane, a name or directive in use, an unknown context, a missing module that it needs. */
  add(module: LoadedModule, line?: Directive): void {
    const { name, declaration } = module;
    if (!this.fits(module)) throw wrongPlane(name, this.plane);
    const known = this.#modules.get(name);
    if (known) {
      const hint =
        known.file === module.file ? 'it is loaded by default or by an earlier line: remove this one' : `the first is ${known.file}`;
      throw new ModuleLoadError(`module "${name}" is already loaded`, hint);
    }
    const missing = this.#missingNeeds(module);
    if (missing.length > 0) throw needsOthers(name, missing, (need) => this.isShipped(need));
    const directives = declaration.manifest.directives ?? {};
    for (const context of openedContexts(directives)) this.#contexts.add(context);
    const strange = [...unknownContexts(directives, this.#contexts)];
    if (strange.length > 0) throw new ModuleErrors(module.file, strange);
    const conflicts = this.registry.register(name, directives);
    if (conflicts.length > 0) throw new ModuleLoadError(`module "${name}" cannot be loaded: ${conflicts.join('; ')}`, CONFLICT_HINT);
    this.#modules.set(name, module);
    for (const { service } of declaration.manifest.provides ?? []) this.#services.add(service);
    if (line) this.#lines.set(name, line);
  }
}

function* unknownContexts(directives: Directives, known: ReadonlySet<ContextName>): ManifestErrors {
  for (const [name, spec] of Object.entries(directives)) {
    if (typeof spec.block === 'object') yield* unknownContexts(spec.block.directives, known);
    for (const context of spec.in) {
      if (!known.has(context)) yield new ManifestError(`directive "${name}": unknown context "${context}"`, contextHint(context, known));
    }
  }
}

/** Services that a constructor names. Empty for one that names them wrongly, which is an error when it is called. */
function declaredServices(moduleClass: LoadedModule['class']): readonly unknown[] {
  try {
    return wantedServices(moduleClass);
  } catch (error) {
    if (error instanceof ManifestError) return [];
    throw error;
  }
}

/** The contexts that the blocks of directives open, also those inside of typed blocks. */
function* openedContexts(directives: Directives): Generator<ContextName> {
  for (const spec of Object.values(directives)) {
    const context = blockContext(spec);
    if (context !== undefined && context !== 'entries') yield context;
    if (typeof spec.block === 'object') yield* openedContexts(spec.block.directives);
  }
}

const CONFLICT_HINT = 'all modules share the names of directives: choose another one, with a word of your own in front';

function contextHint(context: string, known: ReadonlySet<string>): string {
  const longer = [...known].filter((name) => name.startsWith(`${context} `));
  if (longer.length > 0) return `one of: ${longer.join(', ')}`;
  const meant = nearest(context, known);
  return meant === undefined ? 'if another module opens it, load that one first' : `did you mean "${meant}"?`;
}

function wrongPlane(name: string, plane: 'data' | 'control'): ModuleLoadError {
  if (plane === 'data') {
    const hint = 'it is for the configuration that "helper ctrl" names; "srv -t" on the main configuration checks that one too';
    return new ModuleLoadError(`module "${name}" belongs to the control plane and cannot be loaded in the data plane`, hint);
  }
  const hint = 'load it in the main configuration, srv.conf';
  return new ModuleLoadError(`module "${name}" belongs to the data plane and cannot be loaded in the control plane`, hint);
}

function needsOthers(name: string, missing: readonly string[], isShipped: (name: string) => boolean): ModuleLoadError {
  const lines = missing.map((need) => (isShipped(need) ? `load_module modules/${need}.so;` : `the load_module line of "${need}"`));
  return new ModuleLoadError(
    `module "${name}" needs ${missing.map((need) => `"${need}"`).join(', ')}`,
    `add before it: ${lines.join(' ')}`,
  );
}
