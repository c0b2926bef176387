/** Writes what the API changed into the configuration files, so that they say the current configuration. */
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { diffTrees } from '../config/diff.js';
import { messageWithPlace } from '../config/error-report.js';
import { configErrorsOf, ConfigErrors, type ConfigError } from '../config/errors.js';
import { editFiles, FileEditError, type EditedText } from '../config/file-edits.js';
import { decode, type ParsedText } from '../config/parser.js';
import { ConfigTree, type DirectiveData, type IdSource } from '../config/tree.js';
import { toDirectives } from '../config/tree-draft.js';
import { ApiError } from '../contract/control.js';
import { blockContext, type ContextName } from '../contract/spec.js';
import { shownText } from '../contract/secrets.js';
import { systemErrorText } from '../contract/system-error.js';
import { withoutFolders } from './api-errors.js';
import { backupsAlone } from '../upstream/assert-servers.js';
import { effectiveTree } from './effective-tree.js';
import { placeInCall } from './parse-directive.js';
import { stateFileOf } from './state-files.js';
import type { Store } from './store.js';
import type { ModuleSpecs } from './transaction-options.js';
import { bringsKey, savedMode, WrittenFile } from './written-file.js';

export interface ConfigurationFiles {
  /** Path of the file that the main level is in. */
  readonly conf: string;
  /** @param texts that count in the place of what files hold, by path */
  read(texts?: ReadonlyMap<string, string>): ParsedText;
}

export interface Saving {
  readonly files: ConfigurationFiles;
  /** The current tree. */
  readonly tree: ConfigTree;
  readonly modules: ModuleSpecs;
  readonly store: Store;
  readonly ids: IdSource;
  /** Paths are shown without them. */
  readonly folders: readonly string[];
}

/** The files as they should be. */
export interface SavePlan {
  readonly texts: ReadonlyMap<string, EditedText>;
  /** The configuration of a start with them. */
  readonly tree: ConfigTree;
  /** By file what changes in it, after a line with its name. */
  readonly diff: readonly string[];
}

/** @throws ApiError 409 when the files were edited since they were read, or a change cannot be written into them */
export function planSave(saving: Saving): SavePlan {
  const { files, tree, modules, store, ids, folders } = saving;
  const file = treeOf(files.read());
  const wanted = plainTree(tree, modules);
  const isSame = (other: ConfigTree): boolean => diffTrees(other, wanted, modules.registry).length === 0;
  const started = (files: ConfigTree): ConfigTree => effectiveTree(files, store, { ...modules, ids }).tree;
  try {
    if (!isSame(plainTree(started(file), modules))) throw edited();
    const operations = diffTrees(file, wanted, modules.registry);
    const texts = editFiles(operations, { tree: file, main: files.conf, read: (path) => decode(readFileSync(path)).text });
    const result = files.read(new Map(Array.from(texts, ([path, { text }]) => [path, text])));
    const after = ConfigTree.fromData(result.directives);
    if (result.errors.length > 0 || !isSame(after)) throw new FileEditError('the files would not have the current configuration');
    const rejected = backupsAlone(after);
    if (rejected.length > 0) throw new ConfigErrors(rejected);
    return {
      texts,
      tree: started(after),
      diff: [...texts].flatMap(([path, { text, diff }]) => [shownPath(path, folders), ...noteOfKey(path, text), ...shownLines(diff)]),
    };
  } catch (error) {
    if (error instanceof FileEditError) throw impossible(error.message, folders);
    throw asSaveError(error, folders);
  }
}

/** Errors of `-t` for the files after the save become the reason why they are not saved; other errors stay. */
export function asSaveError(error: unknown, folders: readonly string[]): unknown {
  const errors = configErrorsOf(error);
  if (errors === undefined) return error;
  return impossible(`srv could not be started with the files: ${errors.map(reasonOf).join('; ')}`, folders);
}

/** Text that came through the API is in no file yet. */
function reasonOf(error: ConfigError): string {
  const { message, source } = error;
  return source !== undefined && placeInCall(source) !== undefined ? message : messageWithPlace(error);
}

const impossible = (reason: string, folders: readonly string[]): ApiError =>
  new ApiError(409, 'SaveImpossible', `${withoutFolders(reason, folders)}; nothing was saved`);

