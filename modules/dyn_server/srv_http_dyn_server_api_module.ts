import { controlModule } from '../core/module/manifest.js';
import { ServerRoutes } from '../core/module/server-routes.js';
import { DataPlane } from '../core/module/services.js';

/** Virtual servers over HTTP: `/v1/dyn_srv`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_dyn_server_api_module', api: 1, key: 'dyn_srv' })
export class DynamicServerApi extends ServerRoutes {
  constructor(dataPlane: DataPlane) {
    super(dataPlane, 'dyn_srv');
  }
}
