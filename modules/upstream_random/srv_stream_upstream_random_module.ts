import { choice, optional, param } from '../../core/contract/args.js';
import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { byRequests, byTime, randomMethod, type LoadOf } from '../../core/toolkit/balancing/random.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive, type ConfValue } from '../../core/contract/spec.js';

const directives = {
  random: directive({
    in: ['stream upstream'],
    args: {
      two: optional(choice('two')),
      method: optional(choice('least_conn', 'least_time')),
      least_time: param('least_time', choice('connect', 'first_byte', 'last_byte')),
    },
    doc: 'Sends sessions to a random server, by weight; with two, to the less loaded of two random servers.',
    argDocs: {
      method: 'Compares the active sessions of the two (default), or with least_time their times to a connection as well.',
      least_time: 'Compares the active sessions and the average time to a connection, to the first byte, or to the end of a session.',
    },
  }),
};

/** Random choice by weight (ngx_stream_upstream_random_module). */
@streamModule({ name: 'srv_stream_upstream_random_module', api: 1, directives })
export class StreamRandom {
  balancer(scope: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    const { random } = scope.conf;
    if (random === undefined) return undefined;
    if (random.two === undefined && random.least_time !== undefined)
      return scope.fail(`invalid parameter "least_time=${random.least_time}"`, 'random', 'random two least_time=connect');
    return randomMethod(random.two !== undefined, loadFor(random));
  }
}

/** Criterion for comparing two members. */
function loadFor({ method, least_time: time }: NonNullable<ConfValue<typeof directives.random>>): LoadOf {
  if (time === 'last_byte') return byTime(({ responseTime }) => responseTime);
  if (time === 'first_byte') return byTime(({ headerTime }) => headerTime);
  return time === 'connect' || method === 'least_time' ? byTime(({ connectTime }) => connectTime) : byRequests;
}
