import { controlModule } from '../../core/contract/manifest.js';
import { ServerRoutes } from '../../core/toolkit/server-routes.js';
import { DataPlane } from '../../core/contract/data-plane.js';

/** Virtual servers over HTTP: `/v1/dyn_srv`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_dyn_server_api_module', api: 1, key: 'dyn_srv', dataModule: 'srv_http_dyn_server_module' })
export class DynamicServerApi extends ServerRoutes {
  constructor(dataPlane: DataPlane) {
    super(dataPlane, 'dyn_srv');
  }
}
