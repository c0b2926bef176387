import { LayeredMap } from '../../config/layered-map.js';
import type { Block } from '../../contract/tree.js';
import type { Location, LocationMatch } from './location.js';

/** Result of a search. `redirect`: `/name` was requested and the location is `/name/`. */
export interface LocationFound {
  readonly location: Location | undefined;
  readonly redirect: boolean;
  /** Captures of the regular expression that matched. */
  readonly captures: RegExpExecArray | undefined;
  /** Regular expressions of outer levels are not asked any more. False for a prefix. */
  readonly final: boolean;
}

const NOTHING: LocationFound = { location: undefined, redirect: false, captures: undefined, final: false };

interface Tables {
  readonly exact: LayeredMap<string, LocationFound>;
  readonly prefixes: LayeredMap<string, LocationFound>;
  /** By the name without its slash. */
  readonly redirects: LayeredMap<string, LocationFound>;
  readonly named: LayeredMap<string, Location>;
  readonly byId: LayeredMap<number, Location>;
  /** How many prefixes have a length. */
  readonly lengths: ReadonlyMap<number, number>;
  /** In the order of the configuration. */
  readonly regexes: readonly Location[];
}

/**
 * The locations of one level, chosen as nginx does: an exact one; else the redirect to `/name/`, unless `/name` is a location; else an exact
 * one or a regular expression nested in the longest prefix; else, unless that prefix says `^~`, the first regular expression that matches;
 * else the prefix nested deepest.
 * Prefixes are looked up by their distinct lengths, so ten thousand of them cost what their few lengths cost. A table never changes:
 * {@link change} makes another one that shares what is the same.
 */
export class LocationTable {
  static readonly empty = new LocationTable({
    exact: LayeredMap.of([]),
    prefixes: LayeredMap.of([]),
    redirects: LayeredMap.of([]),
    named: LayeredMap.of([]),
    byId: LayeredMap.of([]),
    lengths: new Map(),
    regexes: [],
  });

  readonly #tables: Tables;
  readonly #exact: LayeredMap<string, LocationFound>;
  readonly #prefixes: LayeredMap<string, LocationFound>;
  readonly #redirects: LayeredMap<string, LocationFound>;
  readonly #hasExact: boolean;
  readonly #hasRedirects: boolean;
  readonly #regexes: readonly Location[];
  /** Of prefixes, the longest first. */
  readonly #lengths: readonly number[];
  /** Set when `/` is the only location: the commonest configuration needs no search. */
  readonly #only: LocationFound | undefined;

  private constructor(tables: Tables) {
    this.#tables = tables;
    this.#exact = tables.exact;
    this.#prefixes = tables.prefixes;
    this.#redirects = tables.redirects;
    this.#hasExact = tables.exact.size > 0;
    this.#hasRedirects = tables.redirects.size > 0;
    this.#regexes = tables.regexes;
    this.#lengths = [...tables.lengths.keys()].sort((a, b) => b - a);
    const root = this.#prefixes.get('/');
    const alone = this.#prefixes.size === 1 && this.#exact.size === 0 && this.#regexes.length === 0;
    this.#only = alone && root?.location?.nested.isEmpty === true ? root : undefined;
  }

