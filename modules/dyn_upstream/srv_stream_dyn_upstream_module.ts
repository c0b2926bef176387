import { action, type ActionContext } from '../core/module/control.js';
import { coreModule } from '../core/module/manifest.js';
import { Transactions } from '../core/module/services.js';
import { StreamServers, StreamUpstreams } from '../core/module/stream-servers.js';
import { UpstreamChanges, type UpstreamBody, type UpstreamName, type UpstreamPage } from '../core/module/upstream-changes.js';
import type { ShownUpstream } from '../core/module/upstream-text.js';
import type { Versioned } from '../core/module/versioned.js';

/**
 * Whole upstreams of `stream`, changed at run time. Its actions are the whole meaning of their API; the control plane adds HTTP. A change is an edit of
 * `upstream` blocks, so that it is journalled and in force everywhere like any other.
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

  @action('dyn_stream_ups.add')
  add(upstream: UpstreamBody, context: ActionContext): Promise<Versioned> {
    return this.#changes.add(upstream, context);
  }

  @action('dyn_stream_ups.change')
  change(upstream: UpstreamBody, context: ActionContext): Promise<Versioned> {
    return this.#changes.change(upstream, context);
  }

  @action('dyn_stream_ups.remove')
  remove(name: UpstreamName, context: ActionContext): Promise<Versioned> {
    return this.#changes.remove(name, context);
  }
}
