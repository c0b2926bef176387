import { choice, word } from '../../core/contract/args.js';
import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  least_time: directive({
    in: ['upstream'],
    args: { time: choice('header', 'last_byte'), inflight: word('inflight') },
    doc: 'Sends requests to the server with the least response time and the fewest active requests for its weight; of equal ones in turn, by weight.',
    argDocs: {
      time: 'The average time to the header of a response, or to its last byte.',
      inflight: 'The time that a server with active requests has been silent counts, if it is longer than its average.',
    },
  }),
};

/** Least response time (`least_time` of ngx_http_upstream_module). With a zone the responses of all workers count. */
@httpModule({ name: 'srv_http_upstream_least_time_module', api: 1, directives })
export class LeastTime {
  balancer({ conf: { least_time: method } }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    if (method === undefined) return undefined;
    return { order: method.time === 'header' ? 'header_time' : 'response_time', inflight: method.inflight ?? false };
  }
}
