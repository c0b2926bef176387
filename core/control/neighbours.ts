import type { ConfigTree } from '../config/tree.js';
import type { Directive } from '../module/tree.js';

/** One block in its order. */
interface Order {
  readonly directives: readonly Directive[];
  /** By id. */
  readonly places: ReadonlyMap<number, number>;
}

/** The directives beside others in one tree. The order of a whole block is kept when a second of its directives is asked for: then it may be all. */
export class Neighbours {
  /** By the id of what has the block. */
  readonly #orders = new Map<number, Order | undefined>();

  constructor(private readonly tree: ConfigTree) {}

  previous(directive: Directive): Directive | undefined {
    return this.#beside(directive, -1);
  }

  next(directive: Directive): Directive | undefined {
    return this.#beside(directive, 1);
  }

  #beside({ id }: Directive, distance: number): Directive | undefined {
    const parent = this.tree.parentOf(id);
    const at = parent?.id ?? 0;
    const block = parent?.block ?? this.tree.root;
    if (!this.#orders.has(at)) {
      this.#orders.set(at, undefined);
      const directives = [...block];
      return directives[directives.findIndex((one) => one.id === id) + distance];
    }
    const order = this.#orders.get(at) ?? orderOf(block);
    this.#orders.set(at, order);
    return order.directives[(order.places.get(id) ?? -2) + distance];
  }
}

function orderOf(block: Iterable<Directive>): Order {
  const directives = [...block];
  return { directives, places: new Map(directives.map(({ id }, at) => [id, at])) };
}
