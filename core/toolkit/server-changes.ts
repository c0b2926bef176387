/** Whole servers, changed at run time: what the calls of their APIs mean, the same in both traffic engines. */
import { assertDirectivePreconditions } from './directive-preconditions.js';
import { ApiError, type ActionContext } from '../contract/control.js';
import { namesIn, serverAt, serverNamed, type ServerPlace } from './server-place.js';
import {
  assertNoPlace,
  assertNoUdpOption,
  changedServer,
  newServer,
  sentBody,
  shownServer,
  type ServerFields,
  type ShownServer,
} from './server-text.js';
import type { Transactions } from '../contract/transactions.js';
import type { Directive } from '../contract/tree.js';
import { DONE, type Versioned } from '../contract/versioned.js';
import type { VirtualServers } from '../contract/virtual-servers.js';

export interface ForcedServer {
  /** Also a server of the configuration file. */
  readonly force?: boolean;
}
export interface ServerPage {
  readonly addr_port?: string;
  readonly server_name?: string;
  /** The id that the page before ended with. */
  readonly after?: number;
  readonly limit?: number;
}

/**
 * Changes whole servers of one traffic engine, for the actions of a module. A change is an edit of `server` blocks: a port that comes is open
 * in every worker before the response, and closed when its last server goes.
 */
export class ServerChanges {
  constructor(
    /** Name of the engine's block. */
    private readonly engine: 'http' | 'stream',
    private readonly servers: VirtualServers,
    private readonly transactions: Transactions,
  ) {}

  list({ addr_port: address, after = 0, limit = Infinity, ...names }: ServerPage): Versioned<readonly ShownServer[]> {
    const isPage = after > 0 || limit !== Infinity;
    const all = [...this.#wanted({ ...names, ...(address !== undefined && { addr_port: address }) })];
    const rest = isPage ? all.filter(({ directive }) => directive.id > after).toSorted((a, b) => a.directive.id - b.directive.id) : all;
    const page = rest.slice(0, limit);
    const last = page.length < rest.length ? page.at(-1) : undefined;
    return {
      value: page.map((server) => shownServer(server, !this.transactions.isAddition(server.directive))),
      version: String(this.transactions.version),
      diff: [],
      ...(last && { next: last.directive.id }),
    };
  }

  async add(fields: ServerFields, context: ActionContext): Promise<Versioned> {
    const { version, diff, directives } = await this.transactions.apply((tree) => {
      assertDirectivePreconditions(this.transactions, context);
      if (this.engine === 'stream') assertNoUdpOption(fields);
      this.#assertNew(fields);
      this.#assertBody(fields);
      const [block] = tree.named(this.engine);
      if (block === undefined)
        throw new ApiError(409, 'EngineMissing', `the configuration has no "${this.engine}" block: add "${this.engine} { }" and reload`);
      return [{ op: 'add', parent: block, text: newServer(fields) }];
    }, context);
    return this.#done(context, version, diff, directives[0]);
  }

  async change(fields: ServerFields & ForcedServer, context: ActionContext): Promise<Versioned> {
    const { version, diff, directives } = await this.transactions.apply(() => {
      const target = this.#changeable(fields, context);
      this.#assertBody(fields);
      return [{ op: 'replace', target, text: changedServer(target, fields.server_body ?? '') }];
    }, context);
    return this.#done(context, version, diff, directives[0]);
  }

  async remove(place: ServerPlace & ForcedServer, context: ActionContext): Promise<Versioned> {
    const { version, diff } = await this.transactions.apply(() => [{ op: 'remove', target: this.#changeable(place, context) }], context);
    return this.#done(context, version, diff, undefined);
  }

  #done({ dryRun }: ActionContext, version: number, diff: readonly string[], server: Directive | undefined): Versioned {
    const shown = dryRun || server === undefined ? String(version) : this.transactions.versionOf(server);
    return { value: DONE, version: shown, diff };
  }

  #wanted({ addr_port: address, server_name: name }: Partial<ServerPlace>) {
    if (address === undefined) return this.servers.all();
    return name === undefined ? this.servers.at(address) : [serverAt(this.servers, { addr_port: address, server_name: name })];
  }

  /** @throws ApiError 409 when a server has one of the names at the address already */
  #assertNew({ addr_port: address, server_name: text = '' }: ServerFields): void {
    const taken = namesIn(text).filter((name) => serverNamed(this.servers, address, name) !== undefined);
    if (taken.length === 0) return;
    const called = taken.join(' ');
    throw new ApiError(409, 'EntryExists', `a server called "${called}" exists at "${address}"`, [
      { addr_port: address, server_name: called },
    ]);
  }

  #assertBody({ server_body: body = '' }: ServerFields): void {
    assertNoPlace(this.transactions.read(sentBody(body)));
  }

  /** @throws ApiError 404, 409, 412 */
  #changeable(place: ServerPlace & ForcedServer, context: ActionContext): Directive {
    const { directive } = serverAt(this.servers, place);
    assertDirectivePreconditions(this.transactions, context, directive);
    if (place.force !== true && !this.transactions.isAddition(directive))
      throw new ApiError(409, 'ServerStatic', 'the server is in the configuration file: change it there and reload, or send ?force=1');
    return directive;
  }
}
