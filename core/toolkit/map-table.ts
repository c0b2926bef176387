import { addNew, HostMasks } from './host-masks.js';
import type { RequestState } from './request-state.js';
import type { EngineTemplate } from '../contract/template.js';

/** An expression, and the value where it matches. */
export interface PatternEntry<R> {
  readonly pattern: RegExp;
  readonly value: EngineTemplate<R>;
}

/**
 * The entries of one `map`. A value is looked up as nginx does: the same string in any case; with `hostnames`, the longest mask
 * `*.example.com`, then the longest `mail.*`; the first regular expression that matches; the default.
 */
export class MapTable<R extends RequestState> {
  readonly #exact = new Map<string, EngineTemplate<R>>();
  /** With `hostnames`, instead of the strings. */
  readonly #masks = new HostMasks<EngineTemplate<R>>();
  readonly #patterns: PatternEntry<R>[] = [];
  fallback: EngineTemplate<R> | undefined;

  constructor(private readonly hostnames: boolean) {}

  /** @returns false if the key exists already */
  add(key: string, value: EngineTemplate<R>): boolean {
    const name = key.toLowerCase();
    return this.hostnames ? this.#masks.add(name, value) : addNew(this.#exact, name, value);
  }

  addPattern(entry: PatternEntry<R>): void {
    this.#patterns.push(entry);
  }

  /** The entry for a text. Captures of an expression become the captures of the request. */
  find(text: string, request: R): EngineTemplate<R> | undefined {
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