  /** The table after some locations were removed and others added. @param block the block they are in, where the order of regular expressions may be another one */
  change(removed: Iterable<Location>, added: Iterable<Location>, block: Block | undefined): LocationTable {
    const draft = new TableDraft(this.#tables);
    for (const location of removed) draft.remove(location);
    for (const location of added) draft.add(location);
    return new LocationTable(draft.tables(block));
  }

  /** The table with its regular expressions in the order they have in a block. */
  inOrderOf(block: Block | undefined): LocationTable {
    const regexes = inOrder(this.#regexes, block);
    return regexes === this.#regexes ? this : new LocationTable({ ...this.#tables, regexes });
  }

  /** The location that a directive with this id became. */
  byDirective(id: number): Location | undefined {
    return this.#tables.byId.get(id);
  }

  get isEmpty(): boolean {
    return this.#prefixes.size === 0 && this.#exact.size === 0 && this.#regexes.length === 0;
  }

  /** How many locations are in it. */
  get size(): number {
    return this.#tables.byId.size;
  }

  /** All of them, in no order. */
  all(): Iterable<Location> {
    return this.#tables.byId.values();
  }

  named(name: string): Location | undefined {
    return this.#tables.named.get(name);
  }

  /** The location with the same modifier and name, which no second one may have. */
  sameAs({ kind, name }: LocationMatch): Location | undefined {
    if (kind === 'named') return this.named(name);
    if (kind === 'regex') return undefined;
    return (kind === 'exact' ? this.#exact : this.#prefixes).get(name)?.location;
  }

  find(uri: string): LocationFound {
    if (this.#only !== undefined && uri.charCodeAt(0) === 47) return this.#only;
    return this.#search(uri);
  }

  #search(uri: string): LocationFound {
    // Looking a text up that is new costs more than all that follows.
    const exact = this.#hasExact ? this.#exact.get(uri) : undefined;
    if (exact !== undefined) return exact;
    const prefix = this.#longestPrefix(uri);
    const { location } = prefix;
    const redirect = this.#hasRedirects ? this.#redirects.get(uri) : undefined;
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
}

type Changes<K, V> = Map<K, V | undefined>;

/** One change of a table. A removal and an addition under the same name are a replacement. */
class TableDraft {
  readonly #exact: Changes<string, LocationFound> = new Map();
  readonly #prefixes: Changes<string, LocationFound> = new Map();
  readonly #redirects: Changes<string, LocationFound> = new Map();
  readonly #named: Changes<string, Location> = new Map();
  readonly #byId: Changes<number, Location> = new Map();
  readonly #lengths: Map<number, number>;
  /** Undefined as long as they stay as they are. */
  #regexes: Location[] | undefined;

  constructor(private readonly before: Tables) {
    this.#lengths = new Map(before.lengths);
  }

  remove(location: Location): void {
    const { match, directive, settings } = location;
    if (directive !== undefined) this.#byId.set(directive.id, undefined);
    if (settings.autoRedirect) this.#redirects.set(match.name.slice(0, -1), undefined);
    if (match.kind === 'exact') this.#exact.set(match.name, undefined);
    else if (match.kind === 'named') this.#named.set(match.name, undefined);
    else if (match.kind === 'regex') this.#regexList().splice(this.#regexList().indexOf(location), 1);
    else {
      this.#prefixes.set(match.name, undefined);
      this.#countLength(match.name.length, -1);
    }
  }

  add(location: Location): void {
    const { match, directive, settings } = location;
    if (directive !== undefined) this.#byId.set(directive.id, location);
    const found = { location, redirect: false, captures: undefined, final: match.kind === 'exact' };
    if (settings.autoRedirect) this.#redirects.set(match.name.slice(0, -1), { ...found, redirect: true, final: true });
    if (match.kind === 'exact') this.#exact.set(match.name, found);
    else if (match.kind === 'named') this.#named.set(match.name, location);
    else if (match.kind === 'regex') {
      this.#regexList().push(location);
    } else {
      this.#prefixes.set(match.name, found);
      this.#countLength(match.name.length, 1);
    }
  }

  tables(block: Block | undefined): Tables {
    const { before } = this;
    return {
      exact: changed(before.exact, this.#exact),
      prefixes: changed(before.prefixes, this.#prefixes),
      redirects: changed(before.redirects, this.#redirects),
      named: changed(before.named, this.#named),
      byId: changed(before.byId, this.#byId),
      lengths: this.#lengths,
      regexes: this.#regexes === undefined ? before.regexes : inOrder(this.#regexes, block),
    };
  }

  #regexList(): Location[] {
    return (this.#regexes ??= [...this.before.regexes]);
  }

  #countLength(length: number, by: number): void {
    const count = (this.#lengths.get(length) ?? 0) + by;
    if (count > 0) this.#lengths.set(length, count);
    else this.#lengths.delete(length);
  }
}

function changed<K, V extends object>(map: LayeredMap<K, V>, changes: Changes<K, V>): LayeredMap<K, V> {
  if (changes.size === 0) return map;
  if (map.size > 0) return map.with(changes);
  return LayeredMap.of([...changes].filter((entry): entry is [K, V] => entry[1] !== undefined));
}

function inOrder(regexes: readonly Location[], block: Block | undefined): readonly Location[] {
  if (regexes.length < 2 || block === undefined) return regexes;
  const places = new Map(Array.from(block.named('location'), ({ id }, at) => [id, at]));
  const placeOf = ({ directive }: Location): number => places.get(directive?.id ?? 0) ?? 0;
  return regexes.toSorted((a, b) => placeOf(a) - placeOf(b));
}
