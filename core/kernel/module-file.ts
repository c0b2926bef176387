import { existsSync } from 'node:fs';
import { basename, extname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CodeVersion } from '../config/module-share.js';
import { TimeIsOver, within } from '../changes/time-limit.js';
import { API_VERSION, declarationOf, type ModuleClass, type ModuleDeclaration, type Plane } from '../contract/manifest.js';
import { manifestErrors } from './check-manifest.js';
import { codePlace } from './code-place.js';
import { CONTRACT_VERSION, supportsContract } from './contract-version.js';
import type { Installation } from './installation.js';
import { LoopGuard } from './loop-guard.js';
import { moduleCode, versionUrl } from './module-code.js';
import { ModuleErrors, ModuleLoadError, SEE_LOG } from './module-load-error.js';

/** Longest time that the top level of a module may wait for something, in milliseconds. */
const LOAD_MS = 10_000;
/** In the program's folder, where that is a bundle. */
const STANDARD_EXPORTS = 'core/kernel/standard-exports.js';

/** A module's class with what it declared. */
export interface LoadedModule extends CodeVersion {
  readonly name: string;
  readonly class: ModuleClass;
  readonly declaration: ModuleDeclaration;
  /** It comes with srv. */
  readonly isShipped: boolean;
}

/** Exports of modules, by name. */
type ExportsByModule = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * The standard modules. The bundle has the exports of all in one file (tools/bundle.ts): to load one for each takes as long as all else that a
 * thread does when it starts. Rejects only where the installation is incomplete.
 */
export async function bundledModules({ program }: Installation): Promise<ExportsByModule> {
  const file = join(program, STANDARD_EXPORTS);
  return existsSync(file) ? ((await import(pathToFileURL(file).href)) as ExportsByModule) : {};
}

/** Message of Node.js where a package.json above the file makes it CommonJS. */
const NOT_READ_AS_MODULE = /^(?:Cannot use import statement outside a module|Unexpected token 'export')$/;

/** Errors of an import that does not exist, of Node.js and of `plugin-resolution.ts`. */
const NOTHING_HAS_RUN = /^Cannot find (?:package|module) |is not part of the module contract/;

/** The path of one of the modules that come with the program. */
export function shippedModule(installation: Installation, name: string): string {
  return installation.modules.get(name) ?? join(installation.program, 'modules', `${name}.js`);
}

export function isShippedFile(file: string, { program }: Installation): boolean {
  return file.startsWith(program + sep);
}

/**
 * Imports a module and checks that it is one this core can run. Of a file with both halves of a feature, the one for `plane`.
 * @throws ModuleLoadError
 */
export async function importModule(
  code: CodeVersion,
  installation: Installation,
  plane: Exclude<Plane, 'both'>,
  guard = new LoopGuard(),
): Promise<LoadedModule> {
  const { file } = code;
  const isShipped = isShippedFile(file, installation);
  if (!isShipped) {
    await import('./plugin-resolution.js');
    moduleCode.addModule(code);
  }
  const exported = await importExports(code, isShipped ? undefined : guard, installation);
  if (!isShipped) moduleCode.loaded(code);
  const module = { ...moduleOf(file, exported, plane, isShipped), ...code };
  const name = basename(file, extname(file));
  if (module.name === name) return module;
  throw new ModuleLoadError(
    `cannot load module "${file}": its manifest has the name "${module.name}"`,
    `both have to be the same: "${name}"`,
  );
}

/**
 * The module for `plane` among the exports of `file`.
 * @param isShipped it comes with srv: the tests have checked its manifest, and no start does that again
 * @throws ModuleLoadError
 */
