import { COLUMNS, HEADER_BYTES, ROWS, Word } from './zone-layout.js';
import type { Zone } from './zone.js';
import { wordOf } from './offsets.js';

/**
 * A block is a header of 8 bytes and its content. Header: the content's size with {@link FREE} in the lowest bit, and the offset of the
 * block before it. Free blocks keep the links of their class in the first two words of their content.
 */
const HEADER = 8;
const MIN = 16;
const FREE = 1;

const sizeOf = (head: number) => head & ~7;

/** Row of a size class (power of two), and its column (eighths of it). */
const rowOf = (size: number) => (size < 64 ? 0 : 26 - Math.clz32(size));
const columnOf = (size: number, row: number) => (row === 0 ? size >>> 3 : (size >>> (row + 2)) - COLUMNS);

/**
 * The memory pool of a zone: blocks of any size by two-level size classes (TLSF), allocated and released in constant time; neighbours that
 * are free become one block at once. All methods are called with the zone's lock held. Offsets are those of the content, multiples of 8.
 *
 * The chain of block headers can be walked at any moment of any change, because each change of it is one store; so {@link repair} can make
 * everything else again after a thread died half way through.
 */
export class Slab {
  constructor(private readonly zone: Zone) {}

  /** The number of bytes that a request for `bytes` takes, header included: what an owner plans its zone with. */
  static cost(bytes: number): number {
    return Slab.#rounded(bytes) + HEADER;
  }

