/** Directives and changes of the tree as plain data. */
import type { Block, Directive } from '../contract/tree.js';

/** A directive as plain data: what threads and processes send each other. */
export interface DirectiveData {
  readonly id: number;
  readonly name: string;
  readonly args: Directive['args'];
  readonly block?: readonly DirectiveData[];
  readonly source: Directive['source'];
  readonly key?: number;
}

/** As `parent` of an `add`: the top level. */
export const ROOT_ID = 0;

/**
 * One step of a change.
 * - `add` puts the directive into the parent's block: in front of the one whose id is `before`, which is in that block, else at its end.
 * - `move` changes the place of a directive inside its block in the same way, and nothing else: it stays the same object.
 * - `replace` puts `directive` in the place of the one with the same id; children that keep their id keep their identity.
 * - `root` replaces everything (the first configuration of a thread).
 */
export type TreeOperation =
  | { readonly op: 'add'; readonly parent: number; readonly directive: DirectiveData; readonly before?: number }
  | { readonly op: 'move'; readonly id: number; readonly before?: number }
  | { readonly op: 'replace'; readonly directive: DirectiveData }
  | { readonly op: 'remove'; readonly id: number }
  | { readonly op: 'root'; readonly block: readonly DirectiveData[] };

/** The plain form of a directive with everything in it. */
export function directiveData(directive: Directive): DirectiveData {
  const { id, name, args, source, block, key } = directive;
  return { id, name, args, source, ...(block && { block: blockData(block) }), ...(key !== undefined && { key }) };
}

export function blockData(block: Block): DirectiveData[] {
  const data: DirectiveData[] = [];
  for (const directive of block) data.push(directiveData(directive));
  return data;
}

/** True if name and arguments are the same text. */
export function sameHead(a: Pick<Directive, 'name' | 'args'>, b: Pick<Directive, 'name' | 'args'>): boolean {
  return a.name === b.name && a.args.length === b.args.length && a.args.every((word, i) => word.text === b.args[i]?.text);
}
