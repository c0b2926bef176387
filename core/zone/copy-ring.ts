import { wordOf } from './offsets.js';
import type { Zone } from './zone.js';

/** Words of the state of a ring. */
const Ring = { base: 0, capacity: 1, head: 2, tail: 3, used: 4 } as const;
export const RING_WORDS = 5;
/** A block begins with the word of its owner, 0 for a gap, and its length. */
const BLOCK = 8;

/** Bytes that content takes in a ring. */
export const blockOf = (bytes: number): number => BLOCK + ((bytes + 7) & ~7);

/**
 * A part of a zone that is filled round and round: blocks go in the order in which they came. A block is in one piece; what is left at the end of the
 * ring is a gap. Called with the lock of the zone held.
 */
export class CopyRing {
  /** @param words index of its state in the words of the zone */
  constructor(
    private readonly zone: Zone,
    private readonly words: number,
  ) {}

  /** @param base offset in the zone, a multiple of 8 as `capacity` is */
  format(base: number, capacity: number): void {
    const { u32 } = this.zone;
    u32[this.words + Ring.base] = base;
    u32[this.words + Ring.capacity] = capacity;
    this.clear();
  }

  clear(): void {
    this.zone.u32.fill(0, this.words + Ring.head, this.words + RING_WORDS);
  }

  get capacity(): number {
    return this.zone.u32[this.words + Ring.capacity]!;
  }

  /** Offset of a new block's content; 0: the first block has to go before. @param owner a number that is not 0 */
  add(bytes: number, owner: number): number {
    const { u32 } = this.zone;
    const { words, capacity } = this;
    const length = blockOf(bytes);
    const tail = u32[words + Ring.tail]!;
    let head = u32[words + Ring.head]!;
    const used = u32[words + Ring.used]!;
    if (used + length > capacity) return 0;
    const end = head < tail ? tail : capacity;
    if (end - head < length) {
      if (head < tail || tail < length) return 0;
      this.#write(head, 0, capacity - head);
      head = 0;
    }
    this.#write(head, owner, length);
    return u32[words + Ring.base]! + head + BLOCK;
  }

  /** Offset of the content of the block that came first; 0: there is none. */
  get first(): number {
    const { u32 } = this.zone;
    for (;;) {
      if (u32[this.words + Ring.used] === 0) return 0;
      const content = u32[this.words + Ring.base]! + u32[this.words + Ring.tail]! + BLOCK;
      if (this.ownerOf(content) !== 0) return content;
      this.dropFirst();
    }
  }

  ownerOf(content: number): number {
    return this.zone.u32[wordOf(content - BLOCK)]!;
  }

  dropFirst(): void {
    const { u32 } = this.zone;
    const { words, capacity } = this;
    const tail = u32[words + Ring.tail]!;
    const length = u32[wordOf(u32[words + Ring.base]! + tail) + 1]!;
    u32[words + Ring.tail] = tail + length === capacity ? 0 : tail + length;
    u32[words + Ring.used]! -= length;
    // From its beginning there is the most room in one piece.
    if (u32[words + Ring.used] === 0) u32[words + Ring.head] = u32[words + Ring.tail] = 0;
  }

  #write(at: number, owner: number, length: number): void {
    const { u32 } = this.zone;
    const { words } = this;
    const block = wordOf(u32[words + Ring.base]! + at);
    u32[block] = owner;
    u32[block + 1] = length;
    u32[words + Ring.head] = at + length === this.capacity ? 0 : at + length;
    u32[words + Ring.used]! += length;
  }
}
