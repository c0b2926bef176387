/** Limits of connections (`limit_conn`), for the modules of every traffic engine that has them. */
import { argType } from '../contract/arg-type.js';
import { requiredParam, template, text, zone, zoneSync, type ZoneSize } from '../contract/args.js';
import { dryRun, limitKey, limitsOf, rejectionLevel, type LimitedRequest, type LimitScope } from './limits.js';
import type { LimitCounters, LimitZones } from './limit-zones.js';
import type { MetricScope } from '../contract/metrics.js';
import type { Log, LogLevel } from '../contract/log.js';
import { ArgError, directive, type ArgType } from '../contract/spec.js';
import type { EngineTemplate } from '../contract/template.js';
import type { Holds, Zones } from '../contract/zones.js';

const MOST = 65_535;
const LONGEST_KEY = 255;

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

/**
 * @param engine the block of the traffic engine, where zones are declared
 * @param anywhere the contexts of limits
 * @param docs what limits do there, and which log level
 */
export function limitConnDirectives<R, const E extends string, const C extends string>(
  engine: E,
  anywhere: readonly C[],
  docs: { readonly limit: string; readonly level: string },
) {
  return {
    limit_conn_zone: directive({
      in: [engine],
      args: { key: template<R>('key'), zone: requiredParam('zone', zone({ sync: 'sum' })), sync: zoneSync() },
      many: true,
      doc: 'Shared memory zone with the number of connections of each key.',
      argDocs: { sync: 'Connections of all nodes count, over the `redis` block of that name or the only one.' },
    }),
    limit_conn: directive({
      in: anywhere,
      args: { zone: text('zone'), connections: connections() },
      many: true,
      dynamic: true,
      doc: docs.limit,
    }),
    limit_conn_log_level: rejectionLevel(anywhere, docs.level),
    limit_conn_dry_run: dryRun(anywhere, 'connections'),
  };
}

/** One `limit_conn` that applies. */
export interface ConnectionLimit<R> {
  readonly name: string;
  readonly key: EngineTemplate<R>;
  readonly holds: Holds;
  readonly connections: number;
  readonly counters: LimitCounters;
}

/** The values of {@link limitConnDirectives}. */
interface LimitConnConf<R> {
  readonly limit_conn: readonly { readonly zone: string; readonly connections: number }[];
  readonly limit_conn_zone: readonly { readonly key: EngineTemplate<R>; readonly zone: ZoneSize }[];
  readonly limit_conn_log_level: LogLevel;
  readonly limit_conn_dry_run: boolean;
}

/** Holds of a request, until it is over. */
interface Held {
  readonly holds: Holds;
  readonly key: string;
  readonly counters: LimitCounters;
}

/** Under these keys a request keeps its `$limit_conn_status`, and what it holds. */
const STATUS = {};
const HELD = {};

/** The `$limit_conn_status` of a request: `PASSED`, `REJECTED`, `REJECTED_DRY_RUN`. Undefined: no limit was asked. */
export function limitConnStatus(request: Pick<LimitedRequest, 'get'>): string | undefined {
  return request.get(STATUS) as string | undefined;
}

/** The current limits in one block. */
export class ConnectionLimits<R extends LimitedRequest> {
  private constructor(
    readonly limits: readonly ConnectionLimit<R>[],
    private readonly log: Log,
    private readonly level: LogLevel,
    readonly dryRun: boolean,
  ) {}

  /** Undefined: there are none. */
  static of<R extends LimitedRequest>(
    scope: LimitScope & MetricScope & { readonly conf: LimitConnConf<R> },
    zones: Zones,
    figures: LimitZones,
    log: Log,
  ): ConnectionLimits<R> | undefined {
    const { limit_conn: lines, limit_conn_zone: declared, limit_conn_log_level: level, limit_conn_dry_run: isDry } = scope.conf;
    const limits = limitsOf(scope, 'limit_conn', '', lines, declared, ({ zone: name, connections: most }, { key, zone: size }) => {
      const holds = zones.holds(size);
      return { name, key, holds, connections: most, counters: figures.use(name, holds, scope) };
    });
    return limits.length === 0 ? undefined : new ConnectionLimits(limits, log, level, isDry);
  }

  /** The key of a request at a limit; empty: the limit is not for it. */
  keyAt({ key, name }: ConnectionLimit<R>, request: R): string {
    return limitKey(request, key, LONGEST_KEY, this.log, `limit_conn zone "${name}"`);
  }

  /**
   * Holds a connection at all limits until its request is over, or at none where one is reached.
   * @param owner the request that holds it, where `request` is a part of that one
   * @returns true: it is to be rejected
   */
  rejects(request: R, owner = request): boolean {
    const held: Held[] = [];
    for (const limit of this.limits) {
      const key = this.keyAt(limit, request);
      if (key === '') continue;
      if (limit.holds.acquire(key, limit.connections) !== 'held') {
        release(held);
        return this.#reject(request, owner, limit);
      }
      held.push({ holds: limit.holds, key, counters: limit.counters });
    }
    if (held.length === 0) return false;
    for (const { counters } of held) counters.passed.add();
    owner.set(STATUS, 'PASSED');
    owner.set(HELD, held);
    owner.atEnd(releaseHeld);
    return false;
  }

  #reject(request: R, owner: R, { name, counters }: ConnectionLimit<R>): boolean {
    (this.dryRun ? counters.rejected_dry_run : counters.rejected).add();
    this.log.write(this.level, `limiting connections${this.dryRun ? ', dry run,' : ''} by zone "${name}"`, request);
    owner.set(STATUS, this.dryRun ? 'REJECTED_DRY_RUN' : 'REJECTED');
    return !this.dryRun;
  }
}

function releaseHeld(request: Pick<LimitedRequest, 'get'>): void {
  release(request.get(HELD) as readonly Held[]);
}

function release(held: readonly Held[]): void {
  for (const { holds, key } of held) holds.release(key);
}
