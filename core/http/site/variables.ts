import type { HttpRequest, VariableGetter, VariablePrefix } from '../../module/http.js';

/** Prefix of the family that reads captures of regular expressions by number or name. */
export const CAPTURE = 'capture_';

/** Variables of the engine and its modules whose name a named group may have: where the group has matched, it is the value. */
const CHANGEABLE = new Set(['args', 'proxy_host', 'proxy_port']);

/**
 * The named values of requests: those of the engine and of all loaded modules. Names are the same in any case; a family is given the rest of
 * a name as it is written.
 */
export class HttpVariables {
  readonly #getters = new Map<string, VariableGetter>();
  readonly #prefixes = new Map<string, VariablePrefix>();
  /** Getters made from prefixes, so that a second use costs nothing. */
  readonly #made = new Map<string, VariableGetter>();
  /** Names of groups of regular expressions. */
  readonly #captures = new Set<string>();

  /** @throws RangeError when two modules define one name. */
  define(name: string, getter: VariableGetter): void {
    const key = name.toLowerCase();
    if (this.#getters.has(key)) throw duplicate(name);
    this.#getters.set(key, getter);
  }

  definePrefix(prefix: string, make: VariablePrefix): void {
    const key = prefix.toLowerCase();
    if (this.#prefixes.has(key)) throw duplicate(prefix);
    this.#prefixes.set(key, make);
  }

  /** The getter of a variable by its name without the dollar; undefined if nobody defines it. */
  getter(name: string): VariableGetter | undefined {
    return this.#getters.get(name) ?? this.#made.get(name) ?? this.#find(name);
  }

  /** A named group of a regular expression is a variable. @throws RangeError for the name of one that groups cannot change */
  defineCapture(name: string): void {
    const key = name.toLowerCase();
    const make = this.#prefixes.get(CAPTURE);
    if (make === undefined || this.#captures.has(key)) return;
    const captured = make(key);
    const other = this.#getters.get(key);
    if (other !== undefined && !CHANGEABLE.has(key)) throw duplicate(name);
    this.#captures.add(key);
    this.#getters.set(key, other === undefined ? captured : (request) => captured(request) ?? other(request));
  }

  value(name: string, request: HttpRequest): string | undefined {
    return this.getter(name)?.(request);
  }

  #find(name: string): VariableGetter | undefined {
    return this.#getters.get(name.toLowerCase()) ?? this.#numbered(name) ?? this.#fromPrefix(name);
  }

  /** `$1` … `$9`. */
  #numbered(name: string): VariableGetter | undefined {
    if (!/^[1-9]$/.test(name)) return undefined;
    const make = this.#prefixes.get(CAPTURE);
    return make && this.#remember(name, make(name));
  }

  #fromPrefix(name: string): VariableGetter | undefined {
    for (let underscore = name.lastIndexOf('_', name.length - 2); underscore > 0; underscore = name.lastIndexOf('_', underscore - 1)) {
      const make = this.#prefixes.get(name.slice(0, underscore + 1).toLowerCase());
      if (make !== undefined) return this.#remember(name, make(name.slice(underscore + 1)));
    }
    return undefined;
  }

  #remember(name: string, getter: VariableGetter): VariableGetter {
    this.#made.set(name, getter);
    return getter;
  }
}

function duplicate(name: string): RangeError {
  return new RangeError(`the duplicate "${name}" variable`);
}
