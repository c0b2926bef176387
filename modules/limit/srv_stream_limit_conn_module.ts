import { ConnectionLimits, limitConnDirectives, limitConnStatus } from '../../core/toolkit/connection-limits.js';
import { streamModule } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { DECLINED, STREAM_UNAVAILABLE, type StreamHandlers, type StreamScope, type StreamSession } from '../../core/contract/stream.js';
import { Zones } from '../../core/contract/zones.js';

const directives = limitConnDirectives<StreamSession, 'stream', 'stream' | 'stream server'>('stream', ['stream', 'stream server'], {
  limit: 'Limits the connections of a key. Further ones are closed.',
  level: 'Log level of connections that are closed.',
});

/** Limits the connections of a key (ngx_stream_limit_conn_module). */
@streamModule({
  name: 'srv_stream_limit_conn_module',
  api: 1,
  directives,
  phases: { preaccess: 110 },
  variables: { limit_conn_status: limitConnStatus },
})
export class StreamLimitConn {
  constructor(
    private readonly zones: Zones,
    private readonly log: Log,
  ) {}

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const limits = ConnectionLimits.of<StreamSession>(scope, this.zones, this.log);
    return limits && { preaccess: (session) => (limits.rejects(session) ? STREAM_UNAVAILABLE : DECLINED) };
  }
}
