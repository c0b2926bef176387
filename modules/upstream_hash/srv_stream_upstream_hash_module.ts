import { optional, template, choice } from '../../core/contract/args.js';
import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { hashMethod } from '../../core/toolkit/balancing/hash-method.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import type { StreamSession } from '../../core/contract/stream.js';

const directives = {
  hash: directive({
    in: ['stream upstream'],
    args: { key: template<StreamSession>('key'), consistent: optional(choice('consistent')) },
    doc: 'Sends sessions with the same key to the same server. With consistent, a server that comes or goes moves only its share of the keys.',
  }),
};

/** By the hash of a key (ngx_stream_upstream_hash_module). */
@streamModule({ name: 'srv_stream_upstream_hash_module', api: 1, directives })
export class StreamHash {
  balancer({ conf: { hash } }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    return hash && hashMethod(({ session }) => session && hash.key.of(session), hash.consistent !== undefined);
  }
}
