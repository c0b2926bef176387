import { readFileSync } from 'node:fs';
import { ConfigError, errorAt } from '../config/errors.js';
import { parseText } from '../config/parser.js';
import { validate } from '../config/validate.js';
import type { IdSource } from '../config/tree.js';
import type { ArgContext, ContextName } from '../module/spec.js';
import type { SpecRegistry } from '../config/registry.js';
import type { Block, Directive } from '../module/tree.js';
import { toDirectives } from './parse-directive.js';
import { fileMark } from './replace-file.js';

/** A directive such as `state` of an upstream: its file holds the directives called `holds` of the block it stands in. */
export interface HeldFile {
  readonly directive: Directive;
  readonly holds: string;
  /** Absolute. */
  readonly path: string;
}

/** The marks ({@link fileMark}) of files by path, as they were when somebody read or wrote them. */
export type FileMarks = Map<string, string | undefined>;

export interface HeldFileOptions {
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
  readonly ids: IdSource;
}

/** The file that holds a part of a block of this context, if a directive in it says so. */
export function heldFileOf(block: Block, context: ContextName, { registry, args }: Omit<HeldFileOptions, 'ids'>): HeldFile | undefined {
  for (const name of registry.namesIn(context)) {
    const holds = registry.find(context, name)?.spec.holds;
    if (holds === undefined) continue;
    for (const directive of block.named(name)) {
      const [file] = directive.args;
      // One without its argument is for the validation to refuse.
      if (file !== undefined) return { directive, holds, path: args.path(file.text) };
    }
  }
  return undefined;
}

/**
 * What the file holds; nothing if it does not exist yet.
 * @param marks takes the mark of what was read
 * @returns the directives, or what is wrong: with the file, or with a block that has such directives beside it
 */
export function readHeldFile(
  file: HeldFile,
  block: Block,
  context: ContextName,
  options: HeldFileOptions,
  marks: FileMarks,
): Directive[] | ConfigError[] {
  const [beside] = block.named(file.holds);
  if (beside !== undefined) {
    const { name } = file.directive;
    return [
      errorAt(
        beside,
        `"${beside.name}" is not allowed together with "${name}"`,
        undefined,
        `keep the lines in the file that "${name}" names`,
      ),
    ];
  }
  const text = readIfThere(file, marks);
  if (text instanceof ConfigError) return [text];
  const { directives, errors } = parseText(text, { ids: options.ids, file: file.path });
  const held = directives.filter(({ name }) => name === file.holds);
  const strange = directives.filter(({ name }) => name !== file.holds);
  const faults = [
    ...errors,
    ...strange.map(({ name, source }) => new ConfigError(`"${name}" directive is not allowed in this file`, source, name.length)),
    ...validate(held, { registry: options.registry, args: options.args, context }),
  ];
  return faults.length > 0 ? faults : toDirectives(directives);
}

function readIfThere({ path, directive }: HeldFile, marks: FileMarks): string | ConfigError {
  try {
    marks.set(path, fileMark(path));
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    const reason = error instanceof Error ? error.message : String(error);
    return errorAt(directive, `cannot read "${path}": ${reason}`, directive.args[0]);
  }
}
