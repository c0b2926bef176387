/** A persistent map from whole numbers to values: every version stays readable, and a change copies a few small nodes. */

const WIDTH = 32;

/** A node belongs to the draft that made it; only that draft may write into it. */
class Node {
  constructor(
    readonly owner: object,
    readonly slots: unknown[],
  ) {}
}

const NO_VALUES: readonly unknown[] = Array.from({ length: WIDTH }, () => undefined);

function emptyNode(owner: object): Node {
  return new Node(owner, NO_VALUES.slice());
}

/** Place of an id in a node whose slots stand for `span` ids each. Arithmetic, because ids grow beyond 32 bits in a server that lives long. */
function slotOf(id: number, span: number): number {
  return Math.floor(id / span) % WIDTH;
}

/** One version of the map. Lookups cost one step for every five bits of the largest id. */
export class IdMap<V> {
  private constructor(
    private readonly root: Node,
    /** Ids that one slot of the root stands for. */
    private readonly span: number,
    /** How many ids are in it. */
    readonly size: number,
  ) {}

  static empty<V>(): IdMap<V> {
    return new IdMap<V>(emptyNode({}), 1, 0);
  }

  /** Used by {@link IdMapDraft}. */
  static over<V>(root: Node, span: number, size: number): IdMap<V> {
    return new IdMap<V>(root, span, size);
  }

  get(id: number): V | undefined {
    return lookup(this.root, this.span, id) as V | undefined;
  }

  /** In the order of the ids. */
  *values(): Generator<V> {
    for (const [, value] of entriesBelow<V>(this.root, this.span, 0)) yield value;
  }

  *keys(): Generator<number> {
    for (const [id] of entriesBelow<V>(this.root, this.span, 0)) yield id;
  }

  /** A draft that starts as this version; this version never changes. */
  edit(): IdMapDraft<V> {
    return new IdMapDraft<V>(this.root, this.span, this.size);
  }
}

/** Changes that become a version of their own with {@link commit}. Dropping a draft leaves no trace. */
export class IdMapDraft<V> {
  private owner: object = {};

  constructor(
    private root: Node,
    private span: number,
    private size: number,
  ) {}

  get(id: number): V | undefined {
    return lookup(this.root, this.span, id) as V | undefined;
  }

  set(id: number, value: V): void {
    while (id >= this.span * WIDTH) this.grow();
    let node = (this.root = this.own(this.root));
    for (let { span } = this; span > 1; span /= WIDTH) {
      const slot = slotOf(id, span);
      const child = node.slots[slot] as Node | undefined;
      const owned = child === undefined ? emptyNode(this.owner) : this.own(child);
      node.slots[slot] = owned;
      node = owned;
    }
    if (node.slots[id % WIDTH] === undefined) this.size++;
    node.slots[id % WIDTH] = value;
  }

  delete(id: number): void {
    if (this.get(id) === undefined) return;
    this.size--;
    this.root = this.without(this.root, this.span, id) ?? emptyNode(this.owner);
  }

  /** The version with all changes so far. The draft may go on; the version does not see it. */
  commit(): IdMap<V> {
    this.owner = {};
    return IdMap.over<V>(this.root, this.span, this.size);
  }

  private grow(): void {
    const root = emptyNode(this.owner);
    root.slots[0] = this.root;
    this.root = root;
    this.span *= WIDTH;
  }

  private own(node: Node): Node {
    return node.owner === this.owner ? node : new Node(this.owner, node.slots.slice());
  }

  /** Empty nodes are dropped, so that a server that lives long does not keep one for every id it ever used. */
  private without(node: Node, span: number, id: number): Node | undefined {
    const slot = slotOf(id, span);
    const owned = this.own(node);
    owned.slots[slot] = span === 1 ? undefined : this.without(owned.slots[slot] as Node, span / WIDTH, id);
    return owned.slots.every((value) => value === undefined) ? undefined : owned;
  }
}

function* entriesBelow<V>(node: Node, span: number, first: number): Generator<readonly [id: number, value: V]> {
  for (const [slot, value] of node.slots.entries()) {
    if (value === undefined) continue;
    const id = first + slot * span;
    if (span === 1) yield [id, value as V];
    else yield* entriesBelow<V>(value as Node, span / WIDTH, id);
  }
}

function lookup(root: Node, rootSpan: number, id: number): unknown {
  if (id >= rootSpan * WIDTH) return undefined;
  let node: Node | undefined = root;
  for (let span = rootSpan; span > 1; span /= WIDTH) {
    node = node.slots[slotOf(id, span)] as Node | undefined;
    if (node === undefined) return undefined;
  }
  return node.slots[id % WIDTH];
}
