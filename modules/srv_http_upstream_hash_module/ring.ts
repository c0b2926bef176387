/** Points of the members of one name, and their owner. */
export interface Owner {
  readonly name: string;
}

const NONE = -1;
/** Points in a bucket on average, before the buckets are doubled. */
const FULL = 4;
const FIRST_BUCKETS = 256;

/**
 * Points on a ring of 2^32 places, each with its owner. Points fall into buckets by their upper bits and are kept in order there, so adding,
 * removing and finding one costs the same however many there are. Takes 12 bytes a point, and 4 for each bucket.
 */
export class Ring<T extends Owner> {
  #heads = new Int32Array(FIRST_BUCKETS).fill(NONE);
  #bits = 8;
  #places = new Uint32Array(FIRST_BUCKETS);
  #next = new Int32Array(FIRST_BUCKETS);
  #owners = new Int32Array(FIRST_BUCKETS);
  readonly #ownerList: (T | undefined)[] = [];
  readonly #numbers = new Map<T, number>();
  #free = NONE;
  #used = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** A second owner of a place is behind the first one, by name. */
  add(place: number, owner: T): void {
    if (this.#size >= this.#heads.length * FULL) this.#double();
    const point = this.#takePoint();
    this.#places[point] = place;
    this.#owners[point] = this.#numberOf(owner);
    this.#insert(point);
    this.#size++;
  }

  remove(place: number, owner: T): void {
    const number = this.#numbers.get(owner);
    const bucket = this.#bucketOf(place);
    let before = NONE;
    for (let point = this.#heads[bucket]!; point !== NONE; before = point, point = this.#next[point]!) {
      if (this.#places[point] !== place || this.#owners[point] !== number) continue;
      if (before === NONE) this.#heads[bucket] = this.#next[point]!;
      else this.#next[before] = this.#next[point]!;
      this.#next[point] = this.#free;
      this.#free = point;
      this.#size--;
      return;
    }
  }

  /** Forgets an owner that has no points any more. */
  forget(owner: T): void {
    const number = this.#numbers.get(owner);
    if (number !== undefined) this.#ownerList[number] = undefined;
    this.#numbers.delete(owner);
  }

  /** The first point at or after a place, going round; -1: there is none. */
  find(place: number): number {
    if (this.#size === 0) return NONE;
    const bucket = this.#bucketOf(place);
    for (let point = this.#heads[bucket]!; point !== NONE; point = this.#next[point]!) if (this.#places[point]! >= place) return point;
    return this.#firstAfter(bucket);
  }

  /** The point that follows, going round. */
  after(point: number): number {
    const next = this.#next[point]!;
    return next === NONE ? this.#firstAfter(this.#bucketOf(this.#places[point]!)) : next;
  }

  ownerOf(point: number): T | undefined {
    return this.#ownerList[this.#owners[point]!];
  }

  #firstAfter(bucket: number): number {
    const mask = this.#heads.length - 1;
    let at = (bucket + 1) & mask;
    while (this.#heads[at] === NONE) at = (at + 1) & mask;
    return this.#heads[at]!;
  }

  #bucketOf(place: number): number {
    return place >>> (32 - this.#bits);
  }

  #numberOf(owner: T): number {
    const known = this.#numbers.get(owner);
    if (known !== undefined) return known;
    const number = this.#ownerList.length;
    this.#ownerList.push(owner);
    this.#numbers.set(owner, number);
    return number;
  }

  #takePoint(): number {
    const point = this.#free;
    if (point !== NONE) {
      this.#free = this.#next[point]!;
      return point;
    }
    if (this.#used === this.#places.length) this.#grow();
    return this.#used++;
  }

  #grow(): void {
    const room = this.#places.length * 2;
    const places = new Uint32Array(room);
    places.set(this.#places);
    this.#places = places;
    const next = new Int32Array(room);
    next.set(this.#next);
    this.#next = next;
    const owners = new Int32Array(room);
    owners.set(this.#owners);
    this.#owners = owners;
  }

  #double(): void {
    const heads = this.#heads;
    this.#heads = new Int32Array(heads.length * 2).fill(NONE);
    this.#bits++;
    for (const head of heads) {
      for (let point = head; point !== NONE;) {
        const next = this.#next[point]!;
        this.#insert(point);
        point = next;
      }
    }
  }

  #insert(point: number): void {
    const bucket = this.#bucketOf(this.#places[point]!);
    let before = NONE;
    let after = this.#heads[bucket]!;
    while (after !== NONE && this.#precedes(after, point)) {
      before = after;
      after = this.#next[after]!;
    }
    this.#next[point] = after;
    if (before === NONE) this.#heads[bucket] = point;
    else this.#next[before] = point;
  }

  #precedes(one: number, other: number): boolean {
    const difference = this.#places[one]! - this.#places[other]!;
    return difference < 0 || (difference === 0 && this.ownerOf(one)!.name < this.ownerOf(other)!.name);
  }
}
