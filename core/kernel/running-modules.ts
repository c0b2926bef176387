import { resolve } from 'node:path';
import type { ConfigError } from '../config/errors.js';
import type { ModulesInForce } from '../config/modules-in-force.js';
import { variableHint } from '../config/variable-hints.js';
import { compileTemplate, templateParts } from '../config/template.js';
import type { SpecRegistry } from '../config/registry.js';
import { defineCoreVariables } from '../http/core-variables.js';
import type { HttpRequest } from '../contract/http.js';
import type { ModuleDeclaration } from '../contract/manifest.js';
import type { Log } from '../contract/log.js';
import type { ServerInfo } from '../contract/server-info.js';
import { engineOf, type AnyArgContext, type ArgContext, type ContextName, type EngineName } from '../contract/spec.js';
import type { StreamSession } from '../contract/stream.js';
import type { Getter } from '../contract/template.js';
import { defineStreamVariables } from '../stream/core-variables.js';
import type { Variables } from '../config/variables.js';
import { defaultErrors } from './check-defaults.js';
import { hookErrors } from './check-hooks.js';
import { EngineVariables } from './engine-variables.js';
import { routeErrors } from './check-routes.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';
import { loadErrors } from './load-errors.js';
import type { Installation } from './installation.js';
import type { LoadedModule } from './module-file.js';
import { ModuleErrors, ModuleLoadError, SEE_LOG } from './module-load-error.js';
import { ModuleConflicts } from './module-conflicts.js';
import { ModuleOrder } from './module-order.js';
import { ModuleServices } from './module-services.js';
import { VariableDefiner } from './module-variables.js';
import type { ModuleSet } from './module-set.js';
import type { RunningModule } from './running-module.js';

/** Abstract class of a service that a module provides. */
export type ServiceType<T> = (abstract new () => T) & { readonly service: string };

/** Where relative paths are, and where it is logged what modules throw. */
interface Surroundings {
  readonly role: ServerInfo['role'];
  readonly prefix: string;
  readonly confFolder: string;
  readonly log: Log;
  readonly installation: Pick<Installation, 'version'>;
}

/** @param others the services of the modules before it */
export type RunModule = (module: LoadedModule, others: ModuleServices) => RunningModule;

/** The modules of one server in one thread. */
export class RunningModules implements ModulesInForce {
  readonly variables = new EngineVariables();
  readonly args: ArgContext;
  readonly streamArgs: ArgContext<StreamSession>;
  /** Why some of the set are not at work, or not fit for it. */
  readonly errors: readonly ConfigError[];
  #modules: RunningModule[] = [];
  readonly #services = new ModuleServices();

  /** @param run makes the object of a module, or gives the one that is at work already */
  constructor(
    readonly set: ModuleSet,
    run: RunModule,
    { role, prefix, confFolder, log, installation }: Surroundings,
  ) {
    defineCoreVariables(this.variables.http, installation.version);
    defineStreamVariables(this.variables.stream, installation.version);
    const path: ArgContext['path'] = (text, under) => resolve(under === 'conf' ? confFolder : prefix, text);
    this.args = argContext<HttpRequest>(this.variables.http, this.variables.stream, path);
    this.streamArgs = argContext<StreamSession>(this.variables.stream, this.variables.http, path);
    const definer = new VariableDefiner(this.variables);
    const conflicts = new ModuleConflicts();
    const services = this.#services;
    const order = new ModuleOrder(Array.from(set, ({ declaration }) => declaration.manifest));
    // The master has checked the modules that a worker loads, and the tests the modules of srv.
    const foreign = role === 'worker' ? [] : Array.from(set).filter(({ isShipped }) => !isShipped);
    function* declarationErrors(running: RunningModule): ManifestErrors {
      const { instance, declaration } = running;
      yield* hookErrors(instance, declaration.kind);
      yield* routeErrors(instance);
      yield* conflicts.add(running);
      yield* order.errors(declaration.manifest, (name) => set.isShipped(name));
    }
    const start = (module: LoadedModule): void => {
      const running = runOrExplain(module, () => run(module, services));
      this.#modules.push(running);
      throwErrors(module, [
        ...(foreign.length > 0 ? declarationErrors(running) : []),
        ...definer.define(running),
        ...services.add(module, running.instance),
      ]);
    };
    // After all variables are known: a default may have some.
    const checkDefaults = (module: LoadedModule): void =>
      throwErrors(module, defaultErrors(module.declaration.manifest.directives ?? {}, this.argsOf(engineOfModule(module.declaration))));
    this.errors = [...errorsOf(start, set, set, log), ...errorsOf(checkDefaults, foreign, set, log)];
    if (order.hasNames) this.#modules = this.#modules.map((module) => ranked(module, order.ranksOf(module.name)));
  }

