import type { BalancedUpstream, Balancer, BalancingMethod, Pick, UpstreamPeer, UpstreamScope } from '../../core/contract/balancer.js';
import { binaryAddress } from '../../core/contract/binary-address.js';
import type { HttpRequest } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  ip_hash: directive({
    in: ['upstream'],
    doc: 'Sends requests of one client to one server: by the first three octets of its IPv4 address, or all of its IPv6 address.',
  }),
};

/** Members that were not usable, after which the next one in turn is taken. */
const TRIES = 20;
const IPV4_OCTETS = 3;

/** By the client's address (ngx_http_upstream_ip_hash_module). */
@httpModule({ name: 'srv_http_upstream_ip_hash_module', api: 1, directives })
export class IpHash {
  balancer({ conf }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    return conf.ip_hash && { backup: false, slowStart: false, byRequest: true, create: (upstream) => new ByAddress(upstream) };
  }
}

/** Where a request is in its sequence of members. */
interface Walk {
  readonly octets: string;
  hash: number;
  tries: number;
}

class ByAddress implements Balancer {
  constructor(private readonly upstream: BalancedUpstream) {}

  propose(pick: Pick): UpstreamPeer | undefined {
    const walk = (pick.state ??= { octets: octetsOf(pick.request), hash: 89, tries: 0 }) as Walk;
    const { upstream } = this;
    while (walk.tries < TRIES) {
      walk.tries++;
      for (let at = 0; at < walk.octets.length; at++) walk.hash = (walk.hash * 113 + walk.octets.charCodeAt(at)) % 6271;
      const peer = upstream.peerAtWeight(walk.hash % upstream.totalWeight);
      if (peer !== undefined && !pick.wasTried(peer) && peer.isUsable) return peer;
    }
    return undefined;
  }
}

/** The octets of the address that count. Clients of unix sockets are all the same. */
function octetsOf(request: HttpRequest | undefined): string {
  const address = request?.connection.remoteAddress ?? 'unix:';
  if (address.startsWith('unix:')) return '\0'.repeat(IPV4_OCTETS);
  const octets = binaryAddress(address);
  return octets.length === 4 ? octets.slice(0, IPV4_OCTETS) : octets;
}
