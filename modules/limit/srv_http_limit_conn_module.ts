import { ConnectionLimits, limitConnDirectives, limitConnStatus } from '../../core/toolkit/connection-limits.js';
import type { ExplainNotes } from '../../core/contract/explain.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type LocationScope, type Result } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { mainRequest, rejectionStatus, shownKey } from '../../core/toolkit/limits.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { LimitZones, type LimitFigures } from '../../core/toolkit/limit-zones.js';
import { Metrics } from '../../core/contract/metrics.js';
import { Log } from '../../core/contract/log.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Zones } from '../../core/contract/zones.js';

const directives = {
  ...limitConnDirectives<HttpRequest, 'http', 'http' | 'server' | 'location'>('http', ['http', 'server', 'location'], {
    limit: 'Limits the connections of a key that have a request in progress. Further requests are rejected.',
    level: 'Log level of rejected requests.',
  }),
  limit_conn_status: rejectionStatus,
};

/** Limits the connections with a request in progress (ngx_http_limit_conn_module). */
@httpModule({
  name: 'srv_http_limit_conn_module',
  api: 1,
  directives,
  // As in nginx after limit_req: a request that waits for its turn there is not counted here.
  phases: { preaccess: 110 },
  variables: { limit_conn_status: (request) => limitConnStatus(mainRequest(request)) },
})
export class LimitConn {
  readonly #zones: LimitZones;

  constructor(
    private readonly zones: Zones,
    private readonly log: Log,
    metrics: Metrics,
    private readonly tasks: Tasks,
  ) {
    this.#zones = new LimitZones('conn', ['passed', 'rejected', 'rejected_dry_run'], metrics);
  }

  start(role: string): void {
    if (role === 'master') this.#zones.measure(this.tasks);
  }

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const limits = ConnectionLimits.of(scope, this.zones, this.#zones, this.log);
    if (limits === undefined) return undefined;
    const status = scope.conf.limit_conn_status;
    return {
      preaccess: (request) => check(request, limits, status),
      explain: { preaccess: (request, notes) => explain(request, limits, status, notes) },
    };
  }

  @action('limit_conn.zones')
  figures(): Readonly<Record<string, LimitFigures>> {
    return this.#zones.figures();
  }

  /** @returns false if there is no such zone */
  @action('limit_conn.reset')
  reset({ zone }: { readonly zone: string }, { dryRun }: ActionContext): boolean {
    return this.#zones.reset(zone, dryRun);
  }
}

function check(request: HttpRequest, limits: ConnectionLimits<HttpRequest>, status: number): Result {
  const main = mainRequest(request);
  return limitConnStatus(main) === undefined && limits.rejects(request, main) ? status : DECLINED;
}

/** Looks at the counts of this moment, and holds nothing. */
function explain(request: HttpRequest, limits: ConnectionLimits<HttpRequest>, status: number, notes: ExplainNotes): Result {
  let isOver = false;
  for (const limit of limits.limits) {
    const { name: zone, connections, holds } = limit;
    const key = limits.keyAt(limit, request);
    const now = key === '' ? 0 : holds.count(key);
    const state = key === '' ? 'the key is empty, and nothing is limited' : `key "${shownKey(key)}" has ${now} now`;
    notes.say(`limit_conn ${zone} ${connections}: ${state}`, { zone, key: shownKey(key), limit: connections, now });
    if (key !== '' && now >= connections) isOver = true;
  }
  return isOver && !limits.dryRun ? status : DECLINED;
}
