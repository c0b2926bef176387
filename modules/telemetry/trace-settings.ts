import type { Scope, Template } from '../../core/contract/http.js';
import { locationName } from '../../core/toolkit/location-name.js';
import type { directives } from './directives.js';
import type { KeepRule } from './keep-rules.js';
import type { Propagator } from './trace-context.js';

export type TelemetryScope = Scope<typeof directives>;

/** Settings of one server or location. */
export interface TraceSettings {
  /** Part of the requests without a context that is sampled; 0: none, but spans of sampled clients are recorded. */
  readonly ratio: number;
  readonly extracts: boolean;
  readonly injects: boolean;
  readonly forms: readonly Propagator[];
  readonly keep: readonly KeepRule[];
  readonly attributes: readonly { readonly name: string; readonly value: Template }[];
  readonly name: Template | undefined;
  /** Low-cardinality name of what serves a request: the location. Bytes. */
  readonly route: string;
}

export function attributesOf({ conf }: TelemetryScope): TraceSettings['attributes'] {
  return conf.telemetry_attribute.map(({ name, value }) => ({ name: bytes(name), value }));
}

/** Values of requests are strings of bytes; texts of the configuration become that. */
const bytes = (text: string): string => Buffer.from(text).toString('latin1');

/** @returns undefined: it has `telemetry off` */
export function traceSettings(scope: TelemetryScope): TraceSettings | undefined {
  const { telemetry, telemetry_context: context, telemetry_keep: keep = [] } = scope.conf;
  const { mode, ratio } = telemetry;
  if ((mode === 'ratio') !== (ratio !== undefined))
    scope.fail(ratio === undefined ? '"ratio" requires a number' : `invalid parameter "${ratio}"`, 'telemetry', 'telemetry ratio 0.1');
  if (mode === 'off') return undefined;
  return {
    ratio: mode === 'on' ? 1 : (ratio ?? 0),
    extracts: context === 'propagate' || context === 'extract',
    injects: context === 'propagate' || context === 'inject',
    forms: scope.conf.telemetry_propagators,
    keep,
    attributes: attributesOf(scope),
    name: scope.conf.otel_span_name,
    route: routeOf(scope),
  };
}

/** The location that a scope is, or is in. */
export function routeOf(scope: TelemetryScope | Scope): string {
  if (scope.kind === 'location') return scope.directive === undefined ? '' : bytes(locationName(scope.directive).name);
  return scope.parent === undefined ? '' : routeOf(scope.parent);
}

/** Directives that the decision about a request depends on. */
const DECISIVE = ['telemetry', 'telemetry_context', 'telemetry_propagators', 'telemetry_keep'];

/** True if other lines than in the server decide about requests. */
export function decidesItself(scope: Scope): boolean {
  let server: Scope | undefined = scope;
  while (server !== undefined && server.kind !== 'server') server = server.parent;
  return DECISIVE.some((name) => scope.lines(name)[0] !== server?.lines(name)[0]);
}
