/** A persistent map from whole numbers to values: every version stays readable, and a change copies a few small nodes. */

const BITS = 5;
const WIDTH = 1 << BITS;
const MASK = WIDTH - 1;

/** A node belongs to the draft that made it; only that draft may write into it. */
class Node {
  constructor(
    readonly owner: object,
    readonly slots: unknown[],
  ) {}
}

function emptyNode(owner: object): Node {
  return new Node(
    owner,
    Array.from({ length: WIDTH }, () => undefined),
  );
}

/** One version of the map. Lookups cost one step for every five bits of the largest id. */
export class IdMap<V> {
  private constructor(
    private readonly root: Node,
    /** Bits below the root: ids up to `2 ** (shift + 5) - 1` fit. */
    private readonly shift: number,
  ) {}

  static empty<V>(): IdMap<V> {
    return new IdMap<V>(emptyNode({}), 0);
  }

  /** Used by {@link IdMapDraft}. */
  static over<V>(root: Node, shift: number): IdMap<V> {
    return new IdMap<V>(root, shift);
  }

  get(id: number): V | undefined {
    return lookup(this.root, this.shift, id) as V | undefined;
  }

  /** A draft that starts as this version; this version never changes. */
  edit(): IdMapDraft<V> {
    return new IdMapDraft<V>(this.root, this.shift);
  }
}

/** Changes that become a version of their own with {@link commit}. Dropping a draft leaves no trace. */
export class IdMapDraft<V> {
  private owner: object = {};

  constructor(
    private root: Node,
    private shift: number,
  ) {}

  get(id: number): V | undefined {
    return lookup(this.root, this.shift, id) as V | undefined;
  }

  set(id: number, value: V): void {
    while (id >>> this.shift >= WIDTH) this.grow();
    let node = (this.root = this.own(this.root));
    for (let shift = this.shift; shift > 0; shift -= BITS) {
      const slot = (id >>> shift) & MASK;
      const child = node.slots[slot] as Node | undefined;
      const owned = child === undefined ? emptyNode(this.owner) : this.own(child);
      node.slots[slot] = owned;
      node = owned;
    }
    node.slots[id & MASK] = value;
  }

  delete(id: number): void {
    if (this.get(id) === undefined) return;
    this.root = this.without(this.root, this.shift, id) ?? emptyNode(this.owner);
  }

  /** The version with all changes so far. The draft may go on; the version does not see it. */
  commit(): IdMap<V> {
    this.owner = {};
    return IdMap.over<V>(this.root, this.shift);
  }

  private grow(): void {
    const root = emptyNode(this.owner);
    root.slots[0] = this.root;
    this.root = root;
    this.shift += BITS;
  }

  private own(node: Node): Node {
    return node.owner === this.owner ? node : new Node(this.owner, node.slots.slice());
  }

  /** Empty nodes are dropped, so that a server that lives long does not keep one for every id it ever used. */
  private without(node: Node, shift: number, id: number): Node | undefined {
    const slot = (id >>> shift) & MASK;
    const owned = this.own(node);
    owned.slots[slot] = shift === 0 ? undefined : this.without(owned.slots[slot] as Node, shift - BITS, id);
    return owned.slots.every((value) => value === undefined) ? undefined : owned;
  }
}

function lookup(root: Node, rootShift: number, id: number): unknown {
  if (id >>> rootShift >= WIDTH) return undefined;
  let node: Node | undefined = root;
  for (let shift = rootShift; shift > 0; shift -= BITS) {
    node = node.slots[(id >>> shift) & MASK] as Node | undefined;
    if (node === undefined) return undefined;
  }
  return node.slots[id & MASK];
}
