import type { EngineName } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { Tree } from './tree.js';

/** Servers of an engine in the order of the configuration. */
export function serverIds({ root }: Tree, engine: EngineName): number[] {
  const ids: number[] = [];
  for (const { block } of root.named(engine)) for (const { id } of block?.named('server') ?? []) ids.push(id);
  return ids;
}

/** Finds the place of a server in the configuration. Looks at all servers at the first call. */
export function serverPlaces(tree: Tree, engine: EngineName): (server: { readonly directive: Directive }) => number {
  let places: ReadonlyMap<number, number> | undefined;
  return ({ directive }) => {
    places ??= new Map(serverIds(tree, engine).map((id, at) => [id, at]));
    return places.get(directive.id) ?? 0;
  };
}
