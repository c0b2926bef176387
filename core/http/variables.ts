import type { HttpRequest, VariableGetter, VariablePrefix } from '../module/http.js';

/** Prefix of the family that reads captures of regular expressions by number or name. */
export const CAPTURE = 'capture_';

/** The named values of requests: those of the engine and of all loaded modules. */
export class HttpVariables {
  readonly #getters = new Map<string, VariableGetter>();
  readonly #prefixes = new Map<string, VariablePrefix>();
  /** Getters made from prefixes, so that a second use costs nothing. */
  readonly #made = new Map<string, VariableGetter>();

  /** @throws RangeError when two modules define one name. */
  define(name: string, getter: VariableGetter): void {
    if (this.#getters.has(name)) throw new RangeError(`the duplicate "${name}" variable`);
    this.#getters.set(name, getter);
  }

  definePrefix(prefix: string, make: VariablePrefix): void {
    if (this.#prefixes.has(prefix)) throw new RangeError(`the duplicate "${prefix}" variable`);
    this.#prefixes.set(prefix, make);
  }

  /** The getter of a variable by its name without the dollar; undefined if nobody defines it. */
  getter(name: string): VariableGetter | undefined {
    return this.#getters.get(name) ?? this.#made.get(name) ?? this.#numbered(name) ?? this.#fromPrefix(name);
  }

  /** A named group of a regular expression is a variable, unless something else has the name. */
  defineCapture(name: string): void {
    const make = this.#prefixes.get(CAPTURE);
    if (make !== undefined && !this.#getters.has(name)) this.#getters.set(name, make(name));
  }

  value(name: string, request: HttpRequest): string | undefined {
    return this.getter(name)?.(request);
  }

  /** `$1` … `$9`. */
  #numbered(name: string): VariableGetter | undefined {
    if (!/^[1-9]$/.test(name)) return undefined;
    const make = this.#prefixes.get(CAPTURE);
    return make && this.#remember(name, make(name));
  }

  #fromPrefix(name: string): VariableGetter | undefined {
    for (let underscore = name.lastIndexOf('_', name.length - 2); underscore > 0; underscore = name.lastIndexOf('_', underscore - 1)) {
      const make = this.#prefixes.get(name.slice(0, underscore + 1));
      if (make !== undefined) return this.#remember(name, make(name.slice(underscore + 1)));
    }
    return undefined;
  }

  #remember(name: string, getter: VariableGetter): VariableGetter {
    this.#made.set(name, getter);
    return getter;
  }
}
