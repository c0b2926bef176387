import type { Tree } from '../config/tree.js';
import type { Change } from '../config/change.js';
import type { EngineName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';

/** The upstream blocks that a change concerns. */
export interface Touched {
  /** Ids of blocks that are new, gone, or changed in more than their `server` lines. */
  readonly blocks: ReadonlySet<number>;
  /** For blocks of which only `server` lines changed: the ids of these. */
  readonly servers: ReadonlyMap<number, ReadonlySet<number>>;
}

/** The `upstream` blocks of an engine. */
export function* upstreamsOf(tree: Tree, engine: EngineName): Generator<Directive> {
  for (const { block } of tree.root.named(engine)) if (block !== undefined) yield* block.named('upstream');
}

/**
 * Goes by the operations alone, so that it costs what the change is. Only a change of the engine's block as a whole makes it look at every block.
 *
 * @param known the current blocks, by id
 * @param hasOtherModules all blocks are to be shown to them
 */
export function touchedBy(
  change: Change,
  known: ReadonlyMap<number, { readonly directive: Directive }>,
  engine: EngineName,
  hasOtherModules = false,
): Touched {
  const all = (): Touched => everything(change.after, known, engine, hasOtherModules);
  const blocks = new Set<number>(hasOtherModules ? known.keys() : []);
  const servers = new Map<number, Set<number>>();
  for (const operation of change.operations) {
    if (operation.op === 'root') return all();
    const id = 'directive' in operation ? operation.directive.id : operation.id;
    const name = 'directive' in operation ? operation.directive.name : change.before.byId(id)?.name;
    if (name === engine) return all();
    const parent = operation.op === 'add' ? operation.parent : (change.before.parentOf(id) ?? change.after.parentOf(id))?.id;
    if (known.has(id)) blocks.add(id);
    else if (parent !== undefined && known.has(parent)) {
      if (name !== 'server') blocks.add(parent);
      else servers.set(parent, (servers.get(parent) ?? new Set()).add(id));
    } else if (name === 'upstream' && isIn(engine, change.after, id)) blocks.add(id);
    else {
      const around = blockAround(change, parent, known);
      if (around !== undefined) blocks.add(around);
    }
  }
  for (const id of blocks) servers.delete(id);
  return { blocks, servers };
}

function everything(
  after: Tree,
  known: ReadonlyMap<number, { readonly directive: Directive }>,
  engine: EngineName,
  hasOtherModules: boolean,
): Touched {
  const blocks = new Set(known.keys());
  for (const directive of upstreamsOf(after, engine)) {
    if (!hasOtherModules && known.get(directive.id)?.directive === directive) blocks.delete(directive.id);
    else blocks.add(directive.id);
  }
  return { blocks, servers: new Map() };
}

/** The block that a directive is in deeper down: in a block of one of its lines. @param parent id of the directive around it */
function blockAround({ before, after }: Change, parent: number | undefined, known: ReadonlyMap<number, unknown>): number | undefined {
  if (parent === undefined) return undefined;
  const path = after.byId(parent) === undefined ? before.pathOf(parent) : after.pathOf(parent);
  return path.find(({ id }) => known.has(id))?.id;
}

function isIn(engine: EngineName, tree: Tree, id: number): boolean {
  const path = tree.pathOf(id);
  return path.length === 2 && path[0]?.name === engine;
}
