import type { BalancedUpstream, Balancer, Pick, UpstreamPeer } from '../../core/module/balancer.js';
import type { Template } from '../../core/module/http.js';
import { crc32 } from './crc32.js';

/** Members that were not usable, after which the next one in turn is taken. */
const TRIES = 20;

/** Where a request is in its sequence of members. */
interface Walk {
  readonly key: string;
  hash: number;
  tries: number;
}

/** The key's hash modulo all weights, as Cache::Memcached of Perl does it, which nginx is compatible with: a change of the members moves most keys. */
export class ModuloHash implements Balancer {
  constructor(
    private readonly upstream: BalancedUpstream,
    private readonly key: Template,
  ) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    const { upstream } = this;
    if (pick.request === undefined) return undefined;
    const walk = (pick.state ??= { key: this.key.of(pick.request), hash: 0, tries: 0 }) as Walk;
    while (walk.tries < TRIES) {
      const salt = walk.tries === 0 ? '' : String(walk.tries);
      walk.hash += (crc32(salt + walk.key) >>> 16) & 0x7fff;
      walk.tries++;
      const peer = upstream.peerAtWeight(walk.hash % upstream.totalWeight);
      if (peer !== undefined && !pick.wasTried(peer) && peer.isUsable) return peer;
    }
    return undefined;
  }
}
