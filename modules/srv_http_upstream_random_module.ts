import { choice, optional } from '../core/module/args.js';
import type { BalancedUpstream, Balancer, BalancingMethod, Pick, UpstreamPeer, UpstreamScope } from '../core/module/balancer.js';
import { httpModule } from '../core/module/manifest.js';
import { directive } from '../core/module/spec.js';

const directives = {
  random: directive({
    in: ['upstream'],
    args: { two: optional(choice('two')), method: optional(choice('least_conn')) },
    doc: 'Sends requests to a random server, by weight; with two, to the less loaded of two random servers.',
  }),
};

/** Random members that were not usable, after which the next one in turn is taken. */
const TRIES = 20;

/** Random choice by weight (ngx_http_upstream_random_module). */
@httpModule({ name: 'srv_http_upstream_random_module', api: 1, directives })
export class RandomMethod {
  balancer({ conf: { random } }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    if (random === undefined) return undefined;
    return {
      backup: false,
      slowStart: false,
      create: (upstream) => (random.two === undefined ? new RandomOne(upstream) : new RandomTwo(upstream)),
    };
  }
}

class RandomOne implements Balancer {
  constructor(private readonly upstream: BalancedUpstream) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    return usable(this.upstream, pick, undefined);
  }
}

class RandomTwo implements Balancer {
  constructor(private readonly upstream: BalancedUpstream) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    const one = usable(this.upstream, pick, undefined);
    const other = one && usable(this.upstream, pick, one);
    if (one === undefined || other === undefined) return one;
    return other.active * one.weight < one.active * other.weight ? other : one;
  }
}

/** A random usable member other than `but`. */
function usable(upstream: BalancedUpstream, pick: Pick, but: UpstreamPeer | undefined): UpstreamPeer | undefined {
  const { totalWeight } = upstream;
  for (let tries = 0; tries < TRIES; tries++) {
    const peer = upstream.peerAtWeight(Math.floor(Math.random() * totalWeight));
    if (peer !== undefined && peer !== but && !pick.wasTried(peer) && peer.isUsable) return peer;
  }
  return undefined;
}
