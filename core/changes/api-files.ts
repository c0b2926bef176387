/** Files that configuration set through the API may name: a client that may change a location must not read and write all files of root. */
import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { errorAt } from '../config/errors.js';
import type { ErrorCollector } from '../config/error-collector.js';
import type { SpecRegistry } from '../config/registry.js';
import type { ConfigTree, DirectiveData, TreeOperation } from '../config/tree.js';
import { readArguments } from '../contract/arguments.js';
import { blockContext, type ArgContext, type ContextName } from '../contract/spec.js';
import { placeInCall } from './parse-directive.js';

/** Folders of a prefix whose files are code. */
const CODE = ['modules', 'node_modules', 'dist', 'core'];

/** Directives whose files clients can read. */
const SERVING: ReadonlySet<string> = new Set(['root', 'alias']);

/** A folder that the API cannot name, nor one around it. */
interface ExcludedFolder {
  /** Its absolute path as configured. */
  readonly path: string;
  readonly real: string;
  /** The real folder, and the links that lead to it: a folder with one of these in it contains the files. */
  readonly entries: readonly string[];
  /** Real paths in it that `api_folders` names. */
  readonly allowed: readonly string[];
  /** Only directives that serve files cannot name it. */
  readonly serving: boolean;
}

/** Folders with all that is in them. */
export interface FileFolders {
  readonly allowed: readonly string[];
  /** Parts of folders that are not allowed. */
  readonly except: readonly ExcludedFolder[];
}

/** Settings of the configuration about files. Absolute paths. */
export interface FolderSettings {
  /** `api_folders`; undefined: the prefix. */
  readonly named: readonly string[] | undefined;
  readonly prefix: string;
  readonly confFolder: string;
  readonly dataFolder: string;
}

/** The folders of configuration, data and code are excluded from all others, unless `api_folders` names them. */
export function apiFolders({ named, prefix, confFolder, dataFolder }: FolderSettings): FileFolders {
  const chosen = (named ?? []).map(realPath).filter((path) => path !== '');
  if (chosen.includes('/')) return { allowed: chosen, except: [] };
  const own = [confFolder, dataFolder, ...CODE.map((name) => join(prefix, name))].map((path) => excluded(path, chosen));
  const except = own.filter(({ real }) => !chosen.includes(real));
  if (named !== undefined) return { allowed: chosen, except };
  return { allowed: [realPath(prefix)], except: [...except, excluded(join(prefix, 'logs'), [], true)] };
}

function excluded(path: string, chosen: readonly string[], serving = false): ExcludedFolder {
  const real = realPath(path);
  const allowed = chosen.filter((folder) => isWithin(folder, real));
  return { path, real, entries: [real, ...entriesOf(path)], allowed, serving };
}

/** The parts of a path, each as an entry of the real folder it is in. */
function* entriesOf(path: string): Iterable<string> {
  for (let at = path; dirname(at) !== at; at = dirname(at)) yield join(realPath(dirname(at)), basename(at));
}

interface Surroundings {
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
  /** Called when something names a file. */
  readonly folders: () => FileFolders;
  readonly errors: ErrorCollector;
}

/** Asserts that the new directives of a change name no files outside of the folders. Errors are collected, each at its word. */
export function assertFilesAllowed(operations: readonly TreeOperation[], tree: ConfigTree, options: Surroundings): void {
  const { registry } = options;
  let found: FileFolders | undefined;
  const around = { ...options, folders: () => (found ??= options.folders()) };
  for (const operation of operations) {
    if (operation.op === 'add') check(operation.directive, registry.contextWithin(tree, operation.parent), around);
    else if (operation.op === 'replace') check(operation.directive, registry.contextOf(tree, operation.directive.id), around);
  }
}

function check(directive: DirectiveData, context: ContextName | undefined, around: Surroundings): void {
  // Of an unknown directive, and of a line of a table, nothing is a file.
  const known = context === undefined || context === 'entries' ? undefined : around.registry.find(context, directive.name);
  if (known === undefined) return;
  if (placeInCall(directive.source) !== undefined) readArguments(known.signature, directive, recorder(directive, around), () => undefined);
  const inside = blockContext(known.spec);
  for (const child of directive.block ?? []) check(child, inside, around);
}

/** Looks at each file that an argument names, while the arguments are read. */
function recorder(directive: DirectiveData, { args, folders, errors }: Surroundings): ArgContext {
  const see = (text: string, under?: 'prefix' | 'conf'): void => {
    const hint = rejection(text, args.path(fixedPart(text), under), folders(), SERVING.has(directive.name));
    if (hint === undefined) return;
    const word = directive.args.find((candidate) => candidate.text.includes(text));
    const message = `"${directive.name}" cannot name "${text || word?.text}" through the API`;
    errors.add(errorAt(directive, message, word, hint));
  };
  return {
    template: (text) => args.template(text),
    parts: (text) => args.parts(text),
    path(text, under) {
      // A type of argument asks for the prefix itself to compare with it.
      if (text !== '.' || directive.args.some((word) => word.text === text)) see(text, under);
      return args.path(text, under);
    },
    names: see,
  };
}

const OUTSIDE = 'the file must be in a folder of "api_folders", which the configuration file sets; a variable cannot precede a folder';

/**
 * Hint if a file is not allowed; undefined if it is.
 * @param path that of the fixed part
 */
function rejection(text: string, path: string, { allowed, except }: FileFolders, serves: boolean): string | undefined {
  const everything = allowed.includes('/') && except.length === 0;
  if (everything) return undefined;
  if (text.includes('$') && fixedPart(text) === '') return OUTSIDE;
  // The system follows a link before it goes up again.
  if (/(?:^|\/)\.\.(?:\/|$)/.test(text)) return OUTSIDE;
  const real = realPath(path);
  if (real === '' || !isInOneOf(real, allowed)) return OUTSIDE;
  const excluding = except.filter(({ serving }) => serves || !serving);
  if (excluding.some((folder) => isWithin(real, folder.real) && !isInOneOf(real, folder.allowed))) return OUTSIDE;
  const contained = excluding.find(({ entries }) => entries.some((entry) => isWithin(entry, real)));
  if (contained === undefined) return undefined;
  return `it contains the folder "${contained.path}", which the API cannot name: name a folder in it instead, which "api_folders" in the configuration file allows`;
}

function isInOneOf(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isWithin(path, folder));
}

/** The whole text, or the folders in front of the first variable. */
function fixedPart(text: string): string {
  const variable = text.indexOf('$');
  return variable < 0 ? text : text.slice(0, text.lastIndexOf('/', variable) + 1);
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith('../') && !isAbsolute(way);
}

/** Target of a path, also of a file that does not exist yet. An inaccessible one has none. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    if (isThere(path) || dirname(path) === path) return '';
    const folder = realPath(dirname(path));
    return folder === '' ? '' : join(folder, basename(path));
  }
}

/** Such as a link that leads nowhere yet. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}
