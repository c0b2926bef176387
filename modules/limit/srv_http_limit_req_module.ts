import { argType } from '../../core/contract/arg-type.js';
import { param, requestRate, requiredParam, template, text, word, zone, zoneSync } from '../../core/contract/args.js';
import type { ExplainNotes } from '../../core/contract/explain.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type LocationScope, type Result, type Template } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
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
} from '../../core/toolkit/limits.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { LIMIT_RESULTS, LimitZones, type LimitCounters, type LimitFigures } from '../../core/toolkit/limit-zones.js';
import { Metrics } from '../../core/contract/metrics.js';
import { Log, type LogLevel } from '../../core/contract/log.js';
import type { ZoneSize } from '../../core/contract/args.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Zones, type RecordFields, type Records } from '../../core/contract/zones.js';

/** Requests, counted in thousandths as nginx does. */
function requests(): ArgType<number> {
  return argType({
    kind: 'number',
    form: 'number',
    parse(value, _context, written = value) {
      if (/^\d{1,9}$/.test(value) && Number(value) > 0) return Number(value) * 1000;
      const [name] = written.split('=');
      throw new ArgError(`invalid ${name} value "${written}"`, 'a number of requests, 1 at least');
    },
    print: (thousandths) => String(thousandths / 1000),
  });
}

const ANYWHERE = ['http', 'server', 'location'] as const;

const directives = {
  limit_req_zone: directive({
    in: ['http'],
    args: {
      key: template('key'),
      zone: requiredParam('zone', zone({ sync: 'count' })),
      rate: requiredParam('rate', requestRate()),
      sync: zoneSync(),
    },
    many: true,
    identity: ({ args }) => args.find(({ text }) => text.startsWith('zone='))?.text ?? '',
    dynamic: ['rate'],
    doc: 'Shared memory zone with the state of each key, and the rate of requests allowed.',
    argDocs: { sync: 'The rate is that of all nodes, over the `redis` block of that name or the only one.' },
  }),
  limit_req: directive({
    in: ANYWHERE,
    args: {
      zone: requiredParam('zone', text('name')),
      burst: param('burst', requests(), 0),
      delay: param('delay', requests(), 0),
      nodelay: word('nodelay'),
    },
    many: true,
    dynamic: true,
    doc: 'Limits the rate of requests. Up to burst excessive requests are delayed, further ones rejected; with delay only those above that number are delayed, with nodelay none.',
  }),
  limit_req_status: rejectionStatus,
  limit_req_log_level: rejectionLevel(ANYWHERE, 'Log level of rejected requests; delays are logged one level lower.'),
  limit_req_dry_run: dryRun(ANYWHERE, 'requests'),
};

type Field = 'last' | 'excess' | 'passed';
const FIELDS = ['last', 'excess'] as const;
/** Of a zone that nodes share: requests that this node has let pass. */
const SHARED_FIELDS = [...FIELDS, 'passed'] as const;

/** How long a key that is not above its rate any more is remembered at least, in milliseconds. */
const REMEMBERED = 60_000;
/** A clock that was set back by more than this starts again. */
const CLOCK_SET_BACK = 60_000;
const LONGEST_KEY = 65_535;

/** Requests that other nodes let pass count against a key for so long at most. Seconds. */
const LONGEST_DEBT = 60;

/** One `limit_req` that applies. Numbers of requests are in thousandths, the rate is per second. */
interface Limit {
  readonly name: string;
  readonly key: Template;
  readonly records: Records<Field>;
  readonly rate: number;
  readonly burst: number;
  /** Requests of the burst that are not delayed. */
  readonly undelayed: number;
  /** Between nodes. */
  readonly isShared: boolean;
  readonly counters: LimitCounters;
}

/** Result of a request at one limit. */
interface Probe {
  limit: Limit;
  now: number;
  /** Requests above the rate, this one included. */
  excess: number;
}

interface Plan extends Rejection {
  readonly limits: readonly Limit[];
  /** Of the request that is being checked: its keys at the limits, and what it found. Checks do not wait, so one of each will do. */
  readonly keys: string[];
  readonly probe: Probe;
  readonly delayLevel: LogLevel;
}

const DELAY_LEVELS = { error: 'warn', warn: 'notice', notice: 'info', info: 'info' } as const;

/** Under this key a request keeps its `$limit_req_status`. */
const STATUS = {};

/** Limits the rate of requests with the leaky bucket (ngx_http_limit_req_module). */
@httpModule({
  name: 'srv_http_limit_req_module',
  api: 1,
  directives,
  phases: { preaccess: 100 },
  variables: { limit_req_status: (request) => mainRequest(request).get(STATUS) as string | undefined },
})
export class LimitReq {
  readonly #zones: LimitZones;

