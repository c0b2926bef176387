import type { ConfigTree } from '../config/tree.js';
import type { Directive } from '../module/tree.js';

/** The directives in front of others in one tree. Those of a whole block are kept when a second of its directives is asked for: then it may be all. */
export class Neighbours {
  /** By the id of what has the block, then by their own. */
  readonly #blocks = new Map<number, ReadonlyMap<number, Directive> | undefined>();

  constructor(private readonly tree: ConfigTree) {}

  previous({ id }: Directive): Directive | undefined {
    const parent = this.tree.parentOf(id);
    const block = parent?.block ?? this.tree.root;
    const at = parent?.id ?? 0;
    if (this.#blocks.has(at)) {
      const known = this.#blocks.get(at) ?? previousOfEach(block);
      this.#blocks.set(at, known);
      return known.get(id);
    }
    this.#blocks.set(at, undefined);
    let previous: Directive | undefined;
    for (const directive of block) {
      if (directive.id === id) return previous;
      previous = directive;
    }
    return undefined;
  }
}

function previousOfEach(block: Iterable<Directive>): ReadonlyMap<number, Directive> {
  const previous = new Map<number, Directive>();
  let last: Directive | undefined;
  for (const directive of block) {
    if (last !== undefined) previous.set(directive.id, last);
    last = directive;
  }
  return previous;
}
