import type { HttpRequest } from '../../core/contract/http.js';
import { isKept, type KeepRule } from './keep-rules.js';
import type { AccessItem } from './log-items.js';
import { requestFacts } from './request-facts.js';
import { extraOf } from './request-trace.js';
import { attributesOf, routeOf, type TelemetryScope, type TraceSettings } from './trace-settings.js';
import { traceOf } from './tracer.js';

/** Settings of the log records of one location. */
interface AccessSettings {
  /** Empty: all requests. */
  readonly rules: readonly KeepRule[];
  readonly route: string;
  readonly attributes: TraceSettings['attributes'];
}

/** @returns undefined: there are no log records */
export function accessSettings(scope: TelemetryScope): AccessSettings | undefined {
  const { telemetry_log: words = [] } = scope.conf;
  const [first] = words;
  if (first === undefined || scope.conf.otel_exporter === undefined) return undefined;
  const rules = words.filter((word) => typeof word !== 'string');
  if (rules.length < words.length && words.length > 1)
    scope.fail('"all" and "off" have no other parameters', 'telemetry_log', 'telemetry_log status>=500 time>1s;');
  return first === 'off' ? undefined : { rules, route: routeOf(scope), attributes: attributesOf(scope) };
}

/** Log handler of a location. */
export function accessHandler(
  { rules, route, attributes }: AccessSettings,
  take: (item: AccessItem) => void,
): (request: HttpRequest) => void {
  return (request) => {
    if (request.parent !== undefined) return;
    const end = Date.now();
    const { startTime: start, status } = request;
    if (rules.length > 0 && !isKept(rules, { status, time: end - start, attempts: attemptsOf(request) })) return;
    const trace = traceOf(request);
    const isTraced = trace?.isSampled === true;
    take({
      kind: 'access',
      traceId: isTraced ? trace.traceId : '',
      spanId: isTraced ? trace.spanId : '',
      parentId: '',
      hasRemoteParent: false,
      state: '',
      start,
      end,
      name: '',
      ...requestFacts(request, false, route),
      cacheStatus: request.variable('upstream_cache_status') ?? '',
      extra: extraOf({ attributes }, request),
      requestId: request.requestId,
    });
  };
}

/** Members that were asked: `$upstream_addr` has them all. */
function attemptsOf(request: HttpRequest): number {
  const addresses = request.variable('upstream_addr') ?? '';
  return addresses === '' ? 0 : addresses.split(/, | : /).length;
}
