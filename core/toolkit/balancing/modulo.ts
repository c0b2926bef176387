import type { BalancedUpstream, Balancer, Pick, UpstreamPeer } from '../../contract/balancer.js';
import { crc32 } from './crc32.js';

/** The key of a request, a string of bytes; undefined: there is no request. One with an empty key, or without, goes to the next member in turn. */
export type KeyOf = (pick: Pick) => string | undefined;

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
    private readonly keyOf: KeyOf,
  ) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    const { upstream } = this;
    const walk = (pick.state ??= this.#begin(pick)) as Walk | undefined;
    if (walk === undefined) return undefined;
    while (walk.tries < TRIES) {
      const salt = walk.tries === 0 ? '' : String(walk.tries);
      walk.hash += (crc32(salt + walk.key) >>> 16) & 0x7fff;
      walk.tries++;
      const peer = upstream.peerAtWeight(walk.hash % upstream.totalWeight);
      if (peer !== undefined && !pick.wasTried(peer) && peer.isUsable) return peer;
    }
    return undefined;
  }

  #begin(pick: Pick): Walk | undefined {
    const key = this.keyOf(pick);
    return key === undefined || key === '' ? undefined : { key, hash: 0, tries: 0 };
  }
}
