import { ApiError, assertPreconditions, moreTime, type ActionContext, type Preconditions } from '../../core/contract/control.js';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { Applied, Edit, Transactions } from '../../core/contract/transactions.js';
import type { Upstreams, UpstreamView } from '../../core/contract/upstreams.js';
import type { EngineName } from '../../core/contract/spec.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import type { Versioned } from '../../core/contract/versioned.js';
import { isMemberAddress, memberAddress } from './address.js';
import { additionOf, changeOf, replacementOf, type GroupTurn } from './member-edits.js';
import { unlessShown, type GroupRules, type MemberFields } from './member-fields.js';
import { MemberIndex } from './member-index.js';
import { memberPage } from './member-page.js';
import { ADDRESS_STRIDE, memberViews, type MemberView } from './member-view.js';
import { upstreamJson } from './upstream-view.js';

export interface UpstreamParams {
  readonly upstream: string;
}
export interface ListParams {
  readonly after?: string;
  readonly limit?: number;
}
export interface MemberParams extends UpstreamParams {
  /** Its id or its address. */
  readonly id: string;
}
export interface PageParams extends UpstreamParams {
  readonly server?: string;
  /** The id that the page before ended with. */
  readonly after?: number;
  readonly limit?: number;
}
export interface WriteParams extends UpstreamParams {
  /** The caller does not want the list that the change leaves (`Prefer: return=minimal`). */
  readonly minimal?: boolean;
}

export interface AddParams extends UpstreamParams {
  readonly fields: MemberFields;
}
export type ChangeParams = MemberParams & AddParams;
export type RemoveParams = MemberParams & WriteParams;
export interface ReplaceParams extends WriteParams {
  readonly list: readonly MemberFields[];
}

/** Members of a list that is compared within the time that every call has. */
const LONG_LIST = 1000;
/** Time limit for comparing one more (ms), many times the usual time. */
const PER_MEMBER = 0.2;

/** Balancing methods for which there is no second row of members. */
const WITHOUT_BACKUP = ['hash', 'ip_hash', 'random'];

/** The members of the upstreams of one traffic engine: what each call of their API means. */
export class EngineMembers {
  readonly #indexes = new Map<number, MemberIndex>();

  constructor(
    private readonly engine: EngineName,
    private readonly upstreams: Upstreams,
    private readonly transactions: Transactions,
    private readonly info: ServerInfo,
  ) {}

  list({ after, limit }: ListParams): Versioned {
    const all = Array.from(this.upstreams.all()).filter((upstream) => upstream.zone !== undefined);
    const isPage = after !== undefined || limit !== undefined;
    const rest = isPage ? all.filter(({ name }) => name > (after ?? '')).toSorted((a, b) => (a.name < b.name ? -1 : 1)) : all;
    const page = rest.slice(0, limit);
    const last = page.length < rest.length ? page.at(-1) : undefined;
    return {
      value: page.map((upstream) => upstreamJson(upstream, this.engine)),
      version: String(this.transactions.version),
      diff: [],
      ...(last && { next: last.name }),
    };
  }

  get({ upstream }: UpstreamParams): Versioned {
    const view = this.#upstream(upstream);
    return { value: upstreamJson(view, this.engine), version: this.#version(view.directive), diff: [] };
  }

  reset({ upstream }: UpstreamParams, context: ActionContext): void {
    const view = this.#upstream(upstream);
    this.#assertVersion(view.directive, context);
    if (!context.dryRun) view.resetStatistics();
  }

  members({ upstream, server, after, limit }: PageParams): Versioned<readonly MemberView[]> {
    const view = this.#upstream(upstream);
    if (server !== undefined) return this.#membersAt(view, server);
    if (after === undefined && limit === undefined) return this.#members(view, []);
    const { value, next } = memberPage(view, after, limit);
    return { value: this.#shown(value), ...(next !== undefined && { next }), version: this.#version(view.directive), diff: [] };
  }

  member({ upstream, id }: MemberParams): Versioned<MemberView> {
    const view = this.#upstream(upstream);
    const { directive, number } = this.#find(view, id);
    return this.#memberOf(view, directive, number, []);
  }

  async add({ upstream, fields }: AddParams, context: ActionContext): Promise<Versioned<MemberView>> {
    const applied = await this.#apply(upstream, context, (turn) => {
      this.#assertVersion(turn.directive, context);
      return [additionOf(fields, turn)];
    });
    const [added] = applied.directives;
    if (added === undefined) throw new Error('an addition added nothing');
    return this.#memberOf(this.#upstream(upstream), added, added.key ?? 0, applied.diff);
  }

