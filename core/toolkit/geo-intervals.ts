/** A range of keys with its value. Both ends are in it. */
export interface Interval {
  readonly first: string;
  readonly last: string;
  readonly value: string;
}

/** Greater than every key. */
const BEYOND = '\u0100';
/** Bytes of a key that are compared at once. */
const WORD = 4;

/**
 * Values of addresses, found by binary search. Keys are addresses of one family as bytes: latin1 strings of one length, which sort as the
 * numbers they are.
 */
export class Intervals {
  /** The keys at which another value begins, in order, each as numbers of four bytes: many strings would not fit into the processor's cache. */
  readonly #starts: Uint32Array;
  /** The values from there on. */
  readonly #values: readonly (string | undefined)[];
  /** The key that is looked for. */
  readonly #key: Uint32Array;

  /** @param intervals one is in another one, or they have nothing in common; the inner one decides */
  constructor(intervals: Iterable<Interval>) {
    const { starts, values } = new Sections([...intervals].sort(outerFirst));
    const words = (starts[0]?.length ?? 0) / WORD;
    this.#key = new Uint32Array(words);
    this.#values = values;
    this.#starts = new Uint32Array(starts.length * words);
    for (const [at, start] of starts.entries()) putWords(start, this.#starts, at * words);
  }

  /** Undefined: the key is in none of the intervals. */
  find(key: string): string | undefined {
    putWords(key, this.#key, 0);
    let low = 0;
    let high = this.#values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#beginsAfter(middle)) high = middle;
      else low = middle + 1;
    }
    return low === 0 ? undefined : this.#values[low - 1];
  }

  #beginsAfter(at: number): boolean {
    const starts = this.#starts;
    const key = this.#key;
    const words = key.length;
    for (let word = 0; word < words; word++) {
      const difference = starts[at * words + word]! - key[word]!;
      if (difference !== 0) return difference > 0;
    }
    return false;
  }
}

function putWords(key: string, words: Uint32Array, from: number): void {
  for (let at = 0; at < key.length; at += WORD) {
    words[from + at / WORD] =
      (key.charCodeAt(at) << 24) | (key.charCodeAt(at + 1) << 16) | (key.charCodeAt(at + 2) << 8) | key.charCodeAt(at + 3);
  }
}

/** The keys at which another value begins, and the values from there on. */
class Sections {
  readonly starts: string[] = [];
  readonly values: (string | undefined)[] = [];

  constructor(sorted: readonly Interval[]) {
    const open: Interval[] = [];
    for (const interval of sorted) {
      this.#closeBefore(interval.first, open);
      this.#begin(interval.first, interval.value);
      open.push(interval);
    }
    this.#closeBefore(BEYOND, open);
  }

  /** Ends the intervals that end before a key: the one around them continues after them. */
  #closeBefore(key: string, open: Interval[]): void {
    for (;;) {
      const inner = open.at(-1);
      if (inner === undefined || inner.last >= key) return;
      open.pop();
      const next = successor(inner.last);
      if (next !== undefined) this.#begin(next, open.at(-1)?.value);
    }
  }

  #begin(start: string, value: string | undefined): void {
    const last = this.starts.length - 1;
    if (this.starts[last] === start) this.values[last] = value;
    else if (this.values[last] !== value) {
      this.starts.push(start);
      this.values.push(value);
    }
  }
}

function outerFirst(one: Interval, other: Interval): number {
  if (one.first !== other.first) return one.first < other.first ? -1 : 1;
  return one.last === other.last ? 0 : one.last > other.last ? -1 : 1;
}

/** The next key; undefined: there is none. */
function successor(key: string): string | undefined {
  let at = key.length - 1;
  while (at >= 0 && key.charCodeAt(at) === 255) at--;
  if (at < 0) return undefined;
  return key.slice(0, at) + String.fromCharCode(key.charCodeAt(at) + 1) + '\0'.repeat(key.length - 1 - at);
}
