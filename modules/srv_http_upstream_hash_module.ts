import { optional, template, choice } from '../core/module/args.js';
import type { BalancingMethod, UpstreamScope } from '../core/module/balancer.js';
import { KetamaHash } from '../core/module/balancing/ketama.js';
import { ModuloHash, type KeyOf } from '../core/module/balancing/modulo.js';
import type { HttpRequest } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { directive } from '../core/module/spec.js';
import type { StreamSession } from '../core/module/stream.js';

const directives = {
  hash: directive({
    in: ['upstream', 'stream upstream'],
    args: { key: template<HttpRequest | StreamSession>('key'), consistent: optional(choice('consistent')) },
    doc: 'Sends requests with the same key to the same server. With consistent, a server that comes or goes moves only its share of the keys.',
  }),
};

/** By the hash of a key (ngx_http_upstream_hash_module). */
@httpModule({ name: 'srv_http_upstream_hash_module', api: 1, directives })
export class Hash {
  balancer({ conf: { hash } }: UpstreamScope<typeof directives>): BalancingMethod | undefined {
    if (hash === undefined) return undefined;
    const { key, consistent } = hash;
    const keyOf: KeyOf = ({ request, session }) => {
      const subject = request ?? session;
      return subject && key.of(subject);
    };
    return {
      backup: false,
      slowStart: false,
      byRequest: true,
      create: (upstream) => (consistent === undefined ? new ModuloHash(upstream, keyOf) : new KetamaHash(keyOf)),
    };
  }
}
