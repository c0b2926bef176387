/** A persistent map for tables that requests look things up in: every version stays readable, a lookup costs one or two of a plain Map. */

/** A key of the base that is gone. */
const REMOVED = Symbol('removed');

/** A new base is made when the changes on top of it are more than this, and more than the square root of its size. */
const FEW_CHANGES = 32;

/**
 * A plain Map that never changes, and the changes since it was made. A new version copies the changes alone, so that one change among n
 * entries costs O(√n) on average.
 */
export class LayeredMap<K, V extends object> {
  readonly #base: ReadonlyMap<K, V>;
  readonly #changes: ReadonlyMap<K, V | typeof REMOVED> | undefined;
  readonly size: number;

  private constructor(base: ReadonlyMap<K, V>, changes: ReadonlyMap<K, V | typeof REMOVED> | undefined, size: number) {
    this.#base = base;
    this.#changes = changes;
    this.size = size;
  }

  /** Of several entries with one key the last counts. */
  static of<K, V extends object>(entries: Iterable<readonly [K, V]>): LayeredMap<K, V> {
    const base = new Map(entries);
    return new LayeredMap(base, undefined, base.size);
  }

  get(key: K): V | undefined {
    if (this.#changes !== undefined) {
      const changed = this.#changes.get(key);
      if (changed !== undefined) return changed === REMOVED ? undefined : changed;
    }
    return this.#base.get(key);
  }

  /** The version with these changes; `undefined` removes a key. This version stays as it is. */
  with(entries: Iterable<readonly [K, V | undefined]>): LayeredMap<K, V> {
    const changes = new Map(this.#changes);
    let { size } = this;
    for (const [key, value] of entries) {
      const before = changes.get(key) ?? this.#base.get(key);
      const was = before !== undefined && before !== REMOVED;
      size += Number(value !== undefined) - Number(was);
      if (value !== undefined) changes.set(key, value);
      else if (this.#base.has(key)) changes.set(key, REMOVED);
      else changes.delete(key);
    }
    if (changes.size === 0) return new LayeredMap(this.#base, undefined, size);
    const next = new LayeredMap(this.#base, changes, size);
    return changes.size > FEW_CHANGES && changes.size ** 2 > this.#base.size ? LayeredMap.of(next) : next;
  }

  *[Symbol.iterator](): Generator<readonly [K, V]> {
    for (const entry of this.#base) if (this.#changes?.has(entry[0]) !== true) yield entry;
    for (const [key, value] of this.#changes ?? []) if (value !== REMOVED) yield [key, value];
  }

  *values(): Generator<V> {
    for (const [, value] of this) yield value;
  }
}
