import type { Block, Directive } from '../module/tree.js';

/** A directive as plain data: what threads and processes send each other. */
export interface DirectiveData {
  readonly id: number;
  readonly name: string;
  readonly args: Directive['args'];
  readonly block?: readonly DirectiveData[];
  readonly source: Directive['source'];
  readonly key?: number;
}

/**
 * One step of a change. `replace` puts `directive` where the one of the same id stands; children that keep their id keep their identity.
 * `root` replaces everything (a reload that changes order at top level).
 */
export type TreeOperation =
  | { readonly op: 'add'; readonly parent: number; readonly directive: DirectiveData }
  | { readonly op: 'replace'; readonly directive: DirectiveData }
  | { readonly op: 'remove'; readonly id: number }
  | { readonly op: 'root'; readonly block: readonly DirectiveData[] };

export interface Tree {
  readonly root: Block;
}
