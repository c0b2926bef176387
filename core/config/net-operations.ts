import type { Block } from '../contract/tree.js';
import { longestIncreasing } from './increasing.js';
import { directiveData, ROOT_ID, type TreeOperation } from './operations.js';
import type { Tree } from './tree.js';

/** Changes of a chain of operations in one block. */
interface TouchedBlock {
  /** In the order in which they were touched first. */
  readonly children: Set<number>;
  /** Something was put between others, or moved: the order has to be compared as well. */
  isOrdered: boolean;
}

/**
 * Net effect of a chain of changes: operations that make `before` into `after` at once, with the same ids. As in a single change, no
 * operation concerns a directive that another one adds, changes or removes.
 * @param operations of all changes, in order. The cost follows their number, and the size of blocks whose order changed
 */
export function netOperations(before: Tree, after: Tree, operations: readonly TreeOperation[]): TreeOperation[] {
  const net = new NetChange(before, after);
  for (const operation of operations) net.take(operation);
  return net.operations();
}

class NetChange {
  readonly #blocks = new Map<number, TouchedBlock>();
  readonly #replaced = new Set<number>();

  constructor(
    private readonly before: Tree,
    private readonly after: Tree,
  ) {}

  take(operation: TreeOperation): void {
    if (operation.op === 'root') throw new Error('the whole tree cannot be replaced together with other changes');
    const id = operation.op === 'add' || operation.op === 'replace' ? operation.directive.id : operation.id;
    const parent = operation.op === 'add' ? operation.parent : this.#parentOf(id);
    // It came and went in between.
    if (parent === undefined) return;
    const block = this.#blocks.get(parent) ?? { children: new Set(), isOrdered: false };
    this.#blocks.set(parent, block);
    block.children.add(id);
    if (operation.op === 'move' || (operation.op === 'add' && operation.before !== undefined)) block.isOrdered = true;
    if (operation.op === 'replace' && this.#isInBoth(id)) this.#replaced.add(id);
  }

  operations(): TreeOperation[] {
    const operations: TreeOperation[] = [];
    for (const [parent, block] of this.#blocks) {
      // All of a block that is new, gone, or replaced as a whole goes with it.
      if (parent !== ROOT_ID && (!this.#isInBoth(parent) || this.#waitsForIdle(parent))) continue;
      for (const id of block.children) operations.push(...this.#withoutPlace(id, block));
      if (block.isOrdered) operations.push(...this.#placed(parent));
    }
    return operations;
  }

  *#withoutPlace(id: number, { isOrdered }: TouchedBlock): Generator<TreeOperation> {
    const [old, now] = [this.before.byId(id), this.after.byId(id)];
    if (now === undefined) {
      if (old !== undefined) yield { op: 'remove', id };
    } else if (old === undefined) {
      if (!isOrdered) yield { op: 'add', parent: this.after.parentOf(id)?.id ?? ROOT_ID, directive: directiveData(now) };
    } else if (this.#replaced.has(id)) yield { op: 'replace', directive: directiveData(now) };
  }

  /** Added and moved directives go in front of the next one that stays. */
  *#placed(parent: number): Generator<TreeOperation> {
    const children = [...this.#blockOf(this.after, parent)];
    const places = new Map(Array.from(this.#blockOf(this.before, parent), ({ id }, place) => [id, place]));
    const known = children.filter(({ id }) => places.has(id));
    const stationary = new Set(longestIncreasing(known.map(({ id }) => places.get(id) ?? 0)).map((at) => known[at]?.id));
    const following: (number | undefined)[] = [];
    let next: number | undefined;
    for (const [at, { id }] of [...children.entries()].reverse()) {
      following[at] = next;
      if (stationary.has(id)) next = id;
    }
    for (const [at, child] of children.entries()) {
      if (stationary.has(child.id)) continue;
      const before = following[at];
      const place = before === undefined ? {} : { before };
      if (places.has(child.id)) yield { op: 'move', id: child.id, ...place };
      else yield { op: 'add', parent, directive: directiveData(child), ...place };
    }
  }

  #parentOf(id: number): number | undefined {
    const tree = [this.before, this.after].find((one) => one.byId(id) !== undefined);
    return tree && (tree.parentOf(id)?.id ?? ROOT_ID);
  }

  #blockOf(tree: Tree, id: number): Block | readonly [] {
    return (id === ROOT_ID ? tree.root : tree.byId(id)?.block) ?? [];
  }

  #isInBoth(id: number): boolean {
    return this.before.byId(id) !== undefined && this.after.byId(id) !== undefined;
  }

  /** Itself, or something around it. */
  #waitsForIdle(id: number): boolean {
    return this.after.pathOf(id).some((outer) => this.#replaced.has(outer.id));
  }
}
