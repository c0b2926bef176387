import { controlModule } from '../../core/contract/manifest.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { UpstreamRoutes } from '../../core/toolkit/upstream-routes.js';

/** Whole upstreams over HTTP: `/v1/dyn_ups`. The data plane knows what a call means. */
@controlModule({ name: 'srv_http_dyn_upstream_api_module', api: 1, key: 'dyn_ups', dataModule: 'srv_http_dyn_upstream_module' })
export class DynamicUpstreamApi extends UpstreamRoutes {
  constructor(dataPlane: DataPlane) {
    super(dataPlane, 'dyn_ups');
  }
}
