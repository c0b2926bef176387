/** Finds the files that an argument of `load_module` means. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, sep } from 'node:path';
import { CONTRACT_VERSION, supportsContract } from './contract-version.js';
import type { Installation } from './installation.js';
import { isRecord, isTexts } from './manifest-error.js';
import { ModuleLoadError } from './module-load-error.js';

/** A name as npm takes it, with or without a scope: no path of a file. */
const PACKAGE_NAME = /^(?:@[\w.-]+\/)?[\w-][\w.-]*$/;
const PACKAGE_HINT = 'a package of modules has: "srv": { "api": "^1.0", "modules": ["dist/modules/acme_http_x_module.mjs"] }';

/**
 * The files of the modules that `name` means: a path under the prefix, else in the installation, or the name of an npm package. A path
 * that ends in `.so` finds the `.js` or `.mjs`.
 * @throws ModuleLoadError when there is nothing
 */
export function findModules(name: string, prefix: string, installation: Installation): readonly string[] {
  const files = name.endsWith('.so') ? ['.js', '.mjs'].map((extension) => name.replace(/\.so$/, extension)) : [name];
  const folders = [prefix, installation.program];
  const candidates = isAbsolute(name) ? files : folders.flatMap((folder) => files.map((file) => join(folder, file)));
  const packages = isPackageName(name) ? packagesOf(name, [prefix, installation.root]) : [];
  const found = candidates.find((candidate) => existsSync(candidate));
  if (found !== undefined && packages.length === 0) return [found];
  const packageFile = packages.find((candidate) => existsSync(candidate));
  if (packageFile !== undefined) return modulesOfPackage(name, packageFile);
  if (found !== undefined) return [found];
  throw new ModuleLoadError(
    `cannot load module "${name}" (2: No such file or directory)`,
    `searched: ${[...candidates, ...packages.map((file) => dirname(file))].join(', ')}`,
  );
}

function isPackageName(name: string): boolean {
  return PACKAGE_NAME.test(name) && !/\.(?:so|m?js)$/.test(name);
}

/** Where the package.json of a package may be, as Node.js looks for it from each folder upwards. */
function packagesOf(name: string, folders: readonly string[]): readonly string[] {
  const found = new Set<string>();
  for (const start of folders) {
    for (let at = start; ; at = dirname(at)) {
      found.add(join(at, 'node_modules', name, 'package.json'));
      if (at === dirname(at)) break;
    }
  }
  return [...found];
}

function modulesOfPackage(name: string, file: string): readonly string[] {
  const srv = readPackage(name, file)['srv'];
  if (!isRecord(srv)) throw new ModuleLoadError(`package "${name}" has no srv modules: no "srv" in ${file}`, PACKAGE_HINT);
  const { api, modules } = srv;
  if (!supportsContract(api)) {
    const hint = 'install a version of the package that is made for this version of srv';
    throw new ModuleLoadError(
      `package "${name}" is made for version ${String(api)} of the module contract, this srv has version ${CONTRACT_VERSION}`,
      hint,
    );
  }
  const folder = dirname(file);
  if (!isTexts(modules) || modules.length === 0 || !modules.every((path) => join(folder, path).startsWith(folder + sep)))
    throw new ModuleLoadError(`package "${name}": "srv.modules" must be an array of files in the package`, PACKAGE_HINT);
  return modules.map((path) => join(folder, path));
}

function readPackage(name: string, file: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isRecord(content) ? content : {};
  } catch (error) {
    throw new ModuleLoadError(`cannot load module "${name}": ${file} cannot be read: ${(error as Error).message}`);
  }
}
