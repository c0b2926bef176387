import { errorAt } from '../../config/errors.js';
import type { Directive } from '../../contract/tree.js';
import { LocationTable } from './location-table.js';
import type { Location } from './location.js';
import { checkPlace } from './place-rules.js';
import { changedNames, ScopeNode, type StaysOutside } from '../../config/scope.js';
import { locationMatch } from './settings.js';
import type { TouchedBlock, TreeChange } from '../../config/touched-blocks.js';
import type { EarlierResults } from './affected-modules.js';
import type { UnitCompiler } from './unit-compiler.js';
import type { Holdings } from '../../config/holdings.js';
import { type EngineConfiguration, ServerCompilation } from '../../net/server-compilation.js';
import type { CompiledServers } from '../../net/server-follower.js';
import type { VirtualServer } from './virtual-server.js';

/** The compiled `http` block. */
export type HttpConfiguration = EngineConfiguration<VirtualServer>;

export type Compiled = CompiledServers<VirtualServer, HttpConfiguration>;

/** Holdings of all servers and locations. */
export function* holdingsOf(configuration: HttpConfiguration | undefined): Generator<Holdings> {
  for (const { holdings, locations } of configuration?.servers.values() ?? []) {
    yield holdings;
    yield* heldIn(locations);
  }
}

function* heldIn(locations: LocationTable): Generator<Holdings> {
  for (const { holdings, nested } of locations.all()) {
    yield holdings;
    yield* heldIn(nested);
  }
}

/** One run of the compiler. */
export class Compilation extends ServerCompilation<VirtualServer> {
  /** Names of directives that are others in a scope than they were in `from`, see {@link changedNames}. */
  readonly #changed = new Map<
    ScopeNode | undefined,
    { readonly from: ScopeNode | undefined; readonly names: ReadonlySet<string> | undefined }
  >();

  /** @param again servers and locations to compile although their blocks are the same */
  constructor(
    private readonly units: UnitCompiler,
    staysOutside: StaysOutside,
    change: TreeChange,
    previous: HttpConfiguration | undefined,
    again: ReadonlySet<number>,
  ) {
    super('http', staysOutside, change, previous, again);
  }

  /** An `http` block without a server: what is wrong with its settings would show in the first one that is added. */
  protected override checkAlone(http: ScopeNode): void {
    const { resources } = this.units.check(new ScopeNode('server', 'server', http.directive, undefined, http.outer), this.errors);
    this.users.retired.push(...resources);
  }

  protected override server(
    directive: Directive,
    http: ScopeNode,
    old: VirtualServer | undefined,
    touched: TouchedBlock | undefined,
  ): VirtualServer {
    if (old !== undefined && touched?.asWhole === false && old.node.parent === http.outer) {
      const locations = this.#edited(old.locations, directive, old.node, touched);
      return locations === old.locations ? old : { ...old, directive, locations };
    }
    const node = this.continued(new ScopeNode('server', 'server', directive, directive.block, http.outer), old?.node);
    if (old !== undefined && old.node === node && !this.again.has(directive.id)) {
      const locations =
        old.directive === directive && touched === undefined ? old.locations : this.#table(directive, node, old.locations, touched);
      return locations === old.locations ? old : { ...old, directive, locations };
    }
    const unit = this.units.server(directive, node, this.errors);
    this.users.replace(directive.id, old?.holdings, unit.holdings);
    return { ...unit, locations: this.#table(directive, node, old?.locations, touched) };
  }

  /** The locations of a block that is looked at as a whole. */
  #table(parent: Directive, scope: ScopeNode, old: LocationTable | undefined, touched: TouchedBlock | undefined): LocationTable {
    const locations: Location[] = [];
    const seen = new Set<string>();
    for (const directive of parent.block?.named('location') ?? []) {
      const before = old?.byDirective(directive.id);
      const location = this.errors.attempt(() => this.#location(directive, scope, before, touched?.inside.get(directive.id)));
      if (location === undefined) continue;
      const place = placeOf(location);
      if (location.match.kind !== 'regex' && seen.has(place)) this.errors.add(duplicate(location));
      seen.add(place);
      locations.push(location);
    }
    if (old === undefined) return tableOf(locations);
    if (old.size === locations.length && locations.every((location) => old.byDirective(idOf(location)) === location)) return old;
    const ids = new Set(locations.map(idOf));
    for (const location of old.all()) if (!ids.has(idOf(location))) this.#retireLocation(location);
    return tableOf(locations);
  }

  /** The locations of a block of which only some are concerned. */
  #edited(table: LocationTable, parent: Directive, scope: ScopeNode, { inside, reordered }: TouchedBlock): LocationTable {
    const removed: Location[] = [];
    const added: Location[] = [];
    for (const [id, touched] of inside) {
      const [old, directive] = [table.byDirective(id), this.change.after.byId(id)];
      const location = directive && this.errors.attempt(() => this.#location(directive, scope, old, touched));
      if (old !== undefined && old !== location) removed.push(old);
      if (old !== undefined && directive === undefined) this.#retireLocation(old);
      if (location !== undefined && old !== location) added.push(location);
    }
    this.#assertUnique(table, removed, added);
    const changed = removed.length === 0 && added.length === 0 ? table : table.change(removed, added, parent.block);
    return reordered ? changed.inOrderOf(parent.block) : changed;
  }

  #assertUnique(table: LocationTable, removed: readonly Location[], added: readonly Location[]): void {
    for (const [at, location] of added.entries()) {
      const other = table.sameAs(location.match) ?? added.slice(0, at).find((earlier) => isSamePlace(earlier, location));
      if (other !== undefined && !removed.includes(other)) this.errors.add(duplicate(location));
    }
  }

