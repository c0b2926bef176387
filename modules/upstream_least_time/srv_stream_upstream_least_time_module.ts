import { choice, word } from '../../core/contract/args.js';
import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  least_time: directive({
    in: ['stream upstream'],
    args: { time: choice('connect', 'first_byte', 'last_byte'), inflight: word('inflight') },
    doc: 'Sends sessions to the server with the least time and the fewest active sessions for its weight; of equal ones in turn, by weight.',
    argDocs: {
      time: 'The average time to a connection, to the first byte of the server, or to the end of a session.',
      inflight: 'A server with active sessions that has been silent for longer than its average is as slow as that.',
    },
  }),
};

const ORDERS = { connect: 'connect_time', first_byte: 'header_time', last_byte: 'response_time' } as const;

/** Least time (`least_time` of ngx_stream_upstream_module). With a zone the sessions of all workers count. */
@streamModule({ name: 'srv_stream_upstream_least_time_module', api: 1, directives })
export class StreamLeastTime {
  balancer({ conf: { least_time: method } }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    return method && { order: ORDERS[method.time], inflight: method.inflight ?? false };
  }
}
