import type { BalancedUpstream, Balancer, BalancingMethod, Pick, UpstreamPeer } from '../../contract/balancer.js';

/** Random members that were not usable, after which the next one in turn is taken. */
const TRIES = 20;

/** Load of a member, divided by its weight. */
export type LoadOf = (peer: UpstreamPeer) => number;

/** Active requests. */
export const byRequests: LoadOf = ({ active }) => active;

/** How long the next request would take if they were served one after the other. @param timeOf milliseconds; less than 1 counts as 1 */
export const byTime =
  (timeOf: LoadOf): LoadOf =>
  (peer) =>
    (peer.active + 1) * Math.max(timeOf(peer), 1);

/** `random [two]`. */
export function randomMethod(two: boolean, loadOf: LoadOf): BalancingMethod {
  return {
    backup: false,
    slowStart: false,
    create: (upstream) => (two ? new RandomTwo(upstream, loadOf) : new RandomOne(upstream)),
  };
}

/** A random member, by weight. */
class RandomOne implements Balancer {
  constructor(private readonly upstream: BalancedUpstream) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    return usable(this.upstream, pick, undefined);
  }
}

/** Of two random members the one with less load for its weight. */
class RandomTwo implements Balancer {
  constructor(
    private readonly upstream: BalancedUpstream,
    private readonly loadOf: LoadOf,
  ) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    const one = usable(this.upstream, pick, undefined);
    const other = one && usable(this.upstream, pick, one);
    if (one === undefined || other === undefined) return one;
    return this.loadOf(other) * one.weight < this.loadOf(one) * other.weight ? other : one;
  }
}

/** A random usable member other than `but`. */
function usable(upstream: BalancedUpstream, pick: Pick, but: UpstreamPeer | undefined): UpstreamPeer | undefined {
  const { servingWeight } = upstream;
  for (let tries = 0; tries < TRIES; tries++) {
    const peer = upstream.servingAtWeight(Math.floor(Math.random() * servingWeight));
    if (peer !== undefined && peer !== but && !pick.wasTried(peer) && peer.isUsable) return peer;
  }
  return undefined;
}
