import { action, type ActionContext } from '../core/module/control.js';
import { coreModule } from '../core/module/manifest.js';
import { ServerChanges, type ForcedServer, type ServerPage } from '../core/module/server-changes.js';
import type { ServerPlace } from '../core/module/server-place.js';
import type { ServerFields, ShownServer } from '../core/module/server-text.js';
import { Transactions } from '../core/module/services.js';
import type { Versioned } from '../core/module/versioned.js';
import { VirtualServers } from '../core/module/virtual-servers.js';

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

  @action('dyn_srv.add')
  add(fields: ServerFields, context: ActionContext): Promise<Versioned> {
    return this.#changes.add(fields, context);
  }

  @action('dyn_srv.change')
  change(fields: ServerFields & ForcedServer, context: ActionContext): Promise<Versioned> {
    return this.#changes.change(fields, context);
  }

  @action('dyn_srv.remove')
  remove(place: ServerPlace & ForcedServer, context: ActionContext): Promise<Versioned> {
    return this.#changes.remove(place, context);
  }
}
