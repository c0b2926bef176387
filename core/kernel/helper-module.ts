import { findModules } from './find-module.js';
import type { Installation } from './installation.js';
import { importModule, isShippedFile, type LoadedModule } from './module-file.js';
import { ModuleLoadError } from './module-load-error.js';

/**
 * The module of a `helper` line.
 * @throws ModuleLoadError
 */
export async function loadHelperModule(kind: string, module: string, prefix: string, installation: Installation): Promise<LoadedModule> {
  const files = findModules(module, prefix, installation);
  const loaded = await Promise.all(files.map((file) => importModule({ file, version: 0 }, installation, 'control')));
  const found = loaded.find(({ declaration }) => declaration.manifest.helper === kind);
  if (found !== undefined) return found;
  throw new ModuleLoadError(`module "${loaded[0]?.name}" cannot be the helper "${kind}"`);
}

/** True if the module of a `helper` line comes with srv. */
export function isShippedHelper(module: string, prefix: string, installation: Installation): boolean {
  try {
    return findModules(module, prefix, installation).every((file) => isShippedFile(file, installation));
  } catch (error) {
    if (error instanceof ModuleLoadError) return false;
    throw error;
  }
}
