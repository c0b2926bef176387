import { controlModule } from '../../core/contract/manifest.js';
import { ServerRoutes } from '../../core/toolkit/server-routes.js';
import { DataPlane } from '../../core/contract/data-plane.js';

/** Servers of `stream` over HTTP: `/v1/stream_srv`. The data plane knows what a call means. */
@controlModule({ name: 'srv_stream_dyn_server_api_module', api: 1, key: 'stream_srv', dataModule: 'srv_stream_dyn_server_module' })
export class DynamicStreamServerApi extends ServerRoutes {
  constructor(dataPlane: DataPlane) {
    super(dataPlane, 'stream_srv');
  }
}
