/** Whole upstreams, changed at run time: what the calls of their APIs mean, the same in both traffic engines. */
import { assertDirectivePreconditions } from './directive-preconditions.js';
import { ApiError, type ActionContext } from '../contract/control.js';
import { locationName } from './location-name.js';
import type { Applied, Edit, Transactions } from '../contract/transactions.js';
import type { Upstreams } from '../contract/upstreams.js';
import { SharedPool, zoneName, zoneOf, zoneSize } from './shared-pool.js';
import type { Block, Directive } from '../contract/tree.js';
import {
  changedUpstream,
  hasOnlyBackups,
  newUpstream,
  noServers,
  shownUpstream,
  upstreamName,
  type ShownUpstream,
} from './upstream-text.js';
import { DONE, type Versioned } from '../contract/versioned.js';
import type { VirtualServers } from '../contract/virtual-servers.js';
import { ZoneOwners } from './zone-owners.js';

export interface UpstreamName {
  readonly upstream_name: string;
  /** Also an upstream of the configuration file. */
  readonly force?: boolean;
}
export interface UpstreamBody extends UpstreamName {
  readonly upstream_body: string;
}
export interface UpstreamPage {
  /** The name that the page before ended with. */
  readonly after?: string;
  readonly limit?: number;
}

/** Users of an upstream that are named when it cannot be removed. */
const MOST_USERS = 100;

/**
 * Changes whole upstreams of one traffic engine, for the actions of a module. A change is an edit of `upstream` blocks, so that it is
 * journalled and applied everywhere like any other.
 */
export class UpstreamChanges {
  readonly #pool = new SharedPool();
  readonly #zones = new ZoneOwners();

  constructor(
    /** Name of the engine's block. */
    private readonly engine: 'http' | 'stream',
    private readonly upstreams: Upstreams,
    private readonly servers: Pick<VirtualServers, 'usersOf'>,
    private readonly transactions: Transactions,
  ) {}

  list({ after, limit = Infinity }: UpstreamPage): Versioned<readonly ShownUpstream[]> {
    const [engine] = this.transactions.tree.named(this.engine);
    const all = Array.from(engine?.block?.named('upstream') ?? []);
    const isPage = after !== undefined || limit !== Infinity;
    const rest = isPage ? all.filter((one) => upstreamName(one) > (after ?? '')).toSorted(byName) : all;
    const page = rest.slice(0, limit);
    const last = page.length < rest.length ? page.at(-1) : undefined;
    const value = page.map((upstream) => this.#show(upstream));
    return { value, version: String(this.transactions.version), diff: [], ...(last && { next: upstreamName(last) }) };
  }

  get({ upstream_name: name }: UpstreamName): Versioned<ShownUpstream> {
    const upstream = this.#upstream(name);
    return { value: this.#show(upstream), version: this.transactions.versionOf(upstream), diff: [] };
  }

  async add({ upstream_name: name, upstream_body: body }: UpstreamBody, context: ActionContext): Promise<Versioned> {
    assertPathName(name);
    const text = newUpstream(name, body);
    const applied = await this.transactions.apply((tree) => {
      if (this.upstreams.get(name) !== undefined) throw new ApiError(409, 'EntryExists', `upstream "${name}" exists`, [{ name }]);
      assertDirectivePreconditions(this.transactions, context);
      const upstream = this.transactions.read(text);
      assertZone(upstream);
      assertNoState(upstream);
      assertPrimary(upstream);
      this.#assertOwnZone(upstream, tree);
      this.#pool.assertRoom(upstream, tree, (one) => this.transactions.isAddition(one));
      return [{ op: 'add', parent: this.#engineBlock(), text }];
    }, context);
    return this.#done(context, applied, applied.directives[0]);
  }

  async change(params: UpstreamBody, context: ActionContext): Promise<Versioned> {
    const applied = await this.transactions.apply((tree) => {
      const upstream = this.#changeable(params, context);
      const sent = this.transactions.read(newUpstream(params.upstream_name, params.upstream_body));
      assertZone(sent);
      assertNoServers(sent);
      assertNoState(sent);
      if (zoneName(sent) !== zoneName(upstream)) this.#assertOwnZone(sent, tree, upstream);
      this.#assertZoneFits(sent, upstream, tree);
      return [{ op: 'replace', target: upstream, text: changedUpstream(upstream, params.upstream_body) }];
    }, context);
    return this.#done(context, applied, applied.directives[0]);
  }

  async remove(params: UpstreamName, context: ActionContext): Promise<Versioned> {
    const applied = await this.transactions.apply((): Edit[] => {
      const target = this.#changeable(params, context);
      this.#assertUnused(upstreamName(target));
      return [{ op: 'remove', target }];
    }, context);
    return this.#done(context, applied);
  }

  /** An upstream of the file does not count in the pool; where a change makes its zone larger, all of that has to fit. */
  #assertZoneFits(sent: Directive, before: Directive, tree: Block): void {
    if (sizeText(sent) === sizeText(before)) return;
    const isAddition = (one: Directive): boolean => this.transactions.isAddition(one);
    if (isAddition(before)) this.#pool.assertRoom(sent, tree, isAddition, before);
    else if (zoneSize(sent) > zoneSize(before)) this.#pool.assertRoom(sent, tree, isAddition);
  }

  /** @param after the upstream as it is now */
  #done({ dryRun }: ActionContext, { version, diff }: Applied, after?: Directive): Versioned {
    const shown = dryRun || after === undefined ? String(version) : this.transactions.versionOf(after);
    return { value: DONE, version: shown, diff };
  }

  #engineBlock(): Directive {
    const [block] = this.transactions.tree.named(this.engine);
    if (block === undefined)
      throw new ApiError(409, 'EngineMissing', `the configuration has no "${this.engine}" block: add "${this.engine} { }" and reload`);
    return block;
  }

  #upstream(name: string): Directive {
    const upstream = this.upstreams.get(name)?.directive;
    if (upstream === undefined) throw new ApiError(404, 'UpstreamNotFound', `upstream "${name}" not found`);
    return upstream;
  }