  constructor(
    private readonly zones: Zones,
    private readonly log: Log,
    metrics: Metrics,
    private readonly tasks: Tasks,
  ) {
    this.#zones = new LimitZones('req', LIMIT_RESULTS, metrics);
  }

  start(role: string): void {
    if (role === 'master') this.#zones.measure(this.tasks);
  }

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const limits = this.#limits(scope);
    if (limits.length === 0) return undefined;
    const { limit_req_status: status, limit_req_log_level: level, limit_req_dry_run: isDry } = scope.conf;
    const probe: Probe = { limit: limits[0]!, now: 0, excess: 0 };
    const plan: Plan = { limits, keys: [], probe, status, level, delayLevel: DELAY_LEVELS[level], dryRun: isDry };
    return {
      preaccess: (request) => this.#check(request, plan),
      explain: { preaccess: (request, notes) => this.#explain(request, plan, notes) },
    };
  }

  #limits(scope: LocationScope<typeof directives>): Limit[] {
    const { limit_req: lines, limit_req_zone: declared } = scope.conf;
    return limitsOf(
      scope,
      'limit_req',
      ' rate=…',
      lines,
      declared,
      ({ zone: name, burst, delay, nodelay }, { key, zone: size, rate, sync }) => {
        const ttl = REMEMBERED + (burst / rate) * 1000;
        const records =
          sync === undefined ? this.zones.records<Field>(size, { fields: FIELDS, ttl }) : this.#shared(size, ttl, { rate, burst });
        const counters = this.#zones.use(name, records, scope);
        return { name, key, records, rate, burst, undelayed: nodelay ? Infinity : delay, isShared: sync !== undefined, counters };
      },
    );
  }

  #shared(size: ZoneSize, ttl: number, limit: Pick<Limit, 'rate' | 'burst'>): Records<Field> {
    const merge = (fields: RecordFields<Field>, { passed }: { readonly passed: number }): void => pour(fields, limit, passed, Date.now());
    return this.zones.records(size, { fields: SHARED_FIELDS, ttl, sync: { counts: ['passed'], merge } });
  }

  /** All limits have to let a request pass before any of them counts it. */
  #check(request: HttpRequest, plan: Plan): Result {
    if (mainRequest(request).get(STATUS) !== undefined) return DECLINED;
    const { limits, keys, probe } = plan;
    let last = -1;
    for (let at = 0; at < limits.length; at++) if ((keys[at] = this.#keyOf(request, limits[at]!)) !== '') last = at;
    if (last < 0) return DECLINED;
    probe.now = request.startTime;
    for (let at = 0; at < last; at++) if (!passes(keys[at]!, limits[at]!, probe)) return this.#reject(request, plan);
    let delay = 0;
    let slowest = limits[last]!;
    let excess = 0;
    for (let at = last; at >= 0; at--) {
      if (keys[at] === '') continue;
      const limit = limits[at]!;
      if (!counts(keys[at]!, limit, probe)) return this.#reject(request, plan);
      const needed = Math.floor(((probe.excess - limit.undelayed) * 1000) / limit.rate);
      if (needed <= delay) continue;
      delay = needed;
      slowest = limit;
      excess = probe.excess;
    }
    for (let at = last; at >= 0; at--) {
      const limit = limits[at]!;
      if (keys[at] !== '' && (delay === 0 || limit !== slowest)) limit.counters.passed.add();
    }
    return delay > 0 ? this.#delay(request, plan, delay, slowest, excess) : this.#pass(request);
  }

  @action('limit_req.zones')
  figures(): Readonly<Record<string, LimitFigures>> {
    return this.#zones.figures();
  }

  /** @returns false if there is no such zone */
  @action('limit_req.reset')
  reset({ zone }: { readonly zone: string }, { dryRun }: ActionContext): boolean {
    return this.#zones.reset(zone, dryRun);
  }

  /** Result of the request at this moment, without counting it. */
  #explain(request: HttpRequest, { limits, status, dryRun: isDry }: Plan, notes: ExplainNotes): Result {
    let isOver = false;
    for (const limit of limits) {
      const key = this.#keyOf(request, limit);
      const record = key === '' ? undefined : limit.records.get(key);
      const excess = record === undefined ? 0 : excessOf(record, { limit, now: request.startTime, excess: 0 });
      const isAbove = excess > limit.burst;
      const wait = isAbove ? 0 : Math.max(Math.floor(((excess - limit.undelayed) * 1000) / limit.rate), 0);
      const facts = {
        zone: limit.name,
        key: shownKey(key),
        rate: limit.rate / 1000,
        burst: limit.burst / 1000,
        excess: excess / 1000,
        delay: wait,
      };
      notes.say(`limit_req ${limit.name}: ${key === '' ? 'the key is empty, and nothing is limited' : stateText(facts, isAbove)}`, facts);
      if (isAbove) isOver = true;
    }
    return isOver && !isDry ? status : DECLINED;
  }

  #keyOf(request: HttpRequest, { key, name }: Limit): string {
    return limitKey(request, key, LONGEST_KEY, this.log, `limit_req zone "${name}"`);
  }

  #pass(request: HttpRequest): Result {
    mainRequest(request).set(STATUS, 'PASSED');
    return DECLINED;
  }

  #delay(request: HttpRequest, plan: Plan, delay: number, { name, counters }: Limit, excess: number): Result {
    (plan.dryRun ? counters.delayed_dry_run : counters.delayed).add();
    this.log.write(plan.delayLevel, `delaying request${dryRunText(plan)}, excess: ${decimal(excess)}, by zone "${name}"`, request);
    mainRequest(request).set(STATUS, plan.dryRun ? 'DELAYED_DRY_RUN' : 'DELAYED');
    return plan.dryRun ? DECLINED : request.delay(delay);
  }

  #reject(request: HttpRequest, plan: Plan): Result {
    const { excess, limit } = plan.probe;
    (plan.dryRun ? limit.counters.rejected_dry_run : limit.counters.rejected).add();
    this.log.write(plan.level, `limiting requests${dryRunText(plan)}, excess: ${decimal(excess)} by zone "${limit.name}"`, request);
    mainRequest(request).set(STATUS, plan.dryRun ? 'REJECTED_DRY_RUN' : 'REJECTED');
    return plan.dryRun ? DECLINED : plan.status;
  }
}

