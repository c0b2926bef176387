import { action, type ActionContext } from '../../core/contract/control.js';
import { coreModule } from '../../core/contract/manifest.js';
import { ServerChanges, type ForcedServer, type ServerPage } from '../../core/toolkit/server-changes.js';
import type { ServerPlace } from '../../core/toolkit/server-place.js';
import type { ServerFields, ShownServer } from '../../core/toolkit/server-text.js';
import { Transactions } from '../../core/contract/transactions.js';
import type { Versioned } from '../../core/contract/versioned.js';
import { VirtualServers } from '../../core/contract/virtual-servers.js';

/**
 * Virtual servers, changed at run time. Its actions are the whole meaning of their API; the control plane adds HTTP. A change is an edit of
 * `server` blocks: a port that comes is open in every worker before the response, and closed when its last server goes.
 */
@coreModule({ name: 'srv_http_dyn_server_module', api: 1, plane: 'data' })
export class DynamicServers {
  readonly #changes: ServerChanges;

  constructor(servers: VirtualServers, transactions: Transactions) {
    this.#changes = new ServerChanges('http', servers, transactions);
  }

  @action('dyn_srv.list')
  list(page: ServerPage): Versioned<readonly ShownServer[]> {
    return this.#changes.list(page);
  }

  @action('dyn_srv.add', { transactional: true })
  add(fields: ServerFields, context: ActionContext): Promise<Versioned> {
    return this.#changes.add(fields, context);
  }

  @action('dyn_srv.change', { transactional: true })
  change(fields: ServerFields & ForcedServer, context: ActionContext): Promise<Versioned> {
    return this.#changes.change(fields, context);
  }

  @action('dyn_srv.remove', { transactional: true })
  remove(place: ServerPlace & ForcedServer, context: ActionContext): Promise<Versioned> {
    return this.#changes.remove(place, context);
  }
}
