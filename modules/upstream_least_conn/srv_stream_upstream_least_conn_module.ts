import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  least_conn: directive({
    in: ['stream upstream'],
    doc: 'Sends sessions to the server with the fewest active ones for its weight; of equal ones in turn, by weight.',
  }),
};

/** Least connections (ngx_stream_upstream_least_conn_module). With a zone the sessions of all workers count. */
@streamModule({ name: 'srv_stream_upstream_least_conn_module', api: 1, directives })
export class StreamLeastConn {
  balancer({ conf }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    return conf.least_conn && { order: 'load' };
  }
}
