import { text } from '../core/module/args.js';
import { httpModule } from '../core/module/manifest.js';
import { directive } from '../core/module/spec.js';
import { upstreamDirectives } from '../core/module/upstream.js';

/** Groups of servers for proxy_pass: `upstream NAME { server …; }`. What a group does is the core's part; this module declares its form. */
@httpModule({
  name: 'srv_http_upstream_module',
  api: 1,
  directives: {
    upstream: directive({
      in: ['http'],
      args: text('name'),
      many: true,
      block: 'upstream',
      identity: ({ args }) => args[0]?.text ?? '',
      doc: 'A group of servers that requests are spread over.',
    }),
    ...upstreamDirectives,
  },
})
export class Upstream {}
