import type { ConfigTree } from '../config/tree.js';
import type { Directive } from '../module/tree.js';

/** What stands beside a directive in its block, by id. */
interface Beside {
  readonly next: ReadonlyMap<number, Directive>;
  readonly previous: ReadonlyMap<number, Directive>;
}

/** The directives beside others in one tree. The whole of a block is kept when a second of its directives is asked for: then it may be all. */
export class Neighbours {
  readonly #blocks = new Map<number, Beside | undefined>();

  constructor(private readonly tree: ConfigTree) {}

  next({ id }: Directive): Directive | undefined {
    const block = this.#block(id);
    if (block !== undefined) return block.next.get(id);
    let isBehind = false;
    for (const directive of this.#around(id)) {
      if (isBehind) return directive;
      isBehind = directive.id === id;
    }
    return undefined;
  }

  previous({ id }: Directive): Directive | undefined {
    const block = this.#block(id);
    if (block !== undefined) return block.previous.get(id);
    let previous: Directive | undefined;
    for (const directive of this.#around(id)) {
      if (directive.id === id) return previous;
      previous = directive;
    }
    return undefined;
  }

  #around(id: number): Iterable<Directive> {
    return this.tree.parentOf(id)?.block ?? this.tree.root;
  }

  /** Undefined for the first one of a block that is asked for. */
  #block(id: number): Beside | undefined {
    const parent = this.tree.parentOf(id)?.id ?? 0;
    if (!this.#blocks.has(parent)) {
      this.#blocks.set(parent, undefined);
      return undefined;
    }
    const known = this.#blocks.get(parent) ?? besideEach(this.#around(id));
    this.#blocks.set(parent, known);
    return known;
  }
}

function besideEach(block: Iterable<Directive>): Beside {
  const next = new Map<number, Directive>();
  const previous = new Map<number, Directive>();
  let last: Directive | undefined;
  for (const directive of block) {
    if (last !== undefined) {
      next.set(last.id, directive);
      previous.set(directive.id, last);
    }
    last = directive;
  }
  return { next, previous };
}
