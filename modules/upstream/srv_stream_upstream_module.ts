import { text } from '../../core/contract/args.js';
import { streamModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { streamServer } from '../../core/toolkit/upstream.js';

/** Upstreams for proxy_pass in stream (ngx_stream_upstream_module). The core runs them; this module declares their directives. */
@streamModule({
  name: 'srv_stream_upstream_module',
  api: 1,
  directives: {
    upstream: directive({
      in: ['stream'],
      args: text('name'),
      many: true,
      dynamic: true,
      block: 'stream upstream',
      identity: ({ args }) => args[0]?.text ?? '',
      doc: 'Defines an upstream: servers that sessions are distributed among.',
    }),
    server: streamServer,
  },
  needs: ['srv_http_upstream_module'],
})
export class StreamUpstream {}
