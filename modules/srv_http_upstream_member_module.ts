import { path, rest } from '../core/module/args.js';
import { action, ApiError, assertPreconditions, moreTime, type ActionContext, type Preconditions } from '../core/module/control.js';
import { coreModule } from '../core/module/manifest.js';
import { ServerInfo, Transactions, Upstreams, type Applied, type Edit, type UpstreamView } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import type { Block, Directive } from '../core/module/tree.js';
import type { Versioned } from '../core/module/versioned.js';
import { isMemberAddress, memberAddress } from './srv_http_upstream_member_module/address.js';
import { groupJson } from './srv_http_upstream_member_module/group-view.js';
import { additionOf, changeOf, replacementOf, type GroupTurn } from './srv_http_upstream_member_module/member-edits.js';
import { unlessShown, type GroupRules, type MemberFields } from './srv_http_upstream_member_module/member-fields.js';
import { MemberIndex } from './srv_http_upstream_member_module/member-index.js';
import { memberPage } from './srv_http_upstream_member_module/member-page.js';
import { ADDRESS_STRIDE, memberViews, type MemberView } from './srv_http_upstream_member_module/member-view.js';

const directives = {
  state: directive({
    in: ['upstream'],
    args: path(),
    holds: 'server',
    doc: 'File that keeps the members of the group, as `server` lines.',
  }),
  api_unix_members: directive({
    in: ['http', 'upstream'],
    args: rest(path()),
    many: true,
    doc: 'Folders below which the API may add servers with a unix socket. Without it: none.',
  }),
};

interface GroupParams {
  readonly group: string;
}
interface MemberParams extends GroupParams {
  /** Its id or its address. */
  readonly id: string;
}
interface PageParams extends GroupParams {
  readonly server?: string;
  /** The id that the page before ended with. */
  readonly after?: number;
  readonly limit?: number;
}
interface WriteParams extends GroupParams {
  /** The caller does not want the list that the change leaves (`Prefer: return=minimal`). */
  readonly minimal?: boolean;
}

/** Members of a list that is compared within the time that every call has. */
const LONG_LIST = 1000;
/** What comparing one more may take (ms), many times of what it should take. */
const PER_MEMBER = 0.2;

/** Balancing methods for which there is no second row of members. */
const WITHOUT_BACKUP = ['hash', 'ip_hash', 'random'];

/**
 * The members of upstream groups, changed at run time. Its actions are the whole meaning of the member API; the control plane adds HTTP.
 * A change is an edit of `server` lines, so that it is journalled and in force everywhere like any other.
 */
@coreModule({ name: 'srv_http_upstream_member_module', api: 1, plane: 'data', directives })
export class UpstreamMembers {
  readonly #indexes = new Map<number, MemberIndex>();

  constructor(
    private readonly upstreams: Upstreams,
    private readonly transactions: Transactions,
    private readonly info: ServerInfo,
  ) {}

  @action('upstream.groups')
  groups({ after, limit }: { readonly after?: string; readonly limit?: number }): Versioned {
    const all = Array.from(this.upstreams.all()).filter((group) => group.zone !== undefined);
    const isPage = after !== undefined || limit !== undefined;
    const rest = isPage ? all.filter(({ name }) => name > (after ?? '')).toSorted((a, b) => (a.name < b.name ? -1 : 1)) : all;
    const page = rest.slice(0, limit);
    const last = page.length < rest.length ? page.at(-1) : undefined;
    return { value: page.map(groupJson), version: String(this.transactions.version), diff: [], ...(last && { next: last.name }) };
  }

