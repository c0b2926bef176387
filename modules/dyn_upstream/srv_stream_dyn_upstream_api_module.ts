import { controlModule } from '../../core/contract/manifest.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { UpstreamRoutes } from '../../core/toolkit/upstream-routes.js';

/** Whole upstreams of `stream` over HTTP: `/v1/dyn_stream_ups`. The data plane knows what a call means. */
@controlModule({ name: 'srv_stream_dyn_upstream_api_module', api: 1, key: 'dyn_stream_ups', dataModule: 'srv_stream_dyn_upstream_module' })
export class DynamicStreamUpstreamApi extends UpstreamRoutes {
  constructor(dataPlane: DataPlane) {
    super(dataPlane, 'dyn_stream_ups');
  }
}
