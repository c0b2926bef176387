/**
 * The directives of one block as a persistent list. They stand in chunks of about √n; a change copies one chunk and the list of
 * chunks, so that adding one line to 100,000 costs microseconds and the version before it stays as it was.
 */
import type { Block, BlockChanges, Directive } from '../contract/tree.js';

const SMALL = 32;
/** As many directives are looked through: an index of them would take more memory than they do. */
const FEW = 8;
const NONE: readonly Directive[] = [];
const NONE_MOVED: readonly Located[] = [];

/**
 * Some directives in a row. Its number grows along the block, with fractions where one was put between two others: the address that the tree
 * keeps for a directive.
 */
class Chunk {
  private index: ReadonlyMap<string, readonly Directive[]> | undefined;

  constructor(
    readonly number: number,
    readonly items: readonly Directive[],
  ) {}

  named(name: string): readonly Directive[] {
    if (this.items.length <= FEW)
      return this.items.some((item) => item.name === name) ? this.items.filter((item) => item.name === name) : NONE;
    this.index ??= byName(this.items);
    return this.index.get(name) ?? NONE;
  }
}

function byName(items: readonly Directive[]): ReadonlyMap<string, readonly Directive[]> {
  const first = items[0];
  if (first !== undefined && items.every((item) => item.name === first.name)) return new Map([[first.name, items]]);
  const index = new Map<string, Directive[]>();
  for (const item of items) {
    const same = index.get(item.name);
    if (same === undefined) index.set(item.name, [item]);
    else same.push(item);
  }
  return index;
}

function chunkLength(size: number): number {
  return Math.max(SMALL, Math.ceil(Math.sqrt(size)));
}

type Located = readonly [directive: Directive, chunk: number];

function located(directives: readonly Directive[], chunk: number): readonly Located[] {
  return directives.map((directive) => [directive, chunk]);
}

/** The block after a removal, and the directives that are in another chunk now. */
export interface Removal {
  readonly block: ConfigBlock;
  readonly moved: Iterable<Located>;
}

/** The same after an insertion, and the chunk of the new directive. */
export interface Insertion extends Removal {
  readonly chunk: number;
}

export class ConfigBlock implements Block {
  static readonly empty = new ConfigBlock([], 0);

  private constructor(
    private readonly chunks: readonly Chunk[],
    readonly size: number,
  ) {}

  static of(items: readonly Directive[]): ConfigBlock {
    if (items.length === 0) return ConfigBlock.empty;
    const length = chunkLength(items.length);
    const chunks: Chunk[] = [];
    for (let start = 0; start < items.length; start += length) chunks.push(new Chunk(chunks.length, items.slice(start, start + length)));
    return new ConfigBlock(chunks, items.length);
  }

  *[Symbol.iterator](): Iterator<Directive> {
    for (const chunk of this.chunks) yield* chunk.items;
  }

  named(name: string): Iterable<Directive> {
    const [only] = this.chunks;
    if (only === undefined) return NONE;
    return this.chunks.length === 1 ? only.named(name) : this.namedInAll(name);
  }

  /** The same in pieces. Versions of a block share equal pieces, so facts about a piece can be cached by it. */
  *runs(name: string): Iterable<readonly Directive[]> {
    for (const chunk of this.chunks) {
      const run = chunk.named(name);
      if (run.length > 0) yield run;
    }
  }

  changesSince(earlier: Block): BlockChanges {
    if (!(earlier instanceof ConfigBlock)) return { gone: [...earlier], come: [...this] };
    const gone = earlier.without(this);
    const come = this.without(earlier);
    return { gone: [...gone].filter((item) => !come.has(item)), come: [...come].filter((item) => !gone.has(item)) };
  }

