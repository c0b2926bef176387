import { text } from '../core/module/args.js';
import { streamModule } from '../core/module/manifest.js';
import { directive } from '../core/module/spec.js';
import { streamServer } from '../core/module/upstream.js';

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