  @action('upstream.group')
  group({ group }: GroupParams): Versioned {
    const view = this.#group(group);
    return { value: groupJson(view), version: this.#version(view.directive), diff: [] };
  }

  @action('upstream.reset')
  reset({ group }: GroupParams, context: ActionContext): void {
    const view = this.#group(group);
    this.#assertVersion(view.directive, context);
    if (!context.dryRun) view.resetStatistics();
  }

  @action('upstream.members')
  members({ group, server, after, limit }: PageParams): Versioned<readonly MemberView[]> {
    const view = this.#group(group);
    if (server !== undefined) return this.#membersAt(view, server);
    if (after === undefined && limit === undefined) return this.#members(view, []);
    return { ...memberPage(view, after, limit), version: this.#version(view.directive), diff: [] };
  }

  @action('upstream.member')
  member({ group, id }: MemberParams): Versioned<MemberView> {
    const view = this.#group(group);
    const { directive, number } = this.#find(view, id);
    return this.#memberOf(view, directive, number, []);
  }

  @action('upstream.add')
  async add({ group, fields }: GroupParams & { fields: MemberFields }, context: ActionContext): Promise<Versioned<MemberView>> {
    const applied = await this.#apply(group, context, (turn) => {
      this.#assertVersion(turn.directive, context);
      return [additionOf(fields, turn)];
    });
    const [added] = applied.directives;
    if (added === undefined) throw new Error('an addition added nothing');
    return this.#memberOf(this.#group(group), added, added.key ?? 0, applied.diff);
  }

  @action('upstream.change')
  async change({ group, id, fields }: MemberParams & { fields: MemberFields }, context: ActionContext): Promise<Versioned<MemberView>> {
    let changed: { directive: Directive; number: number } | undefined;
    const applied = await this.#apply(group, context, (turn) => {
      const view = this.#group(group);
      const { directive, number } = (changed = this.#find(view, id));
      this.#assertVersion(directive, context);
      const news = unlessShown(fields, this.#memberOf(view, directive, number, []).value);
      if (number !== directive.key && news.server !== undefined) throw immutable(number);
      return changeOf(directive, news, turn);
    });
    if (changed === undefined) throw new Error('a change changed nothing');
    return this.#memberOf(this.#group(group), applied.directives[0] ?? changed.directive, changed.number, applied.diff);
  }

