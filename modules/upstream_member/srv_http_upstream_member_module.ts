import { path, rest } from '../../core/contract/args.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { coreModule } from '../../core/contract/manifest.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Transactions } from '../../core/contract/transactions.js';
import { Upstreams } from '../../core/contract/upstreams.js';
import { directive, type EngineName } from '../../core/contract/spec.js';
import { StreamUpstreams } from '../../core/contract/stream-servers.js';
import type { Versioned } from '../../core/contract/versioned.js';
import {
  EngineMembers,
  type AddParams,
  type ChangeParams,
  type ListParams,
  type MemberParams,
  type PageParams,
  type RemoveParams,
  type ReplaceParams,
  type UpstreamParams,
} from './engine-members.js';
import type { MemberView } from './member-view.js';

const directives = {
  state: directive({
    in: ['upstream', 'stream upstream'],
    args: path(),
    holds: 'server',
    doc: 'File that keeps the members of the upstream, as `server` lines.',
  }),
  api_unix_members: directive({
    in: ['http', 'upstream', 'stream', 'stream upstream'],
    args: rest(path()),
    many: true,
    doc: 'Folders below which the API may add servers with a unix socket. Without it: none.',
  }),
};

/** The traffic engine of the upstream; absent: HTTP. */
interface OfEngine {
  readonly engine?: EngineName;
}

/**
 * The members of upstreams, changed at run time. Its actions are the whole meaning of the member API; the control plane adds HTTP.
 * A change is an edit of `server` lines, so that it is journalled and applied everywhere like any other.
 */
@coreModule({ name: 'srv_http_upstream_member_module', api: 1, plane: 'data', directives })
export class UpstreamMembers {
  readonly #http: EngineMembers;
  readonly #stream: EngineMembers;

  constructor(upstreams: Upstreams, streamUpstreams: StreamUpstreams, transactions: Transactions, info: ServerInfo) {
    this.#http = new EngineMembers('http', upstreams, transactions, info);
    this.#stream = new EngineMembers('stream', streamUpstreams, transactions, info);
  }

  @action('upstream.list')
  list(params: ListParams & OfEngine): Versioned {
    return this.#of(params).list(params);
  }

  @action('upstream.get')
  get(params: UpstreamParams & OfEngine): Versioned {
    return this.#of(params).get(params);
  }

  @action('upstream.reset', { transactional: true })
  reset(params: UpstreamParams & OfEngine, context: ActionContext): void {
    this.#of(params).reset(params, context);
  }

  @action('upstream.members')
  members(params: PageParams & OfEngine): Versioned<readonly MemberView[]> {
    return this.#of(params).members(params);
  }

  @action('upstream.member')
  member(params: MemberParams & OfEngine): Versioned<MemberView> {
    return this.#of(params).member(params);
  }

  @action('upstream.add', { transactional: true })
  add(params: AddParams & OfEngine, context: ActionContext): Promise<Versioned<MemberView>> {
    return this.#of(params).add(params, context);
  }

  @action('upstream.change', { transactional: true })
  change(params: ChangeParams & OfEngine, context: ActionContext): Promise<Versioned<MemberView>> {
    return this.#of(params).change(params, context);
  }

  @action('upstream.remove', { transactional: true })
  remove(params: RemoveParams & OfEngine, context: ActionContext): Promise<Versioned<readonly MemberView[]>> {
    return this.#of(params).remove(params, context);
  }

  @action('upstream.replace', { transactional: true })
  replace(params: ReplaceParams & OfEngine, context: ActionContext): Promise<Versioned<readonly MemberView[]>> {
    return this.#of(params).replace(params, context);
  }

  #of({ engine }: OfEngine): EngineMembers {
    return engine === 'stream' ? this.#stream : this.#http;
  }
}