  async change({ upstream, id, fields }: ChangeParams, context: ActionContext): Promise<Versioned<MemberView>> {
    let changed: { directive: Directive; number: number } | undefined;
    const applied = await this.#apply(upstream, context, (turn) => {
      const view = this.#upstream(upstream);
      const { directive, number } = (changed = this.#find(view, id));
      this.#assertVersion(directive, context, view.directive);
      const news = unlessShown(fields, this.#memberOf(view, directive, number, []).value);
      if (number !== directive.key && news.server !== undefined) throw immutable(number);
      return changeOf(directive, news, turn);
    });
    if (changed === undefined) throw new Error('a change changed nothing');
    return this.#memberOf(this.#upstream(upstream), applied.directives[0] ?? changed.directive, changed.number, applied.diff);
  }

  async remove({ upstream, id, minimal }: RemoveParams, context: ActionContext): Promise<Versioned<readonly MemberView[]>> {
    const applied = await this.#apply(upstream, context, () => {
      const view = this.#upstream(upstream);
      const { directive, number } = this.#find(view, id);
      this.#assertVersion(directive, context, view.directive);
      if (number !== directive.key) throw immutable(number);
      return [{ op: 'remove', target: directive }];
    });
    return this.#members(this.#upstream(upstream), applied.diff, minimal);
  }

  async replace({ upstream, list, minimal }: ReplaceParams, context: ActionContext): Promise<Versioned<readonly MemberView[]>> {
    const patient = list.length < LONG_LIST ? context : await moreTime(context, list.length * PER_MEMBER);
    const applied = await this.#apply(upstream, patient, (turn) => {
      this.#assertVersion(turn.directive, context);
      return replacementOf(list, turn);
    });
    return this.#members(this.#upstream(upstream), applied.diff, minimal);
  }

  async #apply(name: string, context: ActionContext, build: (turn: GroupTurn) => readonly Edit[]): Promise<Applied> {
    let edits: readonly Edit[] = [];
    const applied = await this.transactions.apply(() => {
      const view = this.#upstream(name);
      const { directive } = view;
      const index = this.#index(directive);
      const addressesOf = (key: number): string[] => {
        const line = index.get(key);
        return line === undefined ? [] : memberViews(line, view).map(({ server }) => server);
      };
      edits = build({ directive, index, rules: this.#rulesOf(directive), addressesOf });
      return edits;
    }, context);
    // The next transaction has not had its turn yet: the index goes along with this one.
    if (!context.dryRun) this.#follow(name, edits, applied);
    return applied;
  }

  #follow(name: string, edits: readonly Edit[], { directives }: Applied): void {
    const upstream = this.upstreams.get(name)?.directive;
    const index = upstream && this.#indexes.get(upstream.id);
    if (upstream?.block === undefined || index === undefined) return;
    const removed = edits.flatMap((edit) => (edit.op === 'add' ? [] : [edit.target]));
    const added = directives.filter((_, i) => edits[i]?.op !== 'remove');
    index.follow(upstream.block, removed, added);
  }

  #index(upstream: Directive): MemberIndex {
    const { id, block } = upstream;
    if (block === undefined) throw new Error('an upstream without a block');
    const known = this.#indexes.get(id);
    if (known?.isOf(block) === true) return known;
    const index = new MemberIndex(block);
    this.#indexes.set(id, index);
    return index;
  }

  /** An upstream that can be changed at run time. @throws ApiError 404, 400 */
  #upstream(name: string): UpstreamView {
    const upstream = this.upstreams.get(name);
    if (upstream === undefined) throw new ApiError(404, 'UpstreamNotFound', `upstream "${name}" not found`);
    if (upstream.zone === undefined)
      throw new ApiError(400, 'UpstreamStatic', `upstream "${name}" cannot be changed at run time: give it a zone in the configuration`);
    return upstream;
  }

  /** The `server` line that a member comes from. @throws ApiError 400, 404 */
  #find(upstream: UpstreamView, id: string): { directive: Directive; number: number } {
    const number = /^\d+$/.test(id) ? Number(id) : this.#idAt(upstream, id);
    const directive = this.#index(upstream.directive).get(number % ADDRESS_STRIDE);
    const exists = directive !== undefined && (number < ADDRESS_STRIDE || upstream.peer(number) !== undefined);
    if (!exists) throw notFound(upstream, id);
    return { directive, number };
  }

  /** @throws ApiError 400, 404 */
  #idAt(upstream: UpstreamView, address: string): number {
    if (!isMemberAddress(address))
      throw new ApiError(400, 'UpstreamBadServerId', `invalid server id "${address}": must be a number or an address`);
    const [found] = this.#idsAt(upstream, address);
    if (found === undefined) throw notFound(upstream, address);
    return found;
  }

  /** Ids of the members at an address: that of a `server` line, or one that a name was resolved to. @throws ApiError 400 */
  #idsAt(upstream: UpstreamView, address: string): number[] {
    const { canonical } = memberAddress(address);
    const key = this.#index(upstream.directive).at(canonical);
    if (key !== undefined) return [key];
    return Array.from(upstream.peers)
      .filter(({ server }) => server === canonical)
      .map(({ id }) => id);
  }

  #members(upstream: UpstreamView, diff: readonly string[], minimal = false): Versioned<readonly MemberView[]> {
    const lines = minimal ? [] : Array.from(upstream.directive.block?.named('server') ?? []);
    return { value: this.#shown(lines.flatMap((line) => memberViews(line, upstream))), version: this.#version(upstream.directive), diff };
  }

  #membersAt(upstream: UpstreamView, address: string): Versioned<readonly MemberView[]> {
    const value = this.#idsAt(upstream, address).map((id) => {
      const { directive, number } = this.#find(upstream, String(id));
      return this.#memberOf(upstream, directive, number, []).value;
    });
    return { value, version: this.#version(upstream.directive), diff: [] };
  }

  #memberOf(upstream: UpstreamView, directive: Directive, number: number, diff: readonly string[]): Versioned<MemberView> {
    const [first, ...others] = memberViews(directive, upstream);
    const value = others.find(({ id }) => id === number) ?? first;
    if (value === undefined) throw new Error('a member without a view');
    return { value: this.#shown([value])[0] ?? value, version: this.#version(directive), diff };
  }

  /** Sessions have no routes. */
  #shown(views: readonly MemberView[]): readonly MemberView[] {
    return this.engine === 'http' ? views : views.map(({ route: _route, ...view }) => view);
  }

  #rulesOf({ block }: Directive): GroupRules {
    const has = (name: string): boolean => linesOf(block, name).length > 0;
    const [around] = linesOf(this.transactions.tree, this.engine);
    const folders = has('api_unix_members') ? linesOf(block, 'api_unix_members') : linesOf(around?.block, 'api_unix_members');
    return {
      needsPort: this.engine === 'stream',
      hasResolver: has('resolver') || linesOf(around?.block, 'resolver').length > 0,
      withoutBackup: WITHOUT_BACKUP.find(has),
      unixFolders: folders.flatMap(({ args }) => args.map((word) => this.info.path(word.text))),
    };
  }

  #version(directive: Directive): string {
    return this.transactions.versionOf(directive);
  }

  /** @param upstream that of a member */
  #assertVersion(directive: Directive, conditions: Preconditions, upstream?: Directive): void {
    const lists = (): string[] => [String(this.transactions.version), ...(upstream === undefined ? [] : [this.#version(upstream)])];
    assertPreconditions(conditions, () => this.#version(directive), lists);
  }
}

function linesOf(block: Block | undefined, name: string): Directive[] {
  return Array.from(block?.named(name) ?? []);
}

function notFound(upstream: UpstreamView, id: string): ApiError {
  return new ApiError(404, 'UpstreamServerNotFound', `upstream "${upstream.name}" has no server "${id}"`);
}

function immutable(id: number): ApiError {
  return new ApiError(400, 'UpstreamServerImmutable', `server ${id} was resolved from a host name and cannot be removed or changed`);
}