/** True if a limit would let the request pass. Counts nothing. */
function passes(key: string, limit: Limit, probe: Probe): boolean {
  probe.limit = limit;
  if (key === '') return true;
  limit.records.update(key, look, probe);
  return probe.excess <= limit.burst;
}

/** Counts the request, unless that is too much. */
function counts(key: string, limit: Limit, probe: Probe): boolean {
  probe.limit = limit;
  return limit.records.update(key, count, probe) === 'stored';
}

function look(fields: RecordFields<Field>, probe: Probe): boolean {
  probe.excess = excessOf(fields, probe);
  return false;
}

function count(fields: RecordFields<Field>, probe: Probe): boolean {
  probe.excess = excessOf(fields, probe);
  if (probe.excess > probe.limit.burst) return false;
  fields.excess = probe.excess;
  // Requests of several workers do not come in the order of their times: what has leaked once does not leak again.
  if (probe.now > fields.last || probe.now < fields.last - CLOCK_SET_BACK) fields.last = probe.now;
  if (probe.limit.isShared) fields.passed++;
  return true;
}

/** Requests that other nodes have let pass. Where they are the first ones of a key, the first one fills nothing. */
function pour(fields: RecordFields<Field>, { rate, burst }: Pick<Limit, 'rate' | 'burst'>, passed: number, now: number): void {
  if (passed <= 0) return;
  const before = fields.last === 0 ? -1000 : fields.excess - Math.floor((rate * Math.max(now - fields.last, 0)) / 1000);
  fields.excess = Math.min(Math.max(before + passed * 1000, 0), burst + rate * LONGEST_DEBT);
  fields.last = Math.max(fields.last, now);
}

/** The bucket leaks at the rate, and this request is poured in: the first one of a key finds it empty and fills nothing. */
function excessOf({ last, excess }: RecordFields<Field>, { now, limit: { rate } }: Probe): number {
  if (last === 0) return 0;
  const passed = now - last;
  const leaked = passed < -CLOCK_SET_BACK ? 1 : Math.max(passed, 0);
  return Math.max(excess - Math.floor((rate * leaked) / 1000) + 1000, 0);
}

interface LimitFacts {
  readonly key: string;
  readonly rate: number;
  readonly excess: number;
  readonly delay: number;
}

function stateText({ key, rate, excess, delay }: LimitFacts, isAbove: boolean): string {
  const effect = isAbove ? 'over the burst now' : delay > 0 ? `waits for ${delay} ms now` : 'passes now';
  return `key "${key}", ${rate} requests a second, excess ${excess.toFixed(3)}: ${effect}`;
}

const decimal = (thousandths: number): string => (thousandths / 1000).toFixed(3);
