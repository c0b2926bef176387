import type { BlockLooks } from '../../config/scope.js';
import type { Block } from '../../contract/tree.js';

/** Places of modules among all. */
type Places = Set<number>;

/**
 * Modules that make nothing of what the blocks of one kind in the same block inherit, in one run of the compiler: a module that has looked at
 * nothing else makes nothing of the next such block either, and is not called for it. Of ten thousand locations most modules see no line.
 */
export class InheritedResults {
  readonly #nothing: Places = new Set();
  /** Directives of others that these modules have asked a block for. */
  readonly #asked = new Map<string, Places>();

  /** @param directives places of the modules that have a directive, by its name */
  constructor(private readonly directives: ReadonlyMap<string, Iterable<number>>) {}

  /** Places of the modules that have a directive in the block, or have asked for one of it. */
  concerned(block: Block | undefined): ReadonlySet<number> {
    if (block === undefined) return NONE;
    const places: Places = new Set();
    for (const { name } of block) {
      for (const place of this.directives.get(name) ?? NONE) places.add(place);
      for (const place of this.#asked.get(name) ?? NONE) places.add(place);
    }
    return places;
  }

  has(place: number): boolean {
    return this.#nothing.has(place);
  }

  /** A module has made nothing of a block in which it has no directive. */
  add(place: number, { names, isOwn, node }: BlockLooks): void {
    if (isOwn || [...names].some((name) => node.owns(name))) return;
    this.#nothing.add(place);
    for (const name of names) {
      const askers = this.#asked.get(name) ?? new Set();
      this.#asked.set(name, askers.add(place));
    }
  }
}

const NONE: ReadonlySet<number> = new Set();
