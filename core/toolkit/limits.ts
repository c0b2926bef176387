/** Limits of what requests may use: one request or connection counts under the keys of several zones (`limit_req`, `limit_conn`). */
import { choice, flag, number, type ZoneSize } from '../contract/args.js';
import type { HttpRequest } from '../contract/http.js';
import type { BlockScope } from '../contract/scope.js';
import type { Log, LogLevel } from '../contract/log.js';
import { directive, type Directives } from '../contract/spec.js';
import type { EngineTemplate } from '../contract/template.js';

/** A request of a traffic engine that has limits: one that the log knows. */
export type LimitedRequest = NonNullable<Parameters<Log['write']>[2]>;

/** Status of rejected requests: `limit_x_status`. */
export const rejectionStatus = directive({
  in: ['http', 'server', 'location'],
  args: number({ min: 400, max: 599 }),
  default: '503',
  dynamic: true,
  doc: 'Status of rejected requests.',
});

/** Log level of rejected requests: `limit_x_log_level`. */
export function rejectionLevel<const C extends string>(contexts: readonly C[], doc: string) {
  return directive({ in: contexts, args: choice('info', 'notice', 'warn', 'error'), default: 'error', dynamic: true, doc });
}

/** True if requests pass although they are above a limit: `limit_x_dry_run`. */
export function dryRun<const C extends string>(contexts: readonly C[], what: string) {
  return directive({
    in: contexts,
    args: flag(),
    default: 'off',
    dynamic: true,
    doc: `Counts and logs excessive ${what} without limiting them.`,
  });
}

/** Treatment of a request above a limit. */
export interface Rejection {
  readonly status: number;
  readonly level: LogLevel;
  readonly dryRun: boolean;
}

/** `, dry run` for a message of nginx. */
export const dryRunText = ({ dryRun: isDry }: Rejection): string => (isDry ? ', dry run' : '');

/** One `limit_x_zone`. */
interface Declared {
  readonly key: EngineTemplate<never>;
  readonly zone: ZoneSize;
}

/** The block that limits are compiled for. */
export type LimitScope = Pick<BlockScope<Directives, string, never>, 'lines' | 'each' | 'fail'>;

/**
 * The lines of a limit, each with the zone that it names. Rejects zones that are not declared, and a second limit of one zone.
 * @param name of the directive; that of the declaration is `${name}_zone`
 * @param parameters what the declaration has besides key and zone, for the hint
 */
export function limitsOf<L extends { readonly zone: string }, D extends Declared, T>(
  scope: LimitScope,
  name: string,
  parameters: string,
  lines: readonly L[],
  declared: readonly D[],
  make: (line: L, declared: D) => T,
): T[] {
  const places = scope.lines(name);
  const names = new Set<string>();
  return scope.each(lines.entries(), ([at, line]) => {
    const found = declared.find((candidate) => candidate.zone.name === line.zone);
    if (found === undefined)
      return scope.fail(`zero size shared memory zone "${line.zone}"`, places[at], `declare it: ${name}_zone $key zone=…${parameters};`);
    if (names.has(line.zone)) scope.fail(`"${name}" directive is duplicate`, places[at], 'one limit for each zone');
    names.add(line.zone);
    return make(line, found);
  });
}

/** The key of a request at a limit. Empty: the limit is not for this request, or the key is too long, which is logged as by nginx. */
export function limitKey<R extends LimitedRequest>(request: R, key: EngineTemplate<R>, longest: number, log: Log, zone: string): string {
  const value = key.of(request);
  if (value.length <= longest) return value;
  const shown = value.length > 255 ? `${value.slice(0, 100)}…` : value;
  log.write('error', `the key of ${zone} is more than ${longest} bytes: "${shown}"`, request);
  return '';
}

/** A key for people: binary keys (`$binary_remote_addr`) as an address or as hexadecimal digits. */
export function shownKey(key: string): string {
  if (/^[\x20-\x7e]*$/.test(key)) return key;
  const bytes = Buffer.from(key, 'latin1');
  return bytes.length === 4 ? bytes.join('.') : `0x${bytes.toString('hex')}`;
}

/** The request of the client: it is limited once, its subrequests included. */
export function mainRequest(request: HttpRequest): HttpRequest {
  let main = request;
  while (main.parent !== undefined) main = main.parent;
  return main;
}
