import { path, rest } from '../../core/contract/args.js';
import { Cluster } from '../../core/contract/cluster.js';
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

/** `all`: with the health of the members as each node of the cluster sees it. */
interface OfNodes {
  readonly nodes?: 'all';
}

/** Topic of questions to other nodes. */
const HEALTH_TOPIC = 'upstream.health';

interface PeerHealth {
  readonly id: number;
  readonly server: string;
  readonly state: string;
  readonly health_checks: unknown;
}

function healthOf({ value }: Versioned): readonly PeerHealth[] {
  const { peers } = value as { readonly peers: readonly PeerHealth[] };
  return peers.map(({ id, server, state, health_checks }) => ({ id, server, state, health_checks }));
}

/**
 * The members of upstreams, changed at run time. Its actions are the whole meaning of the member API; the control plane adds HTTP.
 * A change is an edit of `server` lines, so that it is journalled and applied everywhere like any other.
 */
@coreModule({ name: 'srv_http_upstream_member_module', api: 1, plane: 'data', directives })
export class UpstreamMembers {
  readonly #http: EngineMembers;
  readonly #stream: EngineMembers;

  constructor(
    upstreams: Upstreams,
    streamUpstreams: StreamUpstreams,
    transactions: Transactions,
    info: ServerInfo,
    private readonly cluster: Cluster,
  ) {
    this.#http = new EngineMembers('http', upstreams, transactions, info);
    this.#stream = new EngineMembers('stream', streamUpstreams, transactions, info);
  }

  @action('upstream.list')
  list(params: ListParams & OfEngine): Versioned {
    return this.#of(params).list(params);
  }

  @action('upstream.get')
  async get({ nodes, ...params }: UpstreamParams & OfEngine & OfNodes): Promise<Versioned> {
    const own = this.#of(params).get(params);
    if (nodes === undefined) return own;
    const responses = [...(await this.cluster.ask(HEALTH_TOPIC, params))];
    const healths = responses.map(([name, response]) => [name, 'value' in response ? response.value : { error: response.error }]);
    return { ...own, value: { ...(own.value as object), nodes: Object.fromEntries(healths) as unknown } };
  }

  start(role: ServerInfo['role']): void {
    if (role !== 'master') return;
    this.cluster.respond(HEALTH_TOPIC, (params) => {
      const wanted = params as UpstreamParams & OfEngine;
      return { peers: healthOf(this.#of(wanted).get(wanted)) };
    });
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
