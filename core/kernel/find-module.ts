/** Finds the files that an argument of `load_module` means. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, join, sep } from 'node:path';
import { expandPattern } from '../config/glob.js';
import { CONTRACT_VERSION, supportsContract } from './contract-version.js';
import type { Installation } from './installation.js';
import { isRecord, isTexts } from './manifest-error.js';
import { ModuleLoadError } from './module-load-error.js';

/** A name as npm takes it, with or without a scope: no path of a file. */
const PACKAGE_NAME = /^(?:@[\w.-]+\/)?[\w-][\w.-]*$/;
const PACKAGE_HINT = 'a package of modules has: "srv": { "api": "^1.0", "modules": ["dist/modules/acme_http_x_module.mjs"] }';

const OF_NGINX = /(?:^|\/)ngx_\w+\.so$/;
const NGINX_HINT =
  'modules of nginx are made for nginx alone: remove this line, and "srv -t" names the directives that are not supported without it';

/**
 * The files of the modules that `name` means: a path under the prefix, else in the installation, or the name of an npm package. A path
 * that ends in `.so` finds the `.js` or `.mjs`.
 * @throws ModuleLoadError when there is nothing
 */
export function findModules(name: string, prefix: string, installation: Installation): readonly string[] {
  const files = filesOf(name);
  const folders = [prefix, installation.program];
  const candidates = isAbsolute(name) ? files : folders.flatMap((folder) => files.map((file) => join(folder, file)));
  const packages = isPackageName(name) ? packagesOf(name, [prefix, installation.root]) : [];
  const found = foundModule(candidates, installation);
  if (found !== undefined && packages.length === 0) return [found];
  const packageFile = packages.find((candidate) => existsSync(candidate));
  if (packageFile !== undefined) return modulesOfPackage(name, packageFile);
  if (found !== undefined) return [found];
  throw new ModuleLoadError(
    `cannot load module "${name}" (2: No such file or directory)`,
    OF_NGINX.test(name) ? NGINX_HINT : `searched: ${[...candidates, ...packages.map((file) => dirname(file))].join(', ')}`,
  );
}

/** The first that exists. A module that comes with the program is found without the folder of its feature: `modules/srv_x_module.js`. */
function foundModule(candidates: readonly string[], { program, modules }: Installation): string | undefined {
  for (const candidate of candidates) {
    if (existsSync(candidate)) return candidate;
    const shipped = modules.get(basename(candidate, '.js'));
    if (shipped !== undefined && dirname(candidate) === join(program, 'modules')) return shipped;
  }
  return undefined;
}

/** A module that nginx may load and that srv always has: the line has no effect. */
export function isBuiltIn(name: string): boolean {
  return basename(name) === 'ngx_stream_module.so';
}

/**
 * The files of the modules that a pattern with `*`, `?` or `[…]` means, by their names: those under the prefix, and those of the installation that have other names.
 * @throws ModuleLoadError when there are none
 */
export function matchingModules(pattern: string, prefix: string, installation: Installation): readonly string[] {
  const folders = [prefix, installation.program];
  const own = folders.flatMap((folder) => filesOf(pattern).flatMap((name) => expandPattern(name, folder)));
  const files = [...own, ...matchingShipped(pattern, installation)];
  const byName = new Map(
    files
      .filter((file) => /\.m?js$/.test(file))
      .toReversed()
      .map((file) => [basename(file, extname(file)), file]),
  );
  if (byName.size > 0) return [...byName.keys()].toSorted().flatMap((name) => byName.get(name) ?? []);
  const searched = isAbsolute(pattern) ? pattern : folders.map((folder) => join(folder, pattern)).join(', ');
  throw new ModuleLoadError(`no module matches "${pattern}"`, `searched: ${searched}`);
}

/** Modules that come with the program are in the folders of their features, of which the pattern knows nothing. */
function matchingShipped(pattern: string, { program, modules }: Installation): readonly string[] {
  const shipped = new Set(modules.values());
  const deeper = filesOf(pattern).map((name) => join(dirname(name), '*', basename(name)));
  return deeper.flatMap((name) => expandPattern(name, program)).filter((file) => shipped.has(file));
}

/** A path that ends in `.so` stands for the `.js` or `.mjs`. */
function filesOf(name: string): readonly string[] {
  return name.endsWith('.so') ? ['.js', '.mjs'].map((extension) => name.replace(/\.so$/, extension)) : [name];
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
