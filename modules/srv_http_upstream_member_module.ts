import { path } from '../core/module/args.js';
import { action, ApiError, assertPreconditions, type ActionContext, type Preconditions } from '../core/module/control.js';
import { coreModule } from '../core/module/manifest.js';
import { Transactions, Upstreams, type Applied, type Edit, type UpstreamView } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';
import { groupJson } from './srv_http_upstream_member_module/group-view.js';
import { additionOf, changeOf, replacementOf, type GroupTurn } from './srv_http_upstream_member_module/member-edits.js';
import type { GroupRules, MemberFields } from './srv_http_upstream_member_module/member-fields.js';
import { MemberIndex } from './srv_http_upstream_member_module/member-index.js';
import { ADDRESS_STRIDE, memberViews, type MemberView } from './srv_http_upstream_member_module/member-view.js';

const directives = {
  state: directive({
    in: ['upstream'],
    args: path(),
    holds: 'server',
    doc: 'File that keeps the members of the group, as `server` lines.',
  }),
};

interface GroupParams {
  readonly group: string;
}
interface MemberParams extends GroupParams {
  readonly id: string;
}

/** An answer with the version that `If-Match` may name, and for a dry run what would change. */
interface Versioned<T> {
  readonly value: T;
  readonly version: string;
  readonly diff: readonly string[];
}

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
  ) {}

  @action('upstream.groups')
  groups(): Versioned<unknown> {
    const groups = Array.from(this.upstreams.all()).filter((group) => group.zone !== undefined);
    return { value: groups.map(groupJson), version: String(this.transactions.version), diff: [] };
  }

  @action('upstream.group')
  group({ group }: GroupParams): Versioned<unknown> {
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
  members({ group }: GroupParams): Versioned<readonly MemberView[]> {
    return this.#members(this.#group(group), []);
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
    const applied = await this.#apply(group, context, (turn) => {
      const { directive, number } = this.#find(this.#group(group), id);
      this.#assertVersion(directive, context);
      if (number !== directive.key && fields.server !== undefined) throw immutable(id);
      return changeOf(directive, fields, turn);
    });
    const view = this.#group(group);
    const { directive, number } = this.#find(view, id);
    return this.#memberOf(view, applied.directives[0] ?? directive, number, applied.diff);
  }

  @action('upstream.remove')
  async remove({ group, id }: MemberParams, context: ActionContext): Promise<Versioned<readonly MemberView[]>> {
    const applied = await this.#apply(group, context, () => {
      const { directive, number } = this.#find(this.#group(group), id);
      this.#assertVersion(directive, context);
      if (number !== directive.key) throw immutable(id);
      return [{ op: 'remove', target: directive }];
    });
    return this.#members(this.#group(group), applied.diff);
  }

  @action('upstream.replace')
  async replace(
    { group, list }: GroupParams & { list: readonly MemberFields[] },
    context: ActionContext,
  ): Promise<Versioned<readonly MemberView[]>> {
    const applied = await this.#apply(group, context, (turn) => {
      this.#assertVersion(turn.directive, context);
      return replacementOf(list, turn);
    });
    return this.#members(this.#group(group), applied.diff);
  }

  async #apply(name: string, context: ActionContext, build: (turn: GroupTurn) => readonly Edit[]): Promise<Applied> {
    let edits: readonly Edit[] = [];
    const applied = await this.transactions.apply(() => {
      const { directive } = this.#group(name);
      edits = build({ directive, index: this.#index(directive), rules: rulesOf(directive) });
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
    if (!/^\d+$/.test(id)) throw new ApiError(400, 'UpstreamBadServerId', `bad member id "${id}": it is not a number`);
    const number = Number(id);
    const directive = this.#index(group.directive).get(number % ADDRESS_STRIDE);
    const exists = directive !== undefined && (number < ADDRESS_STRIDE || group.peer(number) !== undefined);
    if (!exists) throw new ApiError(404, 'UpstreamServerNotFound', `upstream "${group.name}" has no member ${id}`);
    return { directive, number };
  }

  #members(group: UpstreamView, diff: readonly string[]): Versioned<readonly MemberView[]> {
    const views = Array.from(group.directive.block?.named('server') ?? []).flatMap((line) => memberViews(line, group));
    return { value: views, version: this.#version(group.directive), diff };
  }

  #memberOf(group: UpstreamView, directive: Directive, number: number, diff: readonly string[]): Versioned<MemberView> {
    const [first, ...others] = memberViews(directive, group);
    const value = others.find(({ id }) => id === number) ?? first;
    if (value === undefined) throw new Error('a member without a view');
    return { value, version: this.#version(directive), diff };
  }

  #version(directive: Directive): string {
    return this.transactions.versionOf(directive);
  }

  #assertVersion(directive: Directive, conditions: Preconditions): void {
    assertPreconditions(conditions, () => this.#version(directive));
  }
}

function rulesOf({ block }: Directive): GroupRules {
  const has = (name: string): boolean => [...(block?.named(name) ?? [])].length > 0;
  return { hasResolver: has('resolver'), withoutBackup: WITHOUT_BACKUP.find(has) };
}

function immutable(id: string): ApiError {
  return new ApiError(400, 'UpstreamServerImmutable', `member ${id} is an address of a name, it cannot be removed or readdressed`);
}
