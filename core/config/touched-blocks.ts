import type { EngineName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { StaysOutside } from './scope.js';
import type { Tree, TreeOperation } from './tree.js';

/** Operations of a change and the trees. */
export interface TreeChange {
  readonly before: Tree;
  readonly after: Tree;
  readonly operations: readonly TreeOperation[];
}

/** A block that a change concerns, with the servers and locations in it that it concerns. The others stay the same objects. */
export class TouchedBlock {
  readonly inside = new Map<number, TouchedBlock>();
  /** More than the servers or locations in it: it is compiled as a whole, and takes over what is the same. */
  asWhole = false;
  /** It was put before another one. */
  isPlaced = false;
  /** Servers or locations in it changed places. */
  reordered = false;

  at(id: number): TouchedBlock {
    const known = this.inside.get(id);
    if (known !== undefined) return known;
    const block = new TouchedBlock();
    this.inside.set(id, block);
    return block;
  }
}

/**
 * Parts of an engine's block that a change concerns, found by its operations alone: the cost follows the change.
 * @param again ids of servers and locations to compile although their blocks are the same
 * @returns isEverything when settings change that all servers inherit: `engine` has the ones of `again` then, and the others must be searched
 */
export function touchedBy(
  change: TreeChange,
  engine: EngineName,
  staysOutside: StaysOutside,
  again: ReadonlySet<number>,
): { readonly isEverything: boolean; readonly engine: TouchedBlock } {
  const block = new TouchedBlock();
  const paths = pathsInside(engine, change, staysOutside);
  const isEverything = paths === undefined;
  for (const path of paths ?? []) touch(block, path, false);
  for (const operation of change.operations)
    if (operation.op === 'add' && operation.before !== undefined) place(block, operation.directive.id);
  if (!isEverything)
    for (const operation of change.operations) if (operation.op === 'move') reorder(engine, block, change.after.pathOf(operation.id));
  for (const id of again) touch(block, change.after.pathOf(id), isEverything);
  return { isEverything, engine: block };
}

/** The paths of what changes in servers; undefined if something changes that all of them inherit. */
function pathsInside(engine: EngineName, change: TreeChange, staysOutside: StaysOutside): (readonly Directive[])[] | undefined {
  const paths: (readonly Directive[])[] = [];
  for (const path of pathsOf(change)) {
    if (path === undefined) return undefined;
    const [top, inside] = path;
    if (top?.name !== engine) continue;
    if (inside === undefined) return undefined;
    if (inside.name === 'server') paths.push(path);
    else if (inside.name !== 'upstream' && !staysOutside(inside.name)) return undefined;
  }
  return paths;
}

/** From the outermost block to the directive of each operation, before and after; undefined for the whole tree. */
function* pathsOf({ before, after, operations }: TreeChange): Generator<readonly Directive[] | undefined> {
  for (const operation of operations) {
    if (operation.op === 'root') yield undefined;
    else if (operation.op === 'remove') yield before.pathOf(operation.id);
    else yield after.pathOf(operation.op === 'move' ? operation.id : operation.directive.id);
  }
}

/** @param path through a server; what is not in the tree has none */
function touch(engine: TouchedBlock, path: readonly Directive[], asWhole: boolean): void {
  let block = engine;
  for (const { id, name } of path.slice(1)) {
    if (name !== 'server' && name !== 'location') break;
    block = block.at(id);
    if (asWhole) block.asWhole = true;
  }
  // The innermost block has another setting, or came, went or was replaced itself.
  if (block !== engine) block.asWhole = true;
}

function place(engine: TouchedBlock, id: number): void {
  const server = engine.inside.get(id);
  if (server !== undefined) server.isPlaced = true;
}

/** @param path to what has another place now */
function reorder(engine: EngineName, touched: TouchedBlock, path: readonly Directive[]): void {
  const last = path.at(-1);
  if (path[0]?.name !== engine || (last?.name !== 'server' && last?.name !== 'location')) return;
  let block = touched;
  for (const { id } of path.slice(1, -1)) block = block.at(id);
  block.reordered = true;
}

/** True if an operation is about something of an engine, or around it, other than members and settings of upstreams. */
export function touchesEngine(engine: EngineName, change: TreeChange): boolean {
  for (const path of pathsOf(change)) {
    const name = path?.[0]?.name;
    if (path === undefined || name !== engine) {
      if (name === 'http' || name === 'stream') continue;
      return true;
    }
    if (path[1]?.name !== 'upstream' || path.length <= 2) return true;
  }
  return false;
}
