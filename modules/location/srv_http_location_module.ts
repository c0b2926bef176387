import { assertDirectivePreconditions } from '../../core/toolkit/directive-preconditions.js';
import { action, ApiError, type ActionContext } from '../../core/contract/control.js';
import { locationName } from '../../core/toolkit/location-name.js';
import { coreModule } from '../../core/contract/manifest.js';
import { serverAt, type ServerPlace } from '../../core/toolkit/server-place.js';
import { Transactions, type Edit } from '../../core/contract/transactions.js';
import type { Directive } from '../../core/contract/tree.js';
import { DONE, type Versioned } from '../../core/contract/versioned.js';
import { VirtualServers, type VirtualServerView } from '../../core/contract/virtual-servers.js';
import {
  changedLocation,
  locationIn,
  newLocation,
  shownLocation,
  type LocationFields,
  type LocationKey,
  type ShownLocation,
} from './location-text.js';

/** A block with locations: a server, or a location in it. */
interface Place extends ServerPlace {
  /** The locations around it, the outermost first. */
  readonly within?: readonly LocationKey[];
}
interface AddParams extends Place {
  readonly locations: readonly LocationFields[];
}
type ChangeParams = Place & LocationFields & { readonly force?: boolean };
type RemoveParams = Place & LocationKey & { readonly force?: boolean };
interface ListParams {
  readonly addr_port?: string;
  readonly server_name?: string;
  /** The id that the page before ended with. */
  readonly after?: number;
  readonly limit?: number;
}

interface ListedLocation extends ShownLocation, ServerPlace {}

/**
 * Locations, changed at run time. Its actions are the whole meaning of the location API; the control plane adds HTTP. A change is an edit of
 * `location` blocks, so that it is journalled and applied everywhere like any other.
 */
@coreModule({ name: 'srv_http_location_module', api: 1, plane: 'data' })
export class Locations {
  constructor(
    private readonly servers: VirtualServers,
    private readonly transactions: Transactions,
  ) {}

  @action('location.list')
  list({ addr_port: address, after = 0, limit = Infinity, ...place }: ListParams): Versioned<readonly ListedLocation[]> {
    const server = address === undefined ? undefined : serverAt(this.servers, { ...place, addr_port: address });
    const all = [...this.#locations(server === undefined ? this.servers.all() : [server])];
    const isPage = after > 0 || limit !== Infinity;
    // In pages they come in the order in which they were made, so that what comes or goes meanwhile moves nothing.
    const rest = isPage ? all.filter(({ id }) => id > after).toSorted((a, b) => a.id - b.id) : all;
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    return {
      value: page.map(({ show }) => show()),
      version: server === undefined ? String(this.transactions.version) : this.transactions.versionOf(server.directive),
      diff: [],
      ...(page.length < rest.length && last !== undefined && { next: last.id }),
    };
  }

  @action('location.add', { transactional: true })
  add(params: AddParams, context: ActionContext): Promise<Versioned> {
    return this.#apply(params, context, (block) => {
      for (const [i, location] of params.locations.entries()) this.#assertNew(block, location, `/locations/${i}`);
      return params.locations.map((location, i) => ({ op: 'add', parent: block, text: newLocation(location, `/locations/${i}`) }));
    });
  }

  @action('location.change', { transactional: true })
  change(params: ChangeParams, context: ActionContext): Promise<Versioned> {
    return this.#apply(params, context, (block) => {
      const target = this.#changeable(block, params);
      return [{ op: 'replace', target, text: changedLocation(target, this.transactions.read(newLocation(params, '')), params, '') }];
    });
  }

  @action('location.remove', { transactional: true })
  remove(params: RemoveParams, context: ActionContext): Promise<Versioned> {
    return this.#apply(params, context, (block) => [{ op: 'remove', target: this.#changeable(block, params) }]);
  }

  async #apply(place: Place, context: ActionContext, build: (block: Directive) => readonly Edit[]): Promise<Versioned> {
    const { version, diff } = await this.transactions.apply(() => {
      const server = serverAt(this.servers, place).directive;
      assertDirectivePreconditions(this.transactions, context, server);
      let block = server;
      for (const key of place.within ?? []) block = existing(block, key);
      return build(block);
    }, context);
    const now = context.dryRun ? undefined : serverAt(this.servers, place).directive;
    return { value: DONE, version: now === undefined ? String(version) : this.transactions.versionOf(now), diff };
  }

  #assertNew(block: Directive, location: LocationFields, pointer: string): void {
    const { location_rule: rule, location_name: name } = location;
    if (rule === '' && locationName({ args: [{ text: name, line: 0, column: 0 }] }).modifier !== '') {
      const message = 'the modifier has a field of its own: "location_rule"';
      throw new ApiError(400, 'InvalidField', message, [{ pointer: `${pointer}/location_name`, message }]);
    }
    if (locationIn(block, location) !== undefined)
      throw new ApiError(409, 'EntryExists', `location "${called(location)}" exists`, [{ pointer, message: 'exists' }]);
  }

  /** @throws ApiError 404, 409 */
  #changeable(block: Directive, params: LocationKey & { readonly force?: boolean }): Directive {
    const location = existing(block, params);
    if (params.force !== true && !this.transactions.isAddition(location))
      throw new ApiError(
        409,
        'LocationStatic',
        `location "${called(params)}" is in the configuration file: change it there and reload, or send ?force=1`,
      );
    return location;
  }

  *#locations(servers: Iterable<VirtualServerView>): Generator<{ readonly id: number; readonly show: () => ListedLocation }> {
    for (const { directive, addresses, names } of servers) {
      const place = { addr_port: addresses[0] ?? '', server_name: names.join(' ') };
      for (const location of directive.block?.named('location') ?? [])
        yield { id: location.id, show: () => ({ ...place, ...shownLocation(location, (one) => this.transactions.isAddition(one)) }) };
    }
  }
}

function existing(block: Directive, key: LocationKey): Directive {
  const location = locationIn(block, key);
  if (location === undefined) throw new ApiError(404, 'LocationNotFound', `location "${called(key)}" not found`);
  return location;
}

const called = ({ location_rule: rule, location_name: name }: LocationKey): string => (rule === '' ? name : `${rule} ${name}`);