  @action('upstream.remove')
  async remove({ group, id, minimal }: MemberParams & WriteParams, context: ActionContext): Promise<Versioned<readonly MemberView[]>> {
    const applied = await this.#apply(group, context, () => {
      const { directive, number } = this.#find(this.#group(group), id);
      this.#assertVersion(directive, context);
      if (number !== directive.key) throw immutable(number);
      return [{ op: 'remove', target: directive }];
    });
    return this.#members(this.#group(group), applied.diff, minimal);
  }

  @action('upstream.replace')
  async replace(
    { group, list, minimal }: WriteParams & { list: readonly MemberFields[] },
    context: ActionContext,
  ): Promise<Versioned<readonly MemberView[]>> {
    const patient = list.length < LONG_LIST ? context : await moreTime(context, list.length * PER_MEMBER);
    const applied = await this.#apply(group, patient, (turn) => {
      this.#assertVersion(turn.directive, context);
      return replacementOf(list, turn);
    });
    return this.#members(this.#group(group), applied.diff, minimal);
  }

  async #apply(name: string, context: ActionContext, build: (turn: GroupTurn) => readonly Edit[]): Promise<Applied> {
    let edits: readonly Edit[] = [];
    const applied = await this.transactions.apply(() => {
      const view = this.#group(name);
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
    const group = this.upstreams.get(name)?.directive;
    const index = group && this.#indexes.get(group.id);
    if (group?.block === undefined || index === undefined) return;
    const removed = edits.flatMap((edit) => (edit.op === 'add' ? [] : [edit.target]));
    const added = directives.filter((_, i) => edits[i]?.op !== 'remove');
    index.follow(group.block, removed, added);
  }

  #index(group: Directive): MemberIndex {
    const { id, block } = group;
    if (block === undefined) throw new Error('an upstream without a block');
    const known = this.#indexes.get(id);
    if (known?.isOf(block) === true) return known;
    const index = new MemberIndex(block);
    this.#indexes.set(id, index);
    return index;
  }

  /** A group that can be changed at run time. @throws ApiError 404, 400 */
  #group(name: string): UpstreamView {
    const group = this.upstreams.get(name);
    if (group === undefined) throw new ApiError(404, 'UpstreamNotFound', `upstream "${name}" not found`);
    if (group.zone === undefined)
      throw new ApiError(400, 'UpstreamStatic', `upstream "${name}" cannot be changed at run time: give it a zone in the configuration`);
    return group;
  }

  /** The `server` line that a member comes from. @throws ApiError 400, 404 */
  #find(group: UpstreamView, id: string): { directive: Directive; number: number } {
    const number = /^\d+$/.test(id) ? Number(id) : this.#idAt(group, id);
    const directive = this.#index(group.directive).get(number % ADDRESS_STRIDE);
    const exists = directive !== undefined && (number < ADDRESS_STRIDE || group.peer(number) !== undefined);
    if (!exists) throw notFound(group, id);
    return { directive, number };
  }

  /** @throws ApiError 400, 404 */
  #idAt(group: UpstreamView, address: string): number {
    if (!isMemberAddress(address))
      throw new ApiError(400, 'UpstreamBadServerId', `invalid server id "${address}": must be a number or an address`);
    const [found] = this.#idsAt(group, address);
    if (found === undefined) throw notFound(group, address);
    return found;
  }

  /** Ids of the members at an address: that of a `server` line, or one that a name was resolved to. @throws ApiError 400 */
  #idsAt(group: UpstreamView, address: string): number[] {
    const { canonical } = memberAddress(address);
    const key = this.#index(group.directive).at(canonical);
    if (key !== undefined) return [key];
    return Array.from(group.peers)
      .filter(({ server }) => server === canonical)
      .map(({ id }) => id);
  }

  #members(group: UpstreamView, diff: readonly string[], minimal = false): Versioned<readonly MemberView[]> {
    const lines = minimal ? [] : Array.from(group.directive.block?.named('server') ?? []);
    return { value: lines.flatMap((line) => memberViews(line, group)), version: this.#version(group.directive), diff };
  }

  #membersAt(group: UpstreamView, address: string): Versioned<readonly MemberView[]> {
    const value = this.#idsAt(group, address).map((id) => {
      const { directive, number } = this.#find(group, String(id));
      return this.#memberOf(group, directive, number, []).value;
    });
    return { value, version: this.#version(group.directive), diff: [] };
  }

  #memberOf(group: UpstreamView, directive: Directive, number: number, diff: readonly string[]): Versioned<MemberView> {
    const [first, ...others] = memberViews(directive, group);
    const value = others.find(({ id }) => id === number) ?? first;
    if (value === undefined) throw new Error('a member without a view');
    return { value, version: this.#version(directive), diff };
  }

  #rulesOf({ block }: Directive): GroupRules {
    const has = (name: string): boolean => linesOf(block, name).length > 0;
    const [http] = linesOf(this.transactions.tree, 'http');
    const folders = has('api_unix_members') ? linesOf(block, 'api_unix_members') : linesOf(http?.block, 'api_unix_members');
    return {
      hasResolver: has('resolver'),
      withoutBackup: WITHOUT_BACKUP.find(has),
      unixFolders: folders.flatMap(({ args }) => args.map((word) => this.info.path(word.text))),
    };
  }

  #version(directive: Directive): string {
    return this.transactions.versionOf(directive);
  }

  #assertVersion(directive: Directive, conditions: Preconditions): void {
    assertPreconditions(conditions, () => this.#version(directive));
  }
}

function linesOf(block: Block | undefined, name: string): Directive[] {
  return Array.from(block?.named(name) ?? []);
}

function notFound(group: UpstreamView, id: string): ApiError {
  return new ApiError(404, 'UpstreamServerNotFound', `upstream "${group.name}" has no server "${id}"`);
}

function immutable(id: number): ApiError {
  return new ApiError(400, 'UpstreamServerImmutable', `server ${id} was resolved from a host name and cannot be removed or changed`);
}
