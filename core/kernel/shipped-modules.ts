import { isUnknownDirective } from '../config/error-report.js';
import type { ConfigError } from '../config/errors.js';
import type { Installation } from './installation.js';
import { importModule } from './module-file.js';
import type { Log } from '../contract/log.js';
import { settingDirectivesErrors } from './check-settings.js';
import { loadErrors } from './load-errors.js';
import { ModuleErrors } from './module-load-error.js';
import type { ModuleSet } from './module-set.js';

/**
 * Looks for errors again with the names of all shipped modules at hand, if any error is an unknown directive: the hint names the
 * `load_module` line then.
 */
export async function withHints(find: () => ConfigError[], set: ModuleSet, installation: Installation): Promise<ConfigError[]> {
  const errors = find();
  if (!errors.some(isUnknownDirective)) return errors;
  await registerShippedModules(set, installation);
  return find();
}

/**
 * Errors of settings whose directives the API could not change. A missing shipped module is named in the hint.
 */
export async function settingErrors(set: ModuleSet, installation: Installation, log: Log): Promise<ConfigError[]> {
  if (set.plane !== 'data') return [];
  const find = (): ConfigError[] =>
    [...set].flatMap((module) => {
      const errors = [...settingDirectivesErrors(module.declaration.manifest.settings, set.registry)];
      return errors.length === 0 ? [] : loadErrors(new ModuleErrors(module.file, errors), set.lineOf(module), log);
    });
  const errors = find();
  if (errors.length === 0) return errors;
  await registerShippedModules(set, installation);
  return find();
}

/**
 * Registers the directives that the modules of the program would bring which are not loaded, so that an unknown directive
 * has the line to add as its hint. Imports all of them: only called when something is unknown already.
 */
async function registerShippedModules(set: ModuleSet, installation: Installation): Promise<void> {
  const files = [...installation.modules.values()];
  const imported = await Promise.allSettled(files.map((file) => importModule({ file, version: 0 }, installation, set.plane)));
  for (const result of imported) {
    // One that cannot be loaded gives no hints.
    if (result.status === 'rejected') continue;
    const { name, declaration } = result.value;
    const { directives } = declaration.manifest;
    if (!directives || set.has(name) || !set.fits(result.value)) continue;
    const names = Object.entries(directives).map(([key, spec]) => spec.name ?? key);
    set.registry.registerShipped(`modules/${name}.so`, names);
  }
}