  /** @throws ApiError 404, 409, 412 */
  #changeable({ upstream_name: name, force }: UpstreamName, context: ActionContext): Directive {
    const upstream = this.#upstream(name);
    assertDirectivePreconditions(this.transactions, context, upstream);
    if (stateOf(upstream) !== undefined)
      throw new ApiError(
        409,
        'UpstreamStatic',
        `upstream "${name}" has a state file: change it in the configuration file and reload; its members can be changed`,
      );
    if (force !== true && !this.transactions.isAddition(upstream))
      throw new ApiError(
        409,
        'UpstreamStatic',
        `upstream "${name}" is in the configuration file: change it there and reload, or send ?force=1`,
      );
    return upstream;
  }

  /**
   * A client that may change one upstream must not use the memory of another, with its members and counters. The configuration file may say that
   * upstreams share a zone.
   * @param own the upstream as it is
   */
  #assertOwnZone(sent: Directive, tree: Block, own?: Directive): void {
    const [engine] = tree.named(this.engine);
    if (engine?.block !== undefined && this.#zones.other(zoneName(sent), engine.block, own) !== undefined)
      throw invalidBody(`zone "${zoneName(sent)}" is that of another upstream: choose another name`);
  }

  #assertUnused(name: string): void {
    const users = Array.from(this.servers.usersOf(name)).slice(0, MOST_USERS).map(userOf);
    if (users.length > 0) throw new ApiError(409, 'UpstreamInUse', `upstream "${name}" is in use`, users);
  }

  #show(upstream: Directive): ShownUpstream {
    return shownUpstream(upstream, !this.transactions.isAddition(upstream), this.engine === 'http');
  }
}

function byName(a: Directive, b: Directive): number {
  return upstreamName(a) < upstreamName(b) ? -1 : 1;
}

function assertZone(upstream: Directive): void {
  if (zoneOf(upstream) === undefined) throw invalidBody('must have a "zone": "zone NAME 1m;"');
}

/** Calls name an upstream in their path, where these mean another one (RFC 3986, 5.2.4). */
function assertPathName(name: string): void {
  if (name !== '.' && name !== '..') return;
  const message = 'must not be "." or "..": no call could name it in its path';
  throw new ApiError(400, 'InvalidField', `/upstream_name: ${message}`, [{ pointer: '/upstream_name', message }]);
}

function assertPrimary(upstream: Directive): void {
  if (!hasOnlyBackups(upstream)) return;
  const { message, hint } = noServers(upstream);
  throw invalidBody(`${message}: ${hint}`);
}

function assertNoServers(upstream: Directive): void {
  const [server] = upstream.block?.named('server') ?? [];
  if (server !== undefined) throw invalidBody('keeps the members: leave "server" lines out, and change members with /v1/upstream_api');
}

/** Changes of the API are kept without a file, and a file could be any that the server may write. */
function assertNoState(upstream: Directive): void {
  if (stateOf(upstream) !== undefined)
    throw invalidBody(
      'must not have "state": members that are changed by API are kept without it; name state files in the configuration file',
    );
}

function stateOf(upstream: Directive): Directive | undefined {
  const [state] = upstream.block?.named('state') ?? [];
  return state;
}

function invalidBody(message: string): ApiError {
  return new ApiError(400, 'InvalidField', `/upstream_body: ${message}`, [{ pointer: '/upstream_body', message }]);
}

const sizeText = (upstream: Directive): string =>
  zoneOf(upstream)
    ?.args.map(({ text }) => text)
    .join(' ') ?? '';

/** Where an upstream is used, for people. */
function userOf(path: readonly Directive[]): object {
  const server = path.find(({ name }) => name === 'server');
  const words = (name: string): string =>
    Array.from(server?.block?.named(name) ?? [])
      .flatMap(({ args }) => args.map(({ text }) => text))
      .join(' ');
  const locations = path
    .filter(({ name }) => name === 'location')
    .map((location) => Object.values(locationName(location)).join(' ').trim());
  return {
    addr_port: words('listen'),
    server_name: words('server_name'),
    ...(locations.length > 0 && { location: locations.join(' / ') }),
  };
}
