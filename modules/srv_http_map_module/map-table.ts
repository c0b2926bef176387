import type { HttpRequest, Template } from '../../core/module/http.js';

/** An expression, and the value where it matches. */
export interface PatternEntry {
  readonly pattern: RegExp;
  readonly value: Template;
}

/**
 * The entries of one `map`. A value is looked up as nginx does: the same string in any case; with `hostnames`, the longest mask
 * `*.example.com`, then the longest `mail.*`; the first regular expression that matches; the default.
 */
export class MapTable {
  readonly #exact = new Map<string, Template>();
  /** By the name without `*.`. */
  readonly #leading = new Map<string, Template>();
  /** By the name without `.*`. */
  readonly #trailing = new Map<string, Template>();
  readonly #patterns: PatternEntry[] = [];
  fallback: Template | undefined;

  constructor(private readonly hostnames: boolean) {}

  /** @returns false when the key is there already */
  add(key: string, value: Template): boolean {
    const name = key.toLowerCase();
    if (!this.hostnames) return addNew(this.#exact, name, value);
    if (name.startsWith('.')) {
      const isNew = addNew(this.#exact, name.slice(1), value);
      return addNew(this.#leading, name.slice(1), value) && isNew;
    }
    if (name.startsWith('*.')) return addNew(this.#leading, name.slice(2), value);
    if (name.endsWith('.*')) return addNew(this.#trailing, name.slice(0, -2), value);
    return addNew(this.#exact, name, value);
  }

  addPattern(entry: PatternEntry): void {
    this.#patterns.push(entry);
  }

  /** The entry for a text. What an expression captures are the captures of the request. */
  find(text: string, request: HttpRequest): Template | undefined {
    const name = this.hostnames && text.endsWith('.') ? text.slice(0, -1) : text;
    const found = this.#exact.get(name.toLowerCase()) ?? (this.hostnames ? this.#findMask(name.toLowerCase()) : undefined);
    if (found !== undefined) return found;
    for (const { pattern, value } of this.#patterns) {
      const captures = pattern.exec(name);
      if (captures === null) continue;
      request.captures = captures;
      return value;
    }
    return this.fallback;
  }

  #findMask(name: string): Template | undefined {
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

function addNew(table: Map<string, Template>, key: string, value: Template): boolean {
  if (table.has(key)) return false;
  table.set(key, value);
  return true;
}
