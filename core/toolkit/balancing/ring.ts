/** Whom points on a ring belong to. */
export interface RingOwner {
  /** Decides between points at the same place. */
  readonly name: string;
}

const NONE = -1;
const FIRST_BITS = 8;
/** Part of the table that is in use before it grows. */
const FULL = 0.8;
/** And before it shrinks. */
const SPARSE = 0.2;
/** Entries after the last place: entries that are pushed on from there. */
const TAIL = 64;

/**
 * Points on a ring of 2^32 places, each with its owner, in order. They are kept in a table with gaps: a point is where its upper bits say,
 * or after it in the next free entry. So finding one reads memory in one place, and adding and removing one costs the same however many
 * there are; the table grows and shrinks by one pass over it. Takes 10 to 20 bytes a point.
 */
export class Ring<T extends RingOwner> {
  #bits = FIRST_BITS;
  /** For each entry its place, and the number of its owner, 0: free. */
  #table = tableOf(FIRST_BITS);
  /** By number; the ones of {@link #freeNumbers} are unused. */
  readonly #owners: (T | undefined)[] = [undefined];
  readonly #freeNumbers: number[] = [];
  readonly #numbers = new Map<T, number>();
  /** Number of the owner that was asked for last: its points come one after the other. */
  #last = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** A second owner of a place follows the first one, by name. */
  add(place: number, owner: T): void {
    if (this.#size >= 2 ** this.#bits * FULL) this.#resize(this.#bits + 1);
    const number = this.#numberOf(owner);
    while (!this.#insert(place, number)) this.#resize(this.#bits + 1);
    this.#size++;
  }

  remove(place: number, owner: T): void {
    const number = this.#numbers.get(owner);
    const table = this.#table;
    let at = place >>> (32 - this.#bits);
    while (at * 2 < table.length && table[at * 2 + 1] !== 0 && (table[at * 2] !== place || table[at * 2 + 1] !== number)) at++;
    if (number === undefined || table[at * 2 + 1] !== number) return;
    this.#closeGap(at);
    this.#size--;
    if (this.#bits > FIRST_BITS && this.#size < 2 ** this.#bits * SPARSE) this.#resize(this.#bits - 1);
  }

  /** The points of an owner belong to another one of that name from now on. */
  replace(owner: T, other: T): void {
    const number = this.#numbers.get(owner);
    if (number === undefined) return;
    this.#numbers.delete(owner);
    this.#numbers.set(other, number);
    this.#owners[number] = other;
  }

  /** Forgets an owner that has no points any more. */
  forget(owner: T): void {
    const number = this.#numbers.get(owner);
    if (number === undefined) return;
    this.#owners[number] = undefined;
    this.#freeNumbers.push(number);
    this.#numbers.delete(owner);
  }

  /** The first point at or after a place, going round; -1: there is none. Holds until a point comes or goes. */
  find(place: number): number {
    if (this.#size === 0) return NONE;
    const table = this.#table;
    const end = table.length / 2;
    for (let at = place >>> (32 - this.#bits); at < end; at++) if (table[at * 2 + 1] !== 0 && table[at * 2]! >= place) return at;
    return this.#firstFrom(0);
  }

  /** The point that follows, going round. */
  after(point: number): number {
    return this.#firstFrom(point + 1);
  }

  ownerOf(point: number): T | undefined {
    return this.#owners[this.#table[point * 2 + 1]!];
  }

  #firstFrom(start: number): number {
    const table = this.#table;
    const end = table.length / 2;
    for (let at = start; at < end; at++) if (table[at * 2 + 1] !== 0) return at;
    return start === 0 ? NONE : this.#firstFrom(0);
  }

  #numberOf(owner: T): number {
    if (this.#owners[this.#last] === owner) return this.#last;
    const number = this.#numbers.get(owner) ?? this.#newNumber(owner);
    this.#last = number;
    return number;
  }

  #newNumber(owner: T): number {
    const number = this.#freeNumbers.pop() ?? this.#owners.length;
    this.#owners[number] = owner;
    this.#numbers.set(owner, number);
    return number;
  }

  /** False: there is no free entry after its place. */
  #insert(place: number, number: number): boolean {
    const table = this.#table;
    const end = table.length / 2;
    let at = place >>> (32 - this.#bits);
    while (at < end && table[at * 2 + 1] !== 0 && this.#precedes(at, place, number)) at++;
    let free = at;
    while (free < end && table[free * 2 + 1] !== 0) free++;
    if (free >= end) return false;
    // A few words: copyWithin() takes longer.
    for (let to = free * 2 + 1; to > at * 2 + 1; to--) table[to] = table[to - 2]!;
    table[at * 2] = place;
    table[at * 2 + 1] = number;
    return true;
  }

  /** Entries that were pushed on by this entry move back. */
  #closeGap(at: number): void {
    const table = this.#table;
    const end = table.length / 2;
    let next = at + 1;
    while (next < end && table[next * 2 + 1] !== 0 && table[next * 2]! >>> (32 - this.#bits) < next) next++;
    for (let to = at * 2; to < next * 2 - 2; to++) table[to] = table[to + 2]!;
    table[next * 2 - 1] = 0;
  }

  #precedes(at: number, place: number, number: number): boolean {
    const difference = this.#table[at * 2]! - place;
    return difference < 0 || (difference === 0 && this.#owners[this.#table[at * 2 + 1]!]!.name < this.#owners[number]!.name);
  }

  /** In order, so that each one goes after the one before. */
  #resize(bits: number): void {
    const before = this.#table;
    const table = tableOf(bits);
    let free = 0;
    for (let from = 0; from < before.length; from += 2) {
      if (before[from + 1] === 0) continue;
      free = Math.max(free, before[from]! >>> (32 - bits));
      // So many in the last places that there is no room after them.
      if (free * 2 >= table.length) return this.#resize(bits + 1);
      table[free * 2] = before[from]!;
      table[free * 2 + 1] = before[from + 1]!;
      free++;
    }
    this.#bits = bits;
    this.#table = table;
  }
}

const tableOf = (bits: number): Uint32Array => new Uint32Array((2 ** bits + TAIL) * 2);
