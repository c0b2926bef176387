import { text } from '../../core/contract/args.js';
import { httpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { upstreamBlockDirectives } from '../../core/toolkit/upstream.js';

/** Upstreams for proxy_pass (ngx_http_upstream_module). The core runs them; this module declares their directives. */
@httpModule({
  name: 'srv_http_upstream_module',
  api: 1,
  directives: {
    upstream: directive({
      in: ['http'],
      args: text('name'),
      many: true,
      dynamic: true,
      block: 'upstream',
      identity: ({ args }) => args[0]?.text ?? '',
      doc: 'Defines an upstream: servers that requests are distributed among.',
    }),
    ...upstreamBlockDirectives,
  },
})
export class UpstreamBlocks {}
