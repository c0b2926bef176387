/**
 * Values by host names and masks of them, as in `server_name`: the name itself, the longest `*.example.com`, the longest `mail.*`.
 * `.example.com` is the name and everything below it. Names are in lower case.
 */
export class HostMasks<T> {
  readonly #exact = new Map<string, T>();
  /** By the name without `*.`. */
  readonly #leading = new Map<string, T>();
  /** By the name without `.*`. */
  readonly #trailing = new Map<string, T>();

  /** @returns false if the name exists already */
  add(name: string, value: T): boolean {
    if (name.startsWith('.')) {
      const isNew = addNew(this.#exact, name.slice(1), value);
      return addNew(this.#leading, name.slice(1), value) && isNew;
    }
    if (name.startsWith('*.')) return addNew(this.#leading, name.slice(2), value);
    if (name.endsWith('.*')) return addNew(this.#trailing, name.slice(0, -2), value);
    return addNew(this.#exact, name, value);
  }

  find(name: string): T | undefined {
    return this.#exact.get(name) ?? this.#findMask(name);
  }

  #findMask(name: string): T | undefined {
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const value = this.#leading.get(name.slice(dot + 1));
      if (value !== undefined) return value;
    }
    for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
      const value = this.#trailing.get(name.slice(0, dot));
      if (value !== undefined) return value;
    }
    return undefined;
  }
}

/** @returns false if the key exists already */
export function addNew<T>(table: Map<string, T>, key: string, value: T): boolean {
  if (table.has(key)) return false;
  table.set(key, value);
  return true;
}
