/** A node that has sent nothing for so long is gone. Milliseconds. */
const GONE_MS = 3000;
/** More are not believed. */
const MOST_NODES = 1000;

interface Other {
  number: number;
  seen: number;
}

/** Nodes that have sent something lately. */
export class OtherNodes {
  readonly #nodes = new Map<string, Other>();

  get size(): number {
    return this.#nodes.size;
  }

  get names(): Iterable<string> {
    return this.#nodes.keys();
  }

  /**
   * A message of a node.
   * @param number of its messages, from 1 on
   * @returns `missed`: there were others before, which have not come; `unknown`: there are too many nodes
   */
  seen(name: string, number: number): 'next' | 'missed' | 'unknown' {
    const known = this.#nodes.get(name);
    if (known === undefined && this.#nodes.size >= MOST_NODES) return 'unknown';
    const isNext = number === (known?.number ?? 0) + 1;
    this.#nodes.set(name, { number, seen: performance.now() });
    return isNext ? 'next' : 'missed';
  }

  /** Removes the generations of a node that this one follows, and returns them. @param name of a node and its generation: `NODE:ID:GENERATION` */
  formerOf(name: string): string[] {
    if (this.#nodes.has(name)) return [];
    const node = name.slice(0, name.lastIndexOf(':') + 1);
    const former = node === '' ? [] : Array.from(this.#nodes.keys()).filter((other) => other.startsWith(node));
    for (const other of former) this.#nodes.delete(other);
    return former;
  }

  /** Removes the nodes that are gone, and returns them. */
  gone(): string[] {
    const before = performance.now() - GONE_MS;
    const gone = Array.from(this.#nodes).filter(([, { seen }]) => seen < before);
    for (const [name] of gone) this.#nodes.delete(name);
    return gone.map(([name]) => name);
  }
}
