import type { ConfigError } from '../config/errors.js';
import { ownDirectives } from '../config/conf.js';
import type { Plane } from '../contract/manifest.js';
import type { Log } from '../contract/log.js';
import type { Block, Directive } from '../contract/tree.js';
import { isPattern } from '../config/glob.js';
import type { CodeVersion, ModulePlan } from '../config/module-share.js';
import { findModules, isBuiltIn, matchingModules } from './find-module.js';
import type { Installation } from './installation.js';
import { loadErrors } from './load-errors.js';
import type { LoopGuard } from './loop-guard.js';
import { moduleCode } from './module-code.js';
import { bundledModules, importModule, isShippedFile, moduleOf, shippedModule, type LoadedModule } from './module-file.js';
import { ModuleLoadError } from './module-load-error.js';
import { ModuleSet } from './module-set.js';
import { BUILT_IN_MODULES, STANDARD_MODULES } from './standard-modules.js';

export interface ModuleSource {
  readonly plane: Exclude<Plane, 'both'>;
  readonly prefix: string;
  readonly installation: Installation;
  /** Where the stack goes of what a module throws. */
  readonly log: Log;
  readonly guard: LoopGuard;
}

/** The `load_module` lines of a configuration. */
export function loadModuleLines(root: Block): readonly Directive[] {
  return ownDirectives(root, 'load_module');
}

/** Loaded modules, and why the rest could not be loaded. */
export interface ModuleLoad {
  readonly set: ModuleSet;
  readonly errors: readonly ConfigError[];
}

/**
 * Finds the modules of a configuration in the versions that their files have now.
 * @param inForce the current modules: a version stays the same if its files do
 */
export function planModules(
  root: Block,
  { prefix, installation }: Pick<ModuleSource, 'prefix' | 'installation'>,
  inForce: ModulePlan = new Map(),
): ModulePlan {
  const versions = new Map(Array.from(inForce.values()).flatMap((codes) => codes.map(({ file, version }) => [file, version])));
  let next: number | undefined;
  const versionOf = (file: string): CodeVersion => {
    if (isShippedFile(file, installation)) return { file, version: 0 };
    const version = moduleCode.upToDate(file, versions.get(file)) ?? (next ??= moduleCode.next());
    return { file, version };
  };
  const plan = new Map<string, readonly CodeVersion[]>();
  for (const { args } of loadModuleLines(root)) {
    const [name] = args;
    if (name === undefined || isBuiltIn(name.text) || plan.has(name.text)) continue;
    try {
      plan.set(name.text, filesOf(name.text, prefix, installation).map(versionOf));
    } catch (error) {
      // Found out again, and reported, when it is loaded.
      if (!(error instanceof ModuleLoadError)) throw error;
    }
  }
  return plan;
}

function filesOf(name: string, prefix: string, installation: Installation): readonly string[] {
  return isPattern(name) ? matchingModules(name, prefix, installation) : findModules(name, prefix, installation);
}

/** Loads the kernel's own modules, the standard ones that fit this plane, and those of the `load_module` lines, in this order. */
export async function loadModules(root: Block, source: ModuleSource, plan: ModulePlan): Promise<ModuleLoad> {
  const set = new ModuleSet(source.plane, source.installation);
  const errors: ConfigError[] = [];
  for (const module of BUILT_IN_MODULES) set.add(moduleOf(import.meta.filename, { module }, source.plane));
  await addStandardModules(set, source, errors);
  for (const line of loadModuleLines(root)) {
    const [name] = line.args;
    // A line without a name, or with more words, is for the validation to reject.
    if (name === undefined || isBuiltIn(name.text)) continue;
    try {
      const codes = plan.get(name.text) ?? unplanned(name.text, source);
      const modules = await Promise.all(codes.map((code) => importModule(code, source.installation, source.plane, source.guard)));
      if (isPattern(name.text)) addMatching(set, modules, line);
      else addNamed(set, modules, name.text, line);
    } catch (error) {
      errors.push(...loadErrors(error, line, source.log));
    }
  }
  return { set, errors };
}

async function addStandardModules(set: ModuleSet, { installation, log, plane, guard }: ModuleSource, errors: ConfigError[]): Promise<void> {
  const bundled = await bundledModules(installation);
  const imported = await Promise.allSettled(
    STANDARD_MODULES.map(async (name) => {
      const [file, exported] = [shippedModule(installation, name), bundled[name]];
      return exported === undefined ? importModule({ file, version: 0 }, installation, plane, guard) : moduleOf(file, exported, plane);
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

/** A line whose modules were not found. @throws ModuleLoadError with the reason */
function unplanned(name: string, { prefix, installation }: ModuleSource): readonly CodeVersion[] {
  return filesOf(name, prefix, installation).map((file) => ({ file, version: 0 }));
}

/** Adds the modules that a pattern matches, except modules of the other plane and loaded ones; modules that others need go first. */
function addMatching(set: ModuleSet, modules: readonly LoadedModule[], line: Directive): void {
  let waiting = modules.filter((module) => set.fits(module) && !set.has(module.name));
  while (waiting.length > 0) {
    const ready = waiting.filter((module) => set.hasNeedsOf(module));
    // With none that is ready, the first one says what it needs.
    for (const module of ready.length > 0 ? ready : waiting) set.add(module, line);
    waiting = waiting.filter((module) => !ready.includes(module));
  }
}

/** Adds what one line names. Of a package with several modules, those for this plane. */
function addNamed(set: ModuleSet, modules: readonly LoadedModule[], name: string, line: Directive): void {
  const fitting = modules.length === 1 ? modules : modules.filter((module) => set.fits(module));
  if (fitting.length === 0) throw new ModuleLoadError(`package "${name}" has no module for the ${set.plane} plane`);
  for (const module of fitting) set.add(module, line);
}
