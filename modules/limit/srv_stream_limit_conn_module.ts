import { ConnectionLimits, limitConnDirectives, limitConnStatus } from '../../core/toolkit/connection-limits.js';
import { streamModule } from '../../core/contract/manifest.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { LimitZones, type LimitFigures } from '../../core/toolkit/limit-zones.js';
import { Metrics } from '../../core/contract/metrics.js';
import { Log } from '../../core/contract/log.js';
import { DECLINED, STREAM_UNAVAILABLE, type StreamHandlers, type StreamScope, type StreamSession } from '../../core/contract/stream.js';
import { Tasks } from '../../core/contract/tasks.js';
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
  readonly #zones: LimitZones;

  constructor(
    private readonly zones: Zones,
    private readonly log: Log,
    metrics: Metrics,
    private readonly tasks: Tasks,
  ) {
    this.#zones = new LimitZones('stream_conn', ['passed', 'rejected', 'rejected_dry_run'], metrics);
  }

  start(role: string): void {
    if (role === 'master') this.#zones.measure(this.tasks);
  }

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const limits = ConnectionLimits.of<StreamSession>(scope, this.zones, this.#zones, this.log);
    return limits && { preaccess: (session) => (limits.rejects(session) ? STREAM_UNAVAILABLE : DECLINED) };
  }

  @action('stream_limit_conn.zones')
  figures(): Readonly<Record<string, LimitFigures>> {
    return this.#zones.figures();
  }

  /** @returns false if there is no such zone */
  @action('stream_limit_conn.reset')
  reset({ zone }: { readonly zone: string }, { dryRun }: ActionContext): boolean {
    return this.#zones.reset(zone, dryRun);
  }
}