  #location(directive: Directive, parent: ScopeNode, old: Location | undefined, touched: TouchedBlock | undefined): Location {
    // In a block whose settings are others now, what it inherits has changed as well.
    if (old !== undefined && touched?.asWhole === false && old.node.parent === parent.outer) {
      const nested = this.#edited(old.nested, directive, old.node, touched);
      return nested === old.nested ? old : { ...old, directive, nested };
    }
    const node = this.continued(new ScopeNode('location', 'location', directive, directive.block, parent.outer), old?.node);
    if (old !== undefined && old.node === node && !this.again.has(directive.id)) {
      const nested = old.directive === directive && touched === undefined ? old.nested : this.#table(directive, node, old.nested, touched);
      return nested === old.nested ? old : { ...old, directive, nested };
    }
    const match = locationMatch(directive);
    this.errors.attempt(() => checkPlace(directive, match, parent));
    const unit = this.units.location(match, node, this.errors, old && this.#earlier(old, node));
    this.users.replace(directive.id, old?.holdings, unit.holdings);
    return { ...unit, nested: this.#table(directive, node, old?.nested, touched) };
  }

  /** The same block in other surroundings. Undefined: all of it has to be compiled. */
  #earlier(old: Location, { directive, parent }: ScopeNode): EarlierResults | undefined {
    if (directive === undefined || old.directive !== directive || this.again.has(directive.id)) return undefined;
    const around = old.node.parent;
    const known = this.#changed.get(parent);
    const changed =
      known !== undefined && known.from === around ? known : { from: around, names: changedNames(around, parent, this.staysOutside) };
    this.#changed.set(parent, changed);
    return changed.names && this.units.affected.of(old, changed.names);
  }

  protected override retire(server: VirtualServer): void {
    super.retire(server);
    for (const location of server.locations.all()) this.#retireLocation(location);
  }

  #retireLocation(location: Location): void {
    this.users.replace(idOf(location), location.holdings, undefined);
    for (const nested of location.nested.all()) this.#retireLocation(nested);
  }
}

const idOf = ({ directive }: Location): number => directive?.id ?? 0;

const tableOf = (locations: readonly Location[]): LocationTable =>
  locations.length === 0 ? LocationTable.empty : LocationTable.empty.change([], locations, undefined);

/** Unique key of a location in its block, except for regular expressions. */
function placeOf({ match: { kind, name } }: Location): string {
  return `${kind === 'prefix-only' ? 'prefix' : kind} ${name}`;
}

function isSamePlace(a: Location, b: Location): boolean {
  return a.match.kind !== 'regex' && placeOf(a) === placeOf(b);
}

function duplicate({ match, directive }: Location): Error {
  const message = `duplicate location "${match.name}"`;
  return directive === undefined ? new Error(message) : errorAt(directive, message, directive.args.at(-1));
}