  get registry(): SpecRegistry {
    return this.set.registry;
  }

  argsIn(context: ContextName): AnyArgContext {
    return this.argsOf(engineOf(context));
  }

  argsOf(engine: EngineName): AnyArgContext {
    return engine === 'stream' ? this.streamArgs : this.args;
  }

  /** A service of a module. @throws Error when no module provides it */
  service<T extends object>(type: ServiceType<T>): T {
    const found = this.optionalService(type);
    if (found === undefined) throw new Error(`no module provides the service "${type.service}"`);
    return found;
  }

  /** As {@link service}. Undefined: no module provides it. */
  optionalService<T extends object>({ service }: ServiceType<T>): T | undefined {
    return this.#services.find(service) as T | undefined;
  }

  /** All of them come with srv. */
  get areShipped(): boolean {
    return this.#modules.every(({ isShipped }) => isShipped);
  }

  [Symbol.iterator](): Iterator<RunningModule> {
    return this.#modules[Symbol.iterator]();
  }

  /** The module of that name with the same code. */
  same({ name, file, version }: LoadedModule): RunningModule | undefined {
    return this.#modules.find((module) => module.name === name && module.file === file && module.version === version);
  }

  named(name: string): RunningModule | undefined {
    return this.#modules.find((module) => module.name === name);
  }
}

/** Requests are strings of bytes, so values made of them are too: `é` of the configuration is two characters here. */
function argContext<R>(variables: Variables<R>, others: Pick<Variables<never>, 'getter'>, path: ArgContext['path']): ArgContext<R> {
  const lookup = (name: string): Getter<R> | undefined => variables.getter(name);
  const hintFor = (name: string): string | undefined => variableHint(name, variables.names(), others.getter(name) !== undefined);
  return {
    template: (text) => compileTemplate(Buffer.from(text).latin1Slice(), lookup, hintFor),
    parts: (text) => templateParts(Buffer.from(text).latin1Slice(), lookup, hintFor),
    path,
  };
}

function engineOfModule({ kind }: ModuleDeclaration): EngineName {
  return kind === 'stream' ? 'stream' : 'http';
}

/** The module with its place in the order of all modules in place of the numbers it has declared. */
function ranked(module: RunningModule, phases: ModuleDeclaration['manifest']['phases']): RunningModule {
  const { kind, manifest } = module.declaration;
  return { ...module, declaration: { kind, manifest: { ...manifest, ...(phases && { phases }) } } };
}

/** Does a step with each module, and reports each failure. */
function errorsOf(step: (module: LoadedModule) => void, modules: Iterable<LoadedModule>, set: ModuleSet, log: Log): ConfigError[] {
  return [...modules].flatMap((module) => {
    try {
      step(module);
      return [];
    } catch (error) {
      return loadErrors(error, set.lineOf(module), log);
    }
  });
}

function runOrExplain(module: LoadedModule, run: () => RunningModule): RunningModule {
  try {
    return run();
  } catch (error) {
    if (error instanceof ManifestError) throw new ModuleErrors(module.file, [error]);
    const reason = error instanceof Error ? error.message : String(error);
    throw new ModuleLoadError(`cannot load module "${module.file}": its constructor failed: ${reason}`, SEE_LOG, { cause: error });
  }
}

function throwErrors({ file }: LoadedModule, errors: Iterable<ManifestError>): void {
  const all = [...errors];
  if (all.length > 0) throw new ModuleErrors(file, all);
}