  /** The first directive called `name`. */
  first(name: string): Directive | undefined {
    for (const chunk of this.chunks) {
      const [found] = chunk.named(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** All directives with the number of the chunk they are in. */
  *located(): Iterable<Located> {
    for (const chunk of this.chunks) for (const item of chunk.items) yield [item, chunk.number];
  }

  /** The block with one more directive at its end. */
  append(item: Directive): Insertion {
    const last = this.chunks.at(-1);
    if (last === undefined || last.items.length >= chunkLength(this.size)) {
      const chunk = new Chunk(Math.floor(last?.number ?? -1) + 1, [item]);
      return { block: new ConfigBlock([...this.chunks, chunk], this.size + 1), chunk: chunk.number, moved: NONE_MOVED };
    }
    const chunks = this.chunks.slice();
    chunks[chunks.length - 1] = new Chunk(last.number, [...last.items, item]);
    return { block: new ConfigBlock(chunks, this.size + 1), chunk: last.number, moved: NONE_MOVED };
  }

  /** The block with one more directive in front of the one with the id `before`, which is in chunk `number`. */
  insert(number: number, before: number, item: Directive): Insertion {
    const [position, chunk, at] = this.find(number, before);
    const items = chunk.items.toSpliced(at, 0, item);
    const size = this.size + 1;
    if (items.length < 2 * chunkLength(size)) {
      const block = new ConfigBlock(this.chunks.with(position, new Chunk(number, items)), size);
      return { block, chunk: number, moved: NONE_MOVED };
    }
    return this.split(position, items, at);
  }

  /** The block with `item` in the place of the directive of the same id in chunk `number`. */
  replace(number: number, item: Directive): ConfigBlock {
    const [position, chunk, at] = this.find(number, item.id);
    const items = chunk.items.slice();
    items[at] = item;
    return new ConfigBlock(this.chunks.with(position, new Chunk(number, items)), this.size);
  }

  /** The directive after (1) or before (-1) the one with the id `id`, which is in chunk `number`. */
  beside(number: number, id: number, distance: 1 | -1): Directive | undefined {
    const [position, chunk, at] = this.find(number, id);
    return chunk.items[at + distance] ?? this.chunks[position + distance]?.items.at(distance === 1 ? 0 : -1);
  }

  /** The block without the directive `id` of chunk `number`. */
  remove(number: number, id: number): Removal {
    const [position, chunk, at] = this.find(number, id);
    const items = chunk.items.toSpliced(at, 1);
    const size = this.size - 1;
    if (items.length === 0) return { block: new ConfigBlock(this.chunks.toSpliced(position, 1), size), moved: NONE_MOVED };

    const before = this.chunks[position - 1];
    if (before !== undefined && before.items.length + items.length <= chunkLength(size) / 2) {
      const merged = new Chunk(before.number, [...before.items, ...items]);
      return { block: new ConfigBlock(this.chunks.toSpliced(position - 1, 2, merged), size), moved: located(items, before.number) };
    }
    return { block: new ConfigBlock(this.chunks.with(position, new Chunk(number, items)), size), moved: NONE_MOVED };
  }

  /** Content of pieces that another version does not share. */
  private without(other: ConfigBlock): Set<Directive> {
    const shared = new Set(other.chunks);
    return new Set(this.chunks.filter((chunk) => !shared.has(chunk)).flatMap((chunk) => chunk.items));
  }

  private *namedInAll(name: string): Iterable<Directive> {
    for (const chunk of this.chunks) yield* chunk.named(name);
  }

  /** Makes two chunks of one that has become too long. */
  private split(position: number, items: readonly Directive[], inserted: number): Insertion {
    const half = items.length >>> 1;
    const { number } = this.chunks[position] as Chunk;
    const following = this.chunks[position + 1]?.number ?? Math.floor(number) + 2;
    const between = (number + following) / 2;
    const [first, second] = [items.slice(0, half), items.slice(half)];
    const chunks = this.chunks.toSpliced(position, 1, new Chunk(number, first), new Chunk(between, second));
    const size = this.size + 1;
    if (between > number && between < following) {
      const chunk = inserted < half ? number : between;
      return { block: new ConfigBlock(chunks, size), chunk, moved: located(second, between) };
    }
    // There is no number left between the two: all get new ones.
    const block = ConfigBlock.of(chunks.flatMap((chunk) => chunk.items));
    const all = [...block.located()];
    const item = items[inserted];
    return {
      block,
      chunk: all.find(([directive]) => directive === item)?.[1] ?? 0,
      moved: all.filter(([directive]) => directive !== item),
    };
  }

  private find(number: number, id: number): readonly [position: number, chunk: Chunk, at: number] {
    let low = 0;
    let high = this.chunks.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.chunks[middle]?.number ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    const chunk = this.chunks[low];
    const at = chunk?.number === number ? chunk.items.findIndex((item) => item.id === id) : -1;
    if (chunk === undefined || at < 0) throw new Error(`directive ${id} is not in this block`);
    return [low, chunk, at];
  }
}
