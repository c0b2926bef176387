import { resolve } from 'node:path';
import { compileTemplate, templateParts } from '../config/template.js';
import type { SpecRegistry } from '../config/registry.js';
import { defineCoreVariables } from '../http/core-variables.js';
import { HttpVariables } from '../http/variables.js';
import type { HttpModule, Lifecycle, ModuleDeclaration } from '../module/manifest.js';
import type { ArgContext } from '../module/spec.js';
import type { LoadedModule } from './module-file.js';
import type { ModuleSet } from './module-set.js';

/** A module at work in one thread: its one object there. */
export interface RunningModule {
  readonly name: string;
  readonly file: string;
  readonly declaration: ModuleDeclaration;
  readonly instance: HttpModule & Lifecycle;
}

/** The modules of one server in one thread, in load order, with what they bring together. Immutable. */
export class RunningModules implements Iterable<RunningModule> {
  readonly variables = new HttpVariables();
  /** Reads arguments with the variables of these modules, and paths under these folders. */
  readonly args: ArgContext;

  /** @throws RangeError when two modules define one variable. */
  constructor(
    private readonly modules: readonly RunningModule[],
    readonly set: ModuleSet,
    folders: { readonly prefix: string; readonly confFolder: string },
  ) {
    defineCoreVariables(this.variables);
    for (const module of modules) defineVariables(this.variables, module);
    this.args = {
      // Requests are strings of bytes, so values made of them are too: `é` of the configuration is two characters here.
      template: (text) => compileTemplate(Buffer.from(text).latin1Slice(), (name) => this.variables.getter(name)),
      parts: (text) => templateParts(Buffer.from(text).latin1Slice(), (name) => this.variables.getter(name)),
      path: (text, under) => resolve(under === 'conf' ? folders.confFolder : folders.prefix, text),
    };
  }

  get registry(): SpecRegistry {
    return this.set.registry;
  }

  [Symbol.iterator](): Iterator<RunningModule> {
    return this.modules[Symbol.iterator]();
  }

  /** The module of that name which came from that file. */
  same({ name, file }: LoadedModule): RunningModule | undefined {
    return this.modules.find((module) => module.name === name && module.file === file);
  }
}

function defineVariables(variables: HttpVariables, { declaration, instance }: RunningModule): void {
  for (const [name, getter] of Object.entries({ ...declaration.manifest.variables, ...instance.variables })) variables.define(name, getter);
  for (const [prefix, make] of Object.entries(instance.variablePrefixes ?? {})) variables.definePrefix(prefix, make);
}
