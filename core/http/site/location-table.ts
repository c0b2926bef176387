import type { Location } from './location.js';

/** What a search found. `redirect`: `/name` was asked for and the location is `/name/`. */
export interface LocationFound {
  readonly location: Location | undefined;
  readonly redirect: boolean;
  /** Captures of the regular expression that matched. */
  readonly captures: RegExpExecArray | undefined;
  /** Regular expressions of outer levels are not asked any more. False for a prefix. */
  readonly final: boolean;
}

const NOTHING: LocationFound = { location: undefined, redirect: false, captures: undefined, final: false };

/**
 * The locations of one level, chosen as nginx does: an exact one; else the redirect to `/name/`, unless `/name` is a location; else an exact
 * one or a regular expression nested in the longest prefix; else, unless that prefix says `^~`, the first regular expression that matches;
 * else the prefix nested deepest.
 * Prefixes lie in a map and are looked up by their distinct lengths, so ten thousand of them cost what their few lengths cost.
 */
export class LocationTable {
  readonly #exact = new Map<string, LocationFound>();
  readonly #prefixes = new Map<string, LocationFound>();
  readonly #lengths: number[] = [];
  /** By the name without its slash. */
  readonly #redirects = new Map<string, LocationFound>();
  readonly #regexes: Location[] = [];
  readonly #byId = new Map<number, Location>();
  readonly #named = new Map<string, Location>();
  /** Set when `/` is the only location: the commonest configuration needs no search. */
  #only: LocationFound | undefined;

  constructor(locations: Iterable<Location>) {
    for (const location of locations) this.#add(location);
    this.#lengths.sort((a, b) => b - a);
    const root = this.#prefixes.get('/');
    const alone = this.#prefixes.size === 1 && this.#exact.size === 0 && this.#regexes.length === 0;
    this.#only = alone && root?.location?.nested.isEmpty === true ? root : undefined;
  }

  /** The location that a directive with this id became. */
  byDirective(id: number): Location | undefined {
    return this.#byId.get(id);
  }

  get isEmpty(): boolean {
    return this.#prefixes.size === 0 && this.#exact.size === 0 && this.#regexes.length === 0;
  }

  named(name: string): Location | undefined {
    return this.#named.get(name);
  }

  find(uri: string): LocationFound {
    if (this.#only !== undefined && uri.charCodeAt(0) === 47) return this.#only;
    return this.#search(uri);
  }

  #search(uri: string): LocationFound {
    const exact = this.#exact.get(uri);
    if (exact !== undefined) return exact;
    const prefix = this.#longestPrefix(uri);
    const { location } = prefix;
    const redirect = this.#redirects.get(uri);
    if (redirect !== undefined && location?.match.name !== uri) return redirect;
    const nested = location === undefined ? NOTHING : location.nested.#search(uri);
    if (nested.final) return nested;
    const regex = location?.match.kind === 'prefix-only' ? undefined : this.#firstRegex(uri);
    if (regex !== undefined) return regex;
    return nested.location === undefined ? prefix : nested;
  }

  #longestPrefix(uri: string): LocationFound {
    for (const length of this.#lengths) {
      if (length > uri.length) continue;
      const found = this.#prefixes.get(length === uri.length ? uri : uri.slice(0, length));
      if (found !== undefined) return found;
    }
    return NOTHING;
  }

  #firstRegex(uri: string): LocationFound | undefined {
    for (const location of this.#regexes) {
      if (location.match.kind !== 'regex') continue;
      const captures = location.match.pattern.exec(uri);
      if (captures === null) continue;
      const nested = location.nested.#search(uri);
      if (nested.location === undefined) return { location, redirect: false, captures, final: true };
      return { ...nested, captures: nested.captures ?? captures, final: true };
    }
    return undefined;
  }

  #add(location: Location): void {
    const { match, directive } = location;
    if (directive !== undefined) this.#byId.set(directive.id, location);
    const found = { location, redirect: false, captures: undefined, final: match.kind === 'exact' };
    if (location.settings.autoRedirect) this.#redirects.set(match.name.slice(0, -1), { ...found, redirect: true, final: true });
    switch (match.kind) {
      case 'exact':
        this.#exact.set(match.name, found);
        return;
      case 'named':
        this.#named.set(match.name, location);
        return;
      case 'regex':
        this.#regexes.push(location);
        return;
      case 'prefix':
      case 'prefix-only':
        if (!this.#lengths.includes(match.name.length)) this.#lengths.push(match.name.length);
        this.#prefixes.set(match.name, found);
    }
  }
}
