/**
 * The configuration tree: an immutable value. `apply` makes a new version that shares everything untouched with the old one, which
 * stays complete and readable: who prepares a change holds both, and dropping the new one undoes it.
 */
import type { Block, Directive } from '../contract/tree.js';
import { ConfigBlock } from './block.js';
import { IdMap } from './id-map.js';
import { blockData, ROOT_ID, type DirectiveData, type TreeOperation } from './operations.js';
import { TreeDraft, type Entry } from './tree-draft.js';

export { ROOT_ID, type DirectiveData, type TreeOperation };

/** One version of the configuration. All lookups hold for this very version, also when newer ones exist. */
export interface Tree {
  readonly root: Block;
  byId(id: number): Directive | undefined;
  /** The directive whose block holds `id`; undefined at top level and for an id that is not in this version. */
  parentOf(id: number): Directive | undefined;
  /** From the outermost block to the directive itself; empty if it is not in this version. */
  pathOf(id: number): readonly Directive[];
}

/** Gives out directive ids; never one twice. One for each server, in the process that parses. */
export class IdSource {
  private last = ROOT_ID;

  next(): number {
    return ++this.last;
  }
}

export class ConfigTree implements Tree {
  static readonly empty = new ConfigTree(ConfigBlock.empty, IdMap.empty());

  private constructor(
    readonly root: ConfigBlock,
    private readonly index: IdMap<Entry>,
  ) {}

  /** How many directives are in it, in all its blocks. */
  get size(): number {
    return this.index.size;
  }

  /** @throws Error if an id occurs twice. */
  static fromData(directives: readonly DirectiveData[]): ConfigTree {
    return ConfigTree.empty.apply([{ op: 'root', block: directives }]);
  }

  toData(): DirectiveData[] {
    return blockData(this.root);
  }

  byId(id: number): Directive | undefined {
    return this.index.get(id)?.directive;
  }

  parentOf(id: number): Directive | undefined {
    const entry = this.index.get(id);
    return entry && this.byId(entry.parent);
  }

  pathOf(id: number): readonly Directive[] {
    const path: Directive[] = [];
    for (let entry = this.index.get(id); entry !== undefined; entry = this.index.get(entry.parent)) path.push(entry.directive);
    return path.reverse();
  }

  /** The directive after (1) or before (-1) another one in its block. */
  beside(id: number, distance: 1 | -1): Directive | undefined {
    const entry = this.index.get(id);
    const block = entry && (this.byId(entry.parent)?.block ?? this.root);
    return block instanceof ConfigBlock ? block.beside(entry!.chunk, id, distance) : undefined;
  }

  /**
   * The tree after all operations, in order. This version is not changed.
   * Directives that a `replace` or `root` brings back under the same id with the same content stay the same objects.
   * @throws Error if an operation names an unknown id, adds an existing one, or names a sibling in another block.
   */
  apply(operations: readonly TreeOperation[]): ConfigTree {
    const draft = new TreeDraft(this.root, this.index);
    for (const operation of operations) draft.apply(operation);
    return new ConfigTree(draft.root, draft.index.commit());
  }
}
