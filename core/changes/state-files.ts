/** Files that hold a part of the configuration: the `state` file of an upstream holds its `server` lines. */
import type { SpecRegistry } from '../config/registry.js';
import type { IdSource } from '../config/tree.js';
import type { ArgContext, ContextName } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';

/** A directive such as `state` of an upstream: its file holds the directives called `holds` of the block it is in. */
export interface StateFile {
  readonly directive: Directive;
  readonly holds: string;
  /** Absolute. */
  readonly path: string;
}

/** The marks (`fileMark`) of files by path, as they were when this process read or wrote them. */
export type FileMarks = Map<string, string | undefined>;

export interface StateFileOptions {
  readonly registry: SpecRegistry;
  readonly args: ArgContext;
  readonly ids: IdSource;
  /** Created by a start, if it does not exist yet. */
  readonly dataFolder?: string;
}

/** The file that holds a part of a block of this context, if a directive in it says so. */
export function stateFileOf(
  block: Block,
  context: ContextName,
  { registry, args }: Pick<StateFileOptions, 'registry' | 'args'>,
): StateFile | undefined {
  for (const { name, spec } of registry.holdersIn(context)) {
    const { holds } = spec;
    if (holds === undefined) continue;
    for (const directive of block.named(name)) {
      const [file] = directive.args;
      // Validation rejects one without its argument.
      if (file !== undefined) return { directive, holds, path: args.path(file.text) };
    }
  }
  return undefined;
}
