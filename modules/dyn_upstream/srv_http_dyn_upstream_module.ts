import { action, type ActionContext } from '../core/module/control.js';
import { coreModule } from '../core/module/manifest.js';
import { Transactions, Upstreams } from '../core/module/services.js';
import { UpstreamChanges, type UpstreamBody, type UpstreamName, type UpstreamPage } from '../core/module/upstream-changes.js';
import type { ShownUpstream } from '../core/module/upstream-text.js';
import type { Versioned } from '../core/module/versioned.js';
import { VirtualServers } from '../core/module/virtual-servers.js';

/**
 * Whole upstreams, changed at run time. Its actions are the whole meaning of their API; the control plane adds HTTP. A change is an edit of
 * `upstream` blocks, so that it is journalled and in force everywhere like any other.
 */
@coreModule({ name: 'srv_http_dyn_upstream_module', api: 1, plane: 'data' })
export class DynamicUpstreams {
  readonly #changes: UpstreamChanges;

  constructor(upstreams: Upstreams, servers: VirtualServers, transactions: Transactions) {
    this.#changes = new UpstreamChanges('http', upstreams, servers, transactions);
  }

  @action('dyn_ups.list')
  list(page: UpstreamPage): Versioned<readonly ShownUpstream[]> {
    return this.#changes.list(page);
  }

  @action('dyn_ups.get')
  get(name: UpstreamName): Versioned<ShownUpstream> {
    return this.#changes.get(name);
  }

  @action('dyn_ups.add')
  add(upstream: UpstreamBody, context: ActionContext): Promise<Versioned> {
    return this.#changes.add(upstream, context);
  }

  @action('dyn_ups.change')
  change(upstream: UpstreamBody, context: ActionContext): Promise<Versioned> {
    return this.#changes.change(upstream, context);
  }

  @action('dyn_ups.remove')
  remove(name: UpstreamName, context: ActionContext): Promise<Versioned> {
    return this.#changes.remove(name, context);
  }
}
