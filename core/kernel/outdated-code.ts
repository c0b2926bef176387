import { type Dirent, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findModules } from './find-module.js';
import type { Installation } from './installation.js';
import { moduleCode } from './module-code.js';
import { isShippedFile } from './module-file.js';
import { ModuleLoadError } from './module-load-error.js';

interface Around {
  readonly prefix: string;
  readonly installation: Installation;
}

const REMEDY = '"srv -s upgrade" or a restart runs it';

/**
 * Texts about code on disk that is not the code in memory and that a reload does not load: packages, modules of `helper` lines, the program
 * with the modules that come with it.
 * @param helpers the `helper` lines, with the modules as these name them
 * @param since begin of the process, in epoch milliseconds
 */
export function* outdatedCode(
  helpers: readonly { readonly module: string }[],
  around: Around,
  since = performance.timeOrigin,
): Generator<string> {
  const files = new Set([...moduleCode.outdated, ...helpers.flatMap(({ module }) => outdatedHelper(module, around))]);
  for (const file of files) yield `"${file}" has changed since it was loaded: ${REMEDY}`;
  const changed = changedProgramFile(around.installation.program, since);
  if (changed !== undefined) yield `the program has changed since it was started, for example "${changed}": ${REMEDY}`;
}

/** Files of the module of a `helper` line, whose process has loaded it once. */
function outdatedHelper(name: string, { prefix, installation }: Around): readonly string[] {
  try {
    const own = findModules(name, prefix, installation).filter((file) => !isShippedFile(file, installation));
    return own.filter((file) => moduleCode.isLoaded({ file, version: 0 }) && moduleCode.upToDate(file, 0) !== 0);
  } catch (error) {
    // The check of the configuration reports it.
    if (error instanceof ModuleLoadError) return [];
    throw error;
  }
}

/**
 * A file that was written, or put there, after a time. By the change time of the inode: packagers set the time of modification to that of
 * the build.
 * @param since epoch milliseconds
 */
export function changedProgramFile(program: string, since: number): string | undefined {
  const folders = ['core', 'modules'].map((name) => join(program, name)).filter((folder) => existsSync(folder));
  const files = folders.flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }).filter(isCode));
  return files.map(({ parentPath, name }) => join(parentPath, name)).find((path) => isNewer(path, since));
}

function isCode(entry: Dirent): boolean {
  return entry.isFile() && entry.name.endsWith('.js');
}

/** An upgrade of the package may remove a file meanwhile. */
function isNewer(path: string, since: number): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0) > since;
}
