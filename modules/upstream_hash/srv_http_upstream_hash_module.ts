import { optional, template, choice } from '../../core/contract/args.js';
import type { BalancingMethod, UpstreamScope } from '../../core/contract/balancer.js';
import { hashMethod } from '../../core/toolkit/balancing/hash-method.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';

const directives = {
  hash: directive({
    in: ['upstream'],
    args: { key: template('key'), consistent: optional(choice('consistent')) },
    doc: 'Sends requests with the same key to the same server. With consistent, a server that comes or goes moves only its share of the keys.',
  }),
};

/** By the hash of a key (ngx_http_upstream_hash_module). */
@httpModule({ name: 'srv_http_upstream_hash_module', api: 1, directives })
export class Hash {
  balancer({ conf: { hash } }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    return hash && hashMethod(({ request }) => request && hash.key.of(request), hash.consistent !== undefined);
  }
}
