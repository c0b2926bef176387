import { action, type ActionContext } from '../../core/contract/control.js';
import { coreModule } from '../../core/contract/manifest.js';
import { Transactions } from '../../core/contract/transactions.js';
import { StreamServers, StreamUpstreams } from '../../core/contract/stream-servers.js';
import { UpstreamChanges, type UpstreamBody, type UpstreamName, type UpstreamPage } from '../../core/toolkit/upstream-changes.js';
import type { ShownUpstream } from '../../core/toolkit/upstream-text.js';
import type { Versioned } from '../../core/contract/versioned.js';

/**
 * Whole upstreams of `stream`, changed at run time. Its actions are the whole meaning of their API; the control plane adds HTTP. A change is an edit of
 * `upstream` blocks, so that it is journalled and applied everywhere like any other.
 */
@coreModule({ name: 'srv_stream_dyn_upstream_module', api: 1, plane: 'data' })
export class DynamicStreamUpstreams {
  readonly #changes: UpstreamChanges;

  constructor(upstreams: StreamUpstreams, servers: StreamServers, transactions: Transactions) {
    this.#changes = new UpstreamChanges('stream', upstreams, servers, transactions);
  }

  @action('dyn_stream_ups.list')
  list(page: UpstreamPage): Versioned<readonly ShownUpstream[]> {
    return this.#changes.list(page);
  }

  @action('dyn_stream_ups.get')
  get(name: UpstreamName): Versioned<ShownUpstream> {
    return this.#changes.get(name);
  }

  @action('dyn_stream_ups.add', { transactional: true })
  add(upstream: UpstreamBody, context: ActionContext): Promise<Versioned> {
    return this.#changes.add(upstream, context);
  }

  @action('dyn_stream_ups.change', { transactional: true })
  change(upstream: UpstreamBody, context: ActionContext): Promise<Versioned> {
    return this.#changes.change(upstream, context);
  }

  @action('dyn_stream_ups.remove', { transactional: true })
  remove(name: UpstreamName, context: ActionContext): Promise<Versioned> {
    return this.#changes.remove(name, context);
  }
}
