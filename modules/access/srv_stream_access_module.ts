import { AccessRules, ruleFor } from '../../core/toolkit/access-rules.js';
import { streamModule } from '../../core/contract/manifest.js';
import { clients } from '../../core/contract/network.js';
import { Log } from '../../core/contract/log.js';
import { directive } from '../../core/contract/spec.js';
import { DECLINED, OK, STREAM_FORBIDDEN, type StreamHandlers, type StreamScope } from '../../core/contract/stream.js';

const rule = directive({
  in: ['stream', 'stream server'],
  args: clients({ all: true }),
  many: true,
  dynamic: true,
  doc: 'Access rule for a client address; the first matching rule applies.',
});
const directives = { allow: rule, deny: rule };

/** Access to servers by client address (ngx_stream_access_module). */
@streamModule({ name: 'srv_stream_access_module', api: 1, directives })
export class StreamAccess {
  readonly #rules = new AccessRules();

  constructor(private readonly log: Log) {}

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const rules = this.#rules.inForce(scope);
    if (rules === undefined) return undefined;
    return {
      access: (session) => {
        const rule = ruleFor(session.connection.remoteAddress, rules);
        if (rule === undefined) return DECLINED;
        if (rule.allows) return OK;
        this.log.write('error', 'access forbidden by rule', session);
        return STREAM_FORBIDDEN;
      },
    };
  }
}