/**
 * Replaces the files.
 * @returns the files and where they are kept as they were
 * @throws ApiError 409 when a file was edited meanwhile or cannot be written, 507 when the disk is full
 */
export async function writePlan({ texts }: SavePlan, folders: readonly string[]): Promise<readonly { file: string; backup: string }[]> {
  const prepared = new Map<string, WrittenFile>();
  try {
    for (const [path, { text }] of texts) prepared.set(path, await written(path, text, folders));
    if ([...prepared.values()].some((file) => !file.isAsItWas)) throw edited();
  } catch (error) {
    for (const file of prepared.values()) await file.abort();
    throw error;
  }
  for (const file of prepared.values()) await file.commit();
  const shown = (path: string): string => shownPath(path, folders);
  return Array.from(prepared, ([path, { backup }]) => ({ file: shown(path), backup: shown(backup) }));
}

async function written(path: string, text: string, folders: readonly string[]): Promise<WrittenFile> {
  const { encoding } = decode(readFileSync(path));
  const content = Buffer.from(text, encoding);
  const name = shownPath(path, folders);
  if (content.toString(encoding) !== text)
    throw new ApiError(
      409,
      'SaveImpossible',
      `"${name}" is not in UTF-8, and a change has characters that its encoding lacks; nothing was saved`,
    );
  try {
    return await WrittenFile.prepare(path, content);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new ApiError(507, 'StoreFull', `the disk with "${name}" is full; nothing was saved`);
    const remedy = 'let the user that srv runs as write it and its folder, or copy the lines of /v1/config/drift into it and reload';
    throw new ApiError(409, 'FileNotWritable', `"${name}" cannot be replaced (${systemErrorText(error)}); nothing was saved: ${remedy}`);
  }
}

/** As it is below the outermost of the folders. */
function shownPath(path: string, folders: readonly string[]): string {
  const around = folders.filter((folder) => path.startsWith(`${folder}/`)).toSorted((a, b) => a.length - b.length)[0];
  return around === undefined ? basename(path) : path.slice(around.length + 1);
}

/** A line about the mode of a file that gets a private key. */
function noteOfKey(path: string, text: string): readonly string[] {
  const before = decode(readFileSync(path)).text;
  if (!bringsKey(text, before)) return [];
  const mode = savedMode(statSync(path).mode & 0o7777, text, before)
    .toString(8)
    .padStart(4, '0');
  return [`# will have a private key, and mode ${mode}`];
}

/** A private key has several lines. */
const shownLines = (lines: readonly string[]): readonly string[] => shownText(lines.join('\n')).split('\n');

function treeOf({ directives, errors }: ParsedText): ConfigTree {
  if (errors.length > 0) throw edited();
  return ConfigTree.fromData(directives);
}

const edited = (): ApiError =>
  new ApiError(
    409,
    'FileEdited',
    'the configuration files were edited since they were read; nothing was saved: reload first, or undo the edit',
  );

/** A tree as files have it: without lasting keys, and without the content of state files. */
export function plainTree(tree: ConfigTree, modules: ModuleSpecs): ConfigTree {
  return ConfigTree.fromData(plainBlock(tree.toData(), 'main', undefined, modules));
}

function plainBlock(
  directives: readonly DirectiveData[],
  context: ContextName | undefined,
  held: string | undefined,
  modules: ModuleSpecs,
): DirectiveData[] {
  return directives.filter(({ name }) => name !== held).map((directive) => plainDirective(directive, context, modules));
}

function plainDirective({ key: _key, ...data }: DirectiveData, context: ContextName | undefined, modules: ModuleSpecs): DirectiveData {
  if (data.block === undefined) return data;
  const spec = context && context !== 'entries' ? modules.registry.find(context, data.name)?.spec : undefined;
  const inner = spec && blockContext(spec);
  return { ...data, block: plainBlock(data.block, inner, inner && heldIn(data, inner, modules), modules) };
}

function heldIn(data: DirectiveData, inner: ContextName, modules: ModuleSpecs): string | undefined {
  if (inner === 'entries' || modules.registry.holdersIn(inner).length === 0) return undefined;
  const [directive] = toDirectives([data]);
  return directive?.block && stateFileOf(directive.block, inner, modules)?.holds;
}
