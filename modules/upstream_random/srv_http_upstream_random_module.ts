import { choice, optional, param } from '../../core/contract/args.js';
import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { byRequests, byTime, randomMethod, type LoadOf } from '../../core/toolkit/balancing/random.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive, type ConfValue } from '../../core/contract/spec.js';

const directives = {
  random: directive({
    in: ['upstream'],
    args: {
      two: optional(choice('two')),
      method: optional(choice('least_conn', 'least_time')),
      least_time: param('least_time', choice('header', 'last_byte')),
    },
    doc: 'Sends requests to a random server, by weight; with two, to the less loaded of two random servers.',
    argDocs: {
      method: 'Compares the active requests of the two (default), or with least_time their times to the header of a response as well.',
      least_time: 'Compares the active requests and the average time to the header of a response, or to its last byte.',
    },
  }),
};

/** Random choice by weight (ngx_http_upstream_random_module). */
@httpModule({ name: 'srv_http_upstream_random_module', api: 1, directives })
export class RandomMethod {
  balancer(scope: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    const { random } = scope.conf;
    if (random === undefined) return undefined;
    if (random.two === undefined && random.least_time !== undefined)
      return scope.fail(`invalid parameter "least_time=${random.least_time}"`, 'random', 'random two least_time=header');
    return randomMethod(random.two !== undefined, loadFor(random));
  }
}

/** Criterion for comparing two members. */
function loadFor({ method, least_time: time }: NonNullable<ConfValue<typeof directives.random>>): LoadOf {
  if (time === 'last_byte') return byTime(({ responseTime }) => responseTime);
  return time === 'header' || method === 'least_time' ? byTime(({ headerTime }) => headerTime) : byRequests;
}
