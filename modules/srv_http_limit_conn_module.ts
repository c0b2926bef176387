import { argType } from '../core/module/arg-type.js';
import { requiredParam, template, text, zone } from '../core/module/args.js';
import type { ExplainNotes } from '../core/module/explain.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type LocationScope, type Result, type Template } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import {
  dryRun,
  dryRunText,
  limitKey,
  shownKey,
  limitsOf,
  mainRequest,
  rejectionLevel,
  rejectionStatus,
  type Rejection,
} from '../core/module/limits.js';
import { Log } from '../core/module/services.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';
import { Zones, type Holds } from '../core/module/zones.js';

const MOST = 65_535;

function connections(): ArgType<number> {
  return argType({
    kind: 'number',
    form: 'number',
    parse(value) {
      if (!/^\d{1,9}$/.test(value) || Number(value) === 0) throw new ArgError(`invalid number of connections "${value}"`);
      if (Number(value) > MOST) throw new ArgError(`connection limit must be less ${MOST + 1}`);
      return Number(value);
    },
  });
}

const ANYWHERE = ['http', 'server', 'location'] as const;

const directives = {
  limit_conn_zone: directive({
    in: ['http'],
    args: { key: template('key'), zone: requiredParam('zone', zone()) },
    many: true,
    doc: 'Shared memory zone with the number of connections of each key.',
  }),
  limit_conn: directive({
    in: ANYWHERE,
    args: { zone: text('zone'), connections: connections() },
    many: true,
    dynamic: true,
    doc: 'Limits the connections of a key that have a request in progress. Further requests are rejected.',
  }),
  limit_conn_status: rejectionStatus,
  limit_conn_log_level: rejectionLevel('Log level of rejected requests.'),
  limit_conn_dry_run: dryRun('connections'),
};

/** One `limit_conn` in force. */
interface Limit {
  readonly name: string;
  readonly key: Template;
  readonly holds: Holds;
  readonly connections: number;
}

interface Plan extends Rejection {
  readonly limits: readonly Limit[];
}

/** What a request holds, until it is over. */
interface Held {
  readonly limit: Limit;
  readonly key: string;
}

/** Under these keys a request keeps its `$limit_conn_status`, and what it holds. */
const STATUS = {};
const HELD = {};

const LONGEST_KEY = 255;

/** Limits the connections with a request in progress (ngx_http_limit_conn_module). */
@httpModule({
  name: 'srv_http_limit_conn_module',
  api: 1,
  directives,
  // As in nginx after limit_req: a request that waits for its turn there is not counted here.
  phases: { preaccess: 110 },
  variables: { limit_conn_status: (request) => mainRequest(request).get(STATUS) as string | undefined },
})
export class LimitConn {
  constructor(
    private readonly zones: Zones,
    private readonly log: Log,
  ) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const limits = this.#limits(scope);
    if (limits.length === 0) return undefined;
    const { limit_conn_status: status, limit_conn_log_level: level, limit_conn_dry_run: isDry } = scope.conf;
    const plan = { limits, status, level, dryRun: isDry };
    return {
      preaccess: (request) => this.#check(request, plan),
      explain: { preaccess: (request, notes) => this.#explain(request, plan, notes) },
    };
  }

  #limits(scope: LocationScope<typeof directives>): Limit[] {
    const { limit_conn: lines, limit_conn_zone: declared } = scope.conf;
    return limitsOf(scope, 'limit_conn', '', lines, declared, ({ zone: name, connections: most }, { key, zone: size }) => ({
      name,
      key,
      holds: this.zones.holds(size),
      connections: most,
    }));
  }

  #check(request: HttpRequest, plan: Plan): Result {
    if (mainRequest(request).get(STATUS) !== undefined) return DECLINED;
    const held: Held[] = [];
    for (const limit of plan.limits) {
      const key = limitKey(request, limit.key, LONGEST_KEY, this.log, `limit_conn zone "${limit.name}"`);
      if (key === '') continue;
      if (limit.holds.acquire(key, limit.connections) !== 'held') {
        release(held);
        return this.#reject(request, plan, limit);
      }
      held.push({ limit, key });
    }
    if (held.length === 0) return DECLINED;
    const main = mainRequest(request);
    main.set(STATUS, 'PASSED');
    main.set(HELD, held);
    main.atEnd(releaseHeld);
    return DECLINED;
  }

  /** Looks at the counts of this moment, and holds nothing. */
  #explain(request: HttpRequest, { limits, status, dryRun: isDry }: Plan, notes: ExplainNotes): Result {
    let isOver = false;
    for (const limit of limits) {
      const key = limitKey(request, limit.key, LONGEST_KEY, this.log, `limit_conn zone "${limit.name}"`);
      const now = key === '' ? 0 : limit.holds.count(key);
      const state = key === '' ? 'the key is empty, and nothing is limited' : `key "${shownKey(key)}" has ${now} now`;
      notes.say(`limit_conn ${limit.name} ${limit.connections}: ${state}`, {
        zone: limit.name,
        key: shownKey(key),
        limit: limit.connections,
        now,
      });
      if (key !== '' && now >= limit.connections) isOver = true;
    }
    return isOver && !isDry ? status : DECLINED;
  }

  #reject(request: HttpRequest, plan: Plan, { name }: Limit): Result {
    this.log.write(plan.level, `limiting connections${dryRunText(plan)} by zone "${name}"`, request);
    mainRequest(request).set(STATUS, plan.dryRun ? 'REJECTED_DRY_RUN' : 'REJECTED');
    return plan.dryRun ? DECLINED : plan.status;
  }
}

function releaseHeld(request: HttpRequest): void {
  release(request.get(HELD) as readonly Held[]);
}

function release(held: readonly Held[]): void {
  for (const { limit, key } of held) limit.holds.release(key);
}