  /** Content size for a request: the next size class, so that every block of a class fits every request of it. */
  static #rounded(bytes: number): number {
    if (bytes <= MIN) return MIN;
    const row = rowOf(bytes);
    const step = row === 0 ? 8 : 1 << (row + 2);
    return Math.ceil(bytes / step) * step;
  }

  /** Bytes in use, headers included. */
  get used(): number {
    return this.zone.u32[Word.used]!;
  }

  /** Bytes that could be allocated if they were in one piece. */
  get free(): number {
    return this.zone.size - HEADER_BYTES - HEADER - this.used;
  }

  /** One free block over all of the memory, and a last one of no size that ends the chain. */
  format(): void {
    const { u32, size } = this.zone;
    const end = size - HEADER;
    u32[Word.end] = end;
    u32[wordOf(end)] = 0;
    u32[wordOf(end) + 1] = HEADER_BYTES;
    u32[wordOf(HEADER_BYTES)] = end - HEADER_BYTES - HEADER;
    u32[wordOf(HEADER_BYTES) + 1] = 0;
    this.#link(HEADER_BYTES);
  }

  /** Memory for `bytes`, not cleared. 0 when there is no block of that size left. */
  alloc(bytes: number): number {
    const want = Slab.#rounded(bytes);
    const block = this.#find(want) || this.#grown(want);
    if (block === 0) return 0;
    this.#unlink(block);
    this.#split(block, want);
    const { u32 } = this.zone;
    u32[Word.used]! += sizeOf(u32[wordOf(block)]!) + HEADER;
    return block + HEADER;
  }

  /** As {@link alloc}, filled with zeros. */
  calloc(bytes: number): number {
    const offset = this.alloc(bytes);
    if (offset !== 0) this.zone.bytes.fill(0, offset, offset + bytes);
    return offset;
  }

  /** Gives memory back. @throws RangeError if `offset` is not one that {@link alloc} gave and that is in use */
  release(offset: number): void {
    let block = offset - HEADER;
    const { u32 } = this.zone;
    if (block < HEADER_BYTES || block >= u32[Word.end]! || offset % 8 !== 0 || (u32[wordOf(block)]! & FREE) !== 0)
      throw new RangeError(`zone "${this.zone.name}": offset ${offset} is not in use`);
    u32[Word.used]! -= sizeOf(u32[wordOf(block)]!) + HEADER;
    const next = this.#next(block);
    if ((u32[wordOf(next)]! & FREE) !== 0) {
      this.#unlink(next);
      this.#resize(block, next + HEADER + sizeOf(u32[wordOf(next)]!) - offset);
    }
    const before = u32[wordOf(block) + 1]!;
    if (before !== 0 && (u32[wordOf(before)]! & FREE) !== 0) {
      this.#unlink(before);
      this.#resize(before, block + HEADER + sizeOf(u32[wordOf(block)]!) - before - HEADER);
      block = before;
    }
    this.#link(block);
  }

  /** Takes the memory from the old end of the zone to its new one in. */
  extend(before: number): void {
    const { u32, size } = this.zone;
    const last = before - HEADER;
    const end = size - HEADER;
    u32[Word.end] = end;
    u32[wordOf(end)] = 0;
    u32[wordOf(last)] = end - last - HEADER;
    u32[wordOf(end) + 1] = last;
    u32[Word.used]! += end - last;
    this.release(last + HEADER);
  }

  /** Makes the free lists again from the chain of blocks. A block that a dead thread had taken and not yet linked stays taken. */
  repair(): void {
    const { u32 } = this.zone;
    u32.fill(0, Word.rows, Word.heads + ROWS * COLUMNS);
    let used = 0;
    let before = 0;
    for (let block = HEADER_BYTES; block < u32[Word.end]!; block = this.#next(block)) {
      u32[wordOf(block) + 1] = before;
      this.#absorb(block);
      if ((u32[wordOf(block)]! & FREE) === 0) used += sizeOf(u32[wordOf(block)]!) + HEADER;
      else this.#link(block);
      before = block;
    }
    u32[wordOf(u32[Word.end]!) + 1] = before;
    u32[Word.used] = used;
  }

  /** Walks all blocks in order: for checks and statistics. */
  *blocks(): Generator<{ offset: number; size: number; free: boolean; before: number }> {
    for (let block = HEADER_BYTES; block < this.zone.u32[Word.end]!; block = this.#next(block)) {
      const head = this.zone.u32[wordOf(block)]!;
      yield { offset: block + HEADER, size: sizeOf(head), free: (head & FREE) !== 0, before: this.zone.u32[wordOf(block) + 1]! };
    }
  }

  #next(block: number): number {
    return block + HEADER + sizeOf(this.zone.u32[wordOf(block)]!);
  }

  /** Joins the free blocks that follow a free one; only {@link repair} meets such. */
  #absorb(block: number): void {
    const { u32 } = this.zone;
    if ((u32[wordOf(block)]! & FREE) === 0) return;
    for (let next = this.#next(block); next < u32[Word.end]! && (u32[wordOf(next)]! & FREE) !== 0; next = this.#next(block))
      u32[wordOf(block)]! += sizeOf(u32[wordOf(next)]!) + HEADER;
  }

  /** The first free block that is large enough for the (rounded) size, or 0. */
  #find(want: number): number {
    const { u32 } = this.zone;
    let row = rowOf(want);
    if (row >= ROWS) return 0;
    let columns = u32[Word.columns + row]! & (-1 << columnOf(want, row));
    if (columns === 0) {
      const rows = u32[Word.rows]! & (-2 << row);
      if (rows === 0) return 0;
      row = 31 - Math.clz32(rows & -rows);
      columns = u32[Word.columns + row]!;
    }
    return u32[Word.heads + row * COLUMNS + 31 - Math.clz32(columns & -columns)]!;
  }

  #grown(want: number): number {
    return this.zone.grow(want * 2) ? this.#find(want) : 0;
  }

  /** Cuts a block to the size and makes what is left a free block, if it is worth one. Marks the block as in use. */
  #split(block: number, want: number): void {
    const { u32 } = this.zone;
    const size = sizeOf(u32[wordOf(block)]!);
    if (size < want + HEADER + MIN) {
      u32[wordOf(block)] = size;
      return;
    }
    const rest = block + HEADER + want;
    u32[wordOf(rest)] = size - want - HEADER;
    u32[wordOf(rest) + 1] = block;
    u32[wordOf(this.#next(rest)) + 1] = rest;
    this.#link(rest);
    u32[wordOf(block)] = want;
  }

  #resize(block: number, size: number): void {
    const { u32 } = this.zone;
    u32[wordOf(block)] = size | (u32[wordOf(block)]! & FREE);
    u32[wordOf(this.#next(block)) + 1] = block;
  }

  #link(block: number): void {
    const { u32 } = this.zone;
    const size = sizeOf(u32[wordOf(block)]!);
    const row = rowOf(size);
    const column = columnOf(size, row);
    const head = Word.heads + row * COLUMNS + column;
    const first = u32[head]!;
    const links = wordOf(block + HEADER);
    u32[links] = first;
    u32[links + 1] = 0;
    if (first !== 0) u32[wordOf(first + HEADER) + 1] = block;
    u32[head] = block;
    u32[Word.rows]! |= 1 << row;
    u32[Word.columns + row]! |= 1 << column;
    u32[wordOf(block)] = size | FREE;
  }

  #unlink(block: number): void {
    const { u32 } = this.zone;
    const links = wordOf(block + HEADER);
    const next = u32[links]!;
    const before = u32[links + 1]!;
    if (next !== 0) u32[wordOf(next + HEADER) + 1] = before;
    if (before !== 0) {
      u32[wordOf(before + HEADER)] = next;
      return;
    }
    const size = sizeOf(u32[wordOf(block)]!);
    const row = rowOf(size);
    const column = columnOf(size, row);
    u32[Word.heads + row * COLUMNS + column] = next;
    if (next !== 0) return;
    u32[Word.columns + row]! &= ~(1 << column);
    if (u32[Word.columns + row] === 0) u32[Word.rows]! &= ~(1 << row);
  }
}
