import { choice, word } from '../core/module/args.js';
import type { BalancingMethod, UpstreamScope } from '../core/module/balancer.js';
import { httpModule } from '../core/module/manifest.js';
import { directive } from '../core/module/spec.js';

const directives = {
  least_time: directive({
    in: ['upstream'],
    args: { time: choice('header', 'last_byte'), inflight: word('inflight') },
    doc: 'Sends requests to the server with the least response time and the fewest active requests for its weight; of equal ones in turn, by weight.',
    argDocs: {
      time: 'The average time to the header of a response, or to its last byte.',
      inflight: 'A server with active requests that has been silent for longer than its average is as slow as that.',
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
