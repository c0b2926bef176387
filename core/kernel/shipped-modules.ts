import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Installation } from './installation.js';
import { importModule, shippedModule } from './module-file.js';
import type { ModuleSet } from './module-set.js';

/**
 * Tells the registry which directives the modules would bring that come with the program and are not loaded, so that an unknown directive
 * can be answered with the line to add. Imports all of them: only called when something is unknown already.
 */
export async function registerShippedModules(set: ModuleSet, installation: Installation): Promise<void> {
  const folder = dirname(shippedModule(installation, 'any'));
  if (!existsSync(folder)) return;
  const names = readdirSync(folder).filter((file) => /^srv_\w+\.js$/.test(file));
  const imported = await Promise.allSettled(
    names.map((name) => importModule(shippedModule(installation, basename(name, '.js')), installation)),
  );
  for (const result of imported) {
    // One that cannot be loaded gives no hints.
    if (result.status === 'rejected') continue;
    const { name, declaration } = result.value;
    const { directives } = declaration.manifest;
    if (!directives || set.has(name) || !set.fits(result.value)) continue;
    const names = Object.entries(directives).map(([key, spec]) => spec.name ?? key);
    set.registry.registerShipped(`modules/${name}.js`, names);
  }
}