export function moduleOf(
  file: string,
  exported: Readonly<Record<string, unknown>>,
  plane: Exclude<Plane, 'both'>,
  isShipped = true,
): LoadedModule {
  const found = chosen(file, exported, plane);
  const declaration = declarationOf(found) as ModuleDeclaration;
  // The file may have been made with another version of these types.
  const { name, api } = (declaration.manifest ?? {}) as { name?: unknown; api?: unknown };
  if (typeof name !== 'string' || name === '') {
    const hint = `the decorator is given a manifest: { name: '${basename(file, extname(file))}', api: ${API_VERSION} }`;
    throw new ModuleLoadError(`"${file}" has no name in its manifest`, hint);
  }
  if (api === undefined) throw new ModuleLoadError(`module "${name}" has no "api" in its manifest`, `write it as api: ${API_VERSION}`);
  if (!isShipped && !supportsContract(api)) {
    const hint = `use a build of ${basename(file)} for this version of srv`;
    throw new ModuleLoadError(
      `module "${name}" is made for version ${JSON.stringify(api).replaceAll('"', '')} of the module contract, this srv has version ${CONTRACT_VERSION}`,
      hint,
    );
  }
  const errors = isShipped ? [] : [...manifestErrors(declaration)];
  if (errors.length > 0) throw new ModuleErrors(file, errors);
  return { name, file, version: 0, class: found as ModuleClass, declaration, isShipped };
}

/** The one class with a decorator, or of two, one for each plane, that for this one. */
function chosen(file: string, exported: Readonly<Record<string, unknown>>, plane: Exclude<Plane, 'both'>): unknown {
  const classes = [...new Set(Object.values(exported))].filter((value) => declarationOf(value) !== undefined);
  const [found] = classes;
  if (found === undefined) {
    const hint = 'a module exports a class that is decorated with @httpModule, @streamModule, @controlModule, @helperModule or @coreModule';
    throw new ModuleLoadError(`"${file}" is not a module`, hint);
  }
  if (classes.length === 1) return found;
  const control = classes.filter(isControlHalf);
  const [half] = plane === 'control' ? control : classes.filter((one) => !isControlHalf(one));
  if (classes.length === 2 && control.length === 1) return half;
  const hint = 'a module file exports one, or both halves of a feature, of which one is for the control plane';
  throw new ModuleLoadError(`"${file}" exports ${classes.length} modules`, hint);
}

function isControlHalf(value: unknown): boolean {
  return declarationOf(value)?.manifest?.plane === 'control';
}

/** @param guard undefined: the file comes with srv */
async function importExports(
  code: CodeVersion,
  guard: LoopGuard | undefined,
  installation: Installation,
): Promise<Record<string, unknown>> {
  const { file } = code;
  const href = versionUrl(code);
  if (moduleCode.find(href) === undefined && !existsSync(file))
    throw new ModuleLoadError(`cannot load module "${file}" (2: No such file or directory)`);
  try {
    const isLoaded = moduleCode.isLoaded(code);
    const loading = within(LOAD_MS, import(href) as Promise<Record<string, unknown>>);
    // The top level of a file runs once.
    return await (guard === undefined || isLoaded ? loading : guard.during(loading));
  } catch (error) {
    if (error instanceof TimeIsOver)
      throw new ModuleLoadError(`cannot load module "${file}": it did not finish loading within ${LOAD_MS / 1000} s`);
    const { reason, hint } = explain(error, file);
    const imported = moduleCode.paths.filter((path) => path !== file);
    const place = await codePlace(error, [...imported, file], installation);
    throw new ModuleLoadError(`cannot load module "${file}": ${reason}${place === undefined ? '' : ` at ${place}`}`, hint, {
      cause: error,
    });
  }
}

function explain(error: unknown, file: string): { reason: string; hint: string | undefined } {
  if (!(error instanceof Error)) return { reason: String(error), hint: SEE_LOG };
  const { name, message } = error;
  if (NOT_READ_AS_MODULE.test(message))
    return { reason: message, hint: `call it ${basename(file, extname(file))}.mjs: then it is read as an ES module` };
  return {
    reason: name === 'Error' ? message : `${name}: ${message}`,
    // A file that cannot be parsed, or one of whose imports is missing, has not run.
    hint: importHint(error) ?? (NOTHING_HAS_RUN.test(message) || error instanceof SyntaxError ? undefined : SEE_LOG),
  };
}

/** Hint for a package that is not installed. */
function importHint({ message }: Error): string | undefined {
  const [, name] = /^Cannot find package '([^']+)'/.exec(message) ?? [];
  if (name === undefined) return undefined;
  return name === 'srv'
    ? 'modules import "srv/module/…" and "srv/toolkit/…", nothing else of srv'
    : `install it in the folder of the module, or in one above: npm install ${name}`;
}
