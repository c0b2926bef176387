/** The tree while the operations of one change are carried out. */
import type { Block, Directive } from '../contract/tree.js';
import { ConfigBlock, type Insertion } from './block.js';
import { IdMap, type IdMapDraft } from './id-map.js';
import { ROOT_ID, sameHead, type DirectiveData, type TreeOperation } from './operations.js';

/** Entry of the tree for an id. */
export interface Entry {
  readonly directive: Directive;
  readonly parent: number;
  /** Number of the chunk of the parent's block it is in. */
  readonly chunk: number;
}

export class TreeDraft {
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
        return this.add(operation.parent, operation.directive, operation.before);
      case 'move':
        return this.move(operation.id, operation.before);
      case 'replace':
        return this.replace(operation.directive);
      case 'remove':
        return this.remove(operation.id);
      case 'root':
        return this.replaceRoot(operation.block);
    }
  }

  private add(parent: number, data: DirectiveData, before: number | undefined): void {
    const directive = this.build(data);
    const { block, chunk, moved } = this.insert(this.blockOf(parent), parent, directive, before);
    this.enter(directive, parent, chunk);
    this.place(moved, parent);
    this.setBlock(parent, block);
  }

  private move(id: number, before: number | undefined): void {
    if (id === before) return;
    const { directive, parent, chunk } = this.entry(id);
    const removal = this.blockOf(parent).remove(chunk, id);
    this.place(removal.moved, parent);
    const insertion = this.insert(removal.block, parent, directive, before);
    this.place([[directive, insertion.chunk], ...insertion.moved], parent);
    this.setBlock(parent, insertion.block);
  }

  private insert(block: ConfigBlock, parent: number, directive: Directive, before: number | undefined): Insertion {
    if (before === undefined) return block.append(directive);
    const sibling = this.entry(before);
    if (sibling.parent !== parent) throw new Error(`directive ${before} is in another block`);
    return block.insert(sibling.chunk, before, directive);
  }

  /** Notes the chunks of directives that stay in their block. */
  private place(directives: Iterable<readonly [directive: Directive, chunk: number]>, parent: number): void {
    for (const [directive, chunk] of directives) this.index.set(directive.id, { directive, parent, chunk });
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
    this.place(removal.moved, parent);
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
    // Without a block, data is a directive as it is: neither ever changes.
    if (isLeaf(data)) return data;
    const { id, name, args, source, block = [], key } = data;
    const children = ConfigBlock.of(block.map((child) => this.build(child)));
    return { id, name, args, source, block: children, ...(key !== undefined && { key }) };
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

const isLeaf = (data: DirectiveData): data is DirectiveData & { readonly block?: undefined } => data.block === undefined;

/** Plain data as directives that can be asked for what is in their blocks, without a tree around them. */
export function toDirectives(data: readonly DirectiveData[]): Directive[] {
  return data.map(({ id, name, args, source, block, key }) => {
    const children = block && ConfigBlock.of(toDirectives(block));
    return { id, name, args, source, ...(children && { block: children }), ...(key !== undefined && { key }) };
  });
}

/** True if both say the same under the same ids. Where it is written does not matter. */
function sameContent(directive: Directive, data: DirectiveData): boolean {
  return directive.id === data.id && directive.key === data.key && sameHead(directive, data) && sameBlock(directive.block, data.block);
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
