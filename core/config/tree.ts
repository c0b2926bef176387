/**
 * The configuration tree: an immutable value. `apply` makes a new version that shares everything untouched with the old one, which
 * stays complete and readable: who prepares a change holds both, and dropping the new one undoes it.
 */
import type { Block, Directive } from '../module/tree.js';
import { ConfigBlock } from './block.js';
import { IdMap, type IdMapDraft } from './id-map.js';

/** A directive as plain data: what threads and processes send each other. */
export interface DirectiveData {
  readonly id: number;
  readonly name: string;
  readonly args: Directive['args'];
  readonly block?: readonly DirectiveData[];
  readonly source: Directive['source'];
  readonly key?: number;
}

/** As `parent` of an `add`: the directive becomes the last one at top level. */
export const ROOT_ID = 0;

/**
 * One step of a change. `add` puts the directive at the end of the parent's block. `replace` puts `directive` where the one of the same
 * id stands; children that keep their id keep their identity. `root` replaces everything (a reload that changes order at top level).
 */
export type TreeOperation =
  | { readonly op: 'add'; readonly parent: number; readonly directive: DirectiveData }
  | { readonly op: 'replace'; readonly directive: DirectiveData }
  | { readonly op: 'remove'; readonly id: number }
  | { readonly op: 'root'; readonly block: readonly DirectiveData[] };

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

interface Entry {
  readonly directive: Directive;
  readonly parent: number;
  /** Number of the chunk of the parent's block it stands in. */
  readonly chunk: number;
}

export class ConfigTree implements Tree {
  static readonly empty = new ConfigTree(ConfigBlock.empty, IdMap.empty());

  private constructor(
    readonly root: ConfigBlock,
    private readonly index: IdMap<Entry>,
  ) {}

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

  /**
   * The tree after all operations, in order. This version is not changed.
   * Directives that a `replace` or `root` brings back under the same id with the same content stay the same objects.
   * @throws Error if an operation names an id that is not there, or brings one that is there already.
   */
  apply(operations: readonly TreeOperation[]): ConfigTree {
    const draft = new TreeDraft(this.root, this.index);
    for (const operation of operations) draft.apply(operation);
    return new ConfigTree(draft.root, draft.index.commit());
  }
}

/** The plain form of a directive with everything in it. */
export function directiveData(directive: Directive): DirectiveData {
  const { id, name, args, source, block, key } = directive;
  return { id, name, args, source, ...(block && { block: blockData(block) }), ...(key !== undefined && { key }) };
}

function blockData(block: Block): DirectiveData[] {
  const data: DirectiveData[] = [];
  for (const directive of block) data.push(directiveData(directive));
  return data;
}

/** The tree while the operations of one change are carried out. */
class TreeDraft {
  index: IdMapDraft<Entry>;

  constructor(
    public root: ConfigBlock,
    private readonly before: IdMap<Entry>,
  ) {
    this.index = before.edit();
  }

  apply(operation: TreeOperation): void {
    switch (operation.op) {
      case 'add':
        return this.add(operation.parent, operation.directive);
      case 'replace':
        return this.replace(operation.directive);
      case 'remove':
        return this.remove(operation.id);
      case 'root':
        return this.replaceRoot(operation.block);
    }
  }

  private add(parent: number, data: DirectiveData): void {
    const directive = this.build(data);
    const [block, chunk] = this.blockOf(parent).append(directive);
    this.enter(directive, parent, chunk);
    this.setBlock(parent, block);
  }

  private replace(data: DirectiveData): void {
    const { directive, parent, chunk } = this.entry(data.id);
    const replacement = this.build(data);
    this.leave(directive);
    this.enter(replacement, parent, chunk);
    this.setBlock(parent, this.blockOf(parent).replace(chunk, replacement));
  }

  private remove(id: number): void {
    const { directive, parent, chunk } = this.entry(id);
    const removal = this.blockOf(parent).remove(chunk, id);
    this.leave(directive);
    for (const moved of removal.moved) this.index.set(moved.id, { directive: moved, parent, chunk: removal.chunk });
    this.setBlock(parent, removal.block);
  }

  private replaceRoot(block: readonly DirectiveData[]): void {
    this.root = ConfigBlock.of(block.map((data) => this.build(data)));
    this.index = IdMap.empty<Entry>().edit();
    this.enterAll(this.root, ROOT_ID);
  }

  /** Puts a new block into a directive, which makes a new one of it and of all around it. */
  private setBlock(id: number, block: ConfigBlock): void {
    if (id === ROOT_ID) {
      this.root = block;
      return;
    }
    const { directive, parent, chunk } = this.entry(id);
    const changed: Directive = { ...directive, block };
    this.index.set(id, { directive: changed, parent, chunk });
    this.setBlock(parent, this.blockOf(parent).replace(chunk, changed));
  }

  private entry(id: number): Entry {
    const entry = this.index.get(id);
    if (entry === undefined) throw new Error(`directive ${id} is not in the tree`);
    return entry;
  }

  private blockOf(id: number): ConfigBlock {
    if (id === ROOT_ID) return this.root;
    const { block } = this.entry(id).directive;
    if (!(block instanceof ConfigBlock)) throw new Error(`directive ${id} has no block`);
    return block;
  }

  private build(data: DirectiveData): Directive {
    const known = this.before.get(data.id)?.directive;
    if (known !== undefined && sameContent(known, data)) return known;
    const { id, name, args, source, block, key } = data;
    const children = block && ConfigBlock.of(block.map((child) => this.build(child)));
    return { id, name, args, source, ...(children && { block: children }), ...(key !== undefined && { key }) };
  }

  private enter(directive: Directive, parent: number, chunk: number): void {
    if (this.index.get(directive.id) !== undefined) throw new Error(`directive ${directive.id} is in the tree already`);
    this.index.set(directive.id, { directive, parent, chunk });
    if (directive.block instanceof ConfigBlock) this.enterAll(directive.block, directive.id);
  }

  private enterAll(block: ConfigBlock, parent: number): void {
    for (const [directive, chunk] of block.located()) this.enter(directive, parent, chunk);
  }

  private leave(directive: Directive): void {
    this.index.delete(directive.id);
    for (const child of directive.block ?? []) this.leave(child);
  }
}

/** True if both say the same under the same ids. Where it is written does not matter. */
function sameContent(directive: Directive, data: DirectiveData): boolean {
  return directive.id === data.id && directive.key === data.key && sameHead(directive, data) && sameBlock(directive.block, data.block);
}

/** True if name and arguments are the same text. */
export function sameHead(a: Pick<Directive, 'name' | 'args'>, b: Pick<Directive, 'name' | 'args'>): boolean {
  return a.name === b.name && a.args.length === b.args.length && a.args.every((word, i) => word.text === b.args[i]?.text);
}

function sameBlock(block: Block | undefined, data: readonly DirectiveData[] | undefined): boolean {
  if (block === undefined || data === undefined) return block === data;
  if (block.size !== data.length) return false;
  let i = 0;
  for (const child of block) {
    const other = data[i++];
    if (other === undefined || !sameContent(child, other)) return false;
  }
  return true;
}
