import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  least_conn: directive({
    in: ['upstream'],
    doc: 'Sends requests to the server with the fewest active requests for its weight; of equal ones in turn, by weight.',
  }),
};

/** Least connections (ngx_http_upstream_least_conn_module). With a zone the requests of all workers count. */
@httpModule({ name: 'srv_http_upstream_least_conn_module', api: 1, directives })
export class LeastConn {
  balancer({ conf }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    return conf.least_conn && { order: 'load' };
  }
}
