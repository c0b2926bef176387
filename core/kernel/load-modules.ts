import type { ConfigError } from '../config/errors.js';
import { ownDirectives } from '../config/conf.js';
import type { Plane } from '../module/manifest.js';
import type { Log } from '../module/services.js';
import type { Block, Directive } from '../module/tree.js';
import { findModules } from './find-module.js';
import type { Installation } from './installation.js';
import { loadErrors } from './load-errors.js';
import type { LoopGuard } from './loop-guard.js';
import { bundledModules, importModule, moduleOf, shippedModule } from './module-file.js';
import { ModuleLoadError } from './module-load-error.js';
import { ModuleSet } from './module-set.js';
import { BUILT_IN_MODULES, STANDARD_MODULES } from './standard-modules.js';

export interface ModuleSource {
  readonly plane: Exclude<Plane, 'both'>;
  readonly prefix: string;
  readonly installation: Installation;
  /** Another thread has checked the modules that come with srv. */
  readonly isChecked?: boolean;
  /** Where the stack goes of what a module throws. */
  readonly log: Log;
  readonly guard: LoopGuard;
}

/** The `load_module` lines of a configuration. */
export function loadModuleLines(root: Block): readonly Directive[] {
  return ownDirectives(root, 'load_module');
}

/** What could be loaded, and why the rest could not. */
export interface ModuleLoad {
  readonly set: ModuleSet;
  readonly errors: readonly ConfigError[];
}

/** Loads the kernel's own modules, the standard ones that fit this plane, and those of the `load_module` lines, in this order. */
export async function loadModules(root: Block, source: ModuleSource): Promise<ModuleLoad> {
  const set = new ModuleSet(source.plane, source.installation);
  const errors: ConfigError[] = [];
  for (const module of BUILT_IN_MODULES) set.add(moduleOf(import.meta.filename, { module }, source.plane, source.isChecked));
  await addStandardModules(set, source, errors);
  for (const line of loadModuleLines(root)) {
    const [name] = line.args;
    // A line without a name, or with more words, is for the validation to refuse.
    if (name === undefined) continue;
    try {
      await addNamed(set, name.text, line, source);
    } catch (error) {
      errors.push(...loadErrors(error, line, source.log));
    }
  }
  return { set, errors };
}

async function addStandardModules(
  set: ModuleSet,
  { installation, log, plane, isChecked, guard }: ModuleSource,
  errors: ConfigError[],
): Promise<void> {
  const bundled = await bundledModules(installation);
  const imported = await Promise.allSettled(
    STANDARD_MODULES.map(async (name) => {
      const [file, exported] = [shippedModule(installation, name), bundled[name]];
      return exported === undefined ? importModule(file, installation, plane, guard) : moduleOf(file, exported, plane, isChecked);
    }),
  );
  for (const result of imported) {
    try {
      if (result.status === 'rejected') throw result.reason;
      if (set.fits(result.value)) set.add(result.value);
    } catch (error) {
      errors.push(...loadErrors(error, undefined, log));
    }
  }
}

/** Adds what one line names. Of a package with several modules, those for this plane. */
async function addNamed(
  set: ModuleSet,
  name: string,
  line: Directive,
  { prefix, installation, plane, guard }: ModuleSource,
): Promise<void> {
  const files = findModules(name, prefix, installation);
  const modules = await Promise.all(files.map((file) => importModule(file, installation, plane, guard)));
  const fitting = modules.length === 1 ? modules : modules.filter((module) => set.fits(module));
  if (fitting.length === 0) throw new ModuleLoadError(`package "${name}" has no module for the ${plane} plane`);
  for (const module of fitting) set.add(module, line);
}
