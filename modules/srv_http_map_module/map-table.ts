import { addNew, HostMasks } from '../../core/module/host-masks.js';
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
  /** With `hostnames`, instead of the strings. */
  readonly #masks = new HostMasks<Template>();
  readonly #patterns: PatternEntry[] = [];
  fallback: Template | undefined;

  constructor(private readonly hostnames: boolean) {}

  /** @returns false when the key is there already */
  add(key: string, value: Template): boolean {
    const name = key.toLowerCase();
    return this.hostnames ? this.#masks.add(name, value) : addNew(this.#exact, name, value);
  }

  addPattern(entry: PatternEntry): void {
    this.#patterns.push(entry);
  }

  /** The entry for a text. What an expression captures are the captures of the request. */
  find(text: string, request: HttpRequest): Template | undefined {
    const name = this.hostnames && text.endsWith('.') ? text.slice(0, -1) : text;
    const found = this.hostnames ? this.#masks.find(name.toLowerCase()) : this.#exact.get(name.toLowerCase());
    if (found !== undefined) return found;
    for (const { pattern, value } of this.#patterns) {
      const captures = pattern.exec(name);
      if (captures === null) continue;
      request.captures = captures;
      return value;
    }
    return this.fallback;
  }
}
