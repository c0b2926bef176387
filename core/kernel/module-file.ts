import { existsSync } from 'node:fs';
import { basename, extname, isAbsolute, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TimeIsOver, within } from '../control/time-limit.js';
import { API_VERSION, declarationOf, type ModuleClass, type ModuleDeclaration } from '../module/manifest.js';
import { manifestErrors } from './check-manifest.js';
import type { Installation } from './installation.js';
import type { ManifestError } from './manifest-error.js';

/** A module may wait for something at its top level; one that waits for ever is not to keep the server from starting or ending. */
const LOAD_MS = 10_000;

/** A module's class with what it declared. */
export interface LoadedModule {
  readonly name: string;
  /** Absolute path of the file it came from. */
  readonly file: string;
  readonly class: ModuleClass;
  readonly declaration: ModuleDeclaration;
}

/** Why a module cannot be loaded. `hint` says what to do about it. */
export class ModuleLoadError extends Error {
  constructor(
    message: string,
    readonly hint?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The hint for what is not a mistake in what a module declares, but thrown by its code. */
export const SEE_LOG = 'the code of the module has thrown this: the error log has the stack';

/** What Node.js says where a package.json above the file makes it CommonJS. */
const NOT_READ_AS_MODULE = /^(?:Cannot use import statement outside a module|Unexpected token 'export')$/;

/** Several reasons, all of them reported. */
export class ModuleErrors extends ModuleLoadError {
  readonly reasons: readonly ModuleLoadError[];

  constructor(file: string, errors: readonly ManifestError[]) {
    const reasons = errors.map(({ message, hint }) => new ModuleLoadError(`cannot load module "${file}": ${message}`, hint));
    super(reasons.map(({ message }) => message).join('; '));
    this.reasons = reasons;
  }
}

/** The path of one of the modules that come with the program. */
export function shippedModule(installation: Installation, name: string): string {
  return join(installation.program, 'modules', `${name}.js`);
}

/**
 * The file that a `load_module` argument means: under the prefix, else in the installation. A name that ends in `.so` finds the `.js` or `.mjs`.
 * @throws ModuleLoadError when there is none.
 */
export function findModule(path: string, prefix: string, installation: Installation): string {
  const files = path.endsWith('.so') ? ['.js', '.mjs'].map((extension) => path.replace(/\.so$/, extension)) : [path];
  const folders = [prefix, installation.program];
  const candidates = isAbsolute(path) ? files : folders.flatMap((folder) => files.map((file) => join(folder, file)));
  const found = candidates.find((candidate) => existsSync(candidate));
  if (found !== undefined) return found;
  throw new ModuleLoadError(`cannot load module "${path}" (2: No such file or directory)`, `searched: ${candidates.join(', ')}`);
}

/**
 * Imports the module in `file` and checks that it is one this core can run.
 * @throws ModuleLoadError
 */
export async function importModule(file: string, installation: Installation): Promise<LoadedModule> {
  if (!file.startsWith(installation.program + sep)) await import('./plugin-resolution.js');
  const module = moduleOf(file, await importExports(file));
  const name = basename(file, extname(file));
  if (module.name === name) return module;
  throw new ModuleLoadError(
    `cannot load module "${file}": its manifest has the name "${module.name}"`,
    `both have to be the same: "${name}"`,
  );
}

/**
 * The one module among the exports of `file`, its manifest checked.
 * @throws ModuleLoadError
 */
export function moduleOf(file: string, exported: Readonly<Record<string, unknown>>): LoadedModule {
  const classes = Object.values(exported).filter((value) => declarationOf(value) !== undefined);
  const [found] = classes;
  const declaration = declarationOf(found);
  if (declaration === undefined) {
    const hint = 'a module exports a class that is decorated with @httpModule, @controlModule, @helperModule or @coreModule';
    throw new ModuleLoadError(`"${file}" is not a module`, hint);
  }
  if (classes.length > 1) throw new ModuleLoadError(`"${file}" exports ${classes.length} modules`, 'a module file exports exactly one');
  // Whoever made the file may have used another version of these types.
  const { name, api } = (declaration.manifest ?? {}) as { name?: unknown; api?: unknown };
  if (typeof name !== 'string' || name === '') {
    const hint = `the decorator is given a manifest: { name: '${basename(file, extname(file))}', api: ${API_VERSION} }`;
    throw new ModuleLoadError(`"${file}" has no name in its manifest`, hint);
  }
  if (api !== API_VERSION) {
    const hint = `use a build of ${basename(file)} for this version of srv`;
    throw new ModuleLoadError(
      `module "${name}" is made for version ${String(api)} of the module contract, this srv has version ${API_VERSION}`,
      hint,
    );
  }
  const errors = [...manifestErrors(declaration)];
  if (errors.length > 0) throw new ModuleErrors(file, errors);
  return { name, file, class: found as ModuleClass, declaration };
}

async function importExports(file: string): Promise<Record<string, unknown>> {
  if (!existsSync(file)) throw new ModuleLoadError(`cannot load module "${file}" (2: No such file or directory)`);
  try {
    return (await within(LOAD_MS, import(pathToFileURL(file).href))) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof TimeIsOver)
      throw new ModuleLoadError(`cannot load module "${file}": it did not finish loading within ${LOAD_MS / 1000} s`);
    const reason = (error as Error).message ?? String(error);
    const hint = NOT_READ_AS_MODULE.test(reason)
      ? `call it ${basename(file, extname(file))}.mjs: then it is read as an ES module`
      : SEE_LOG;
    throw new ModuleLoadError(`cannot load module "${file}": ${reason}`, hint, { cause: error });
  }
}
