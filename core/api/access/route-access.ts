/** Access to the route that a path has matched: the same for a call by itself and for one within a transaction. */
import type { ApiCall } from '../api-call.js';
import type { Match, Route } from '../route-table.js';

/** A call whose client is checked. */
type Checked = Pick<ApiCall, 'caller' | 'method'>;

/**
 * Checks a call before its input is read.
 * @param route undefined: the path does not have the method
 * @throws ApiError 401, 403
 */
export function assertMayUse({ caller, method }: Checked, { key, params }: Match, route: Route | undefined): Promise<void> {
  const named = route?.schemas.upstream;
  return caller.assertMayUse({
    method,
    key,
    isWrite: isWrite(route),
    scope: route?.schemas.scope,
    upstream: named?.in === 'path' ? params[named.name] : undefined,
    isUpstreamInBody: named?.in === 'body',
    isCommon: isCommon(route),
  });
}

/**
 * Checks a call whose input is known and valid.
 * @throws ApiError 403
 */
export function assertMayApply(
  { caller }: Pick<Checked, 'caller'>,
  { key, params }: Match,
  route: Route,
  { body, dryRun }: { readonly body: unknown; readonly dryRun: boolean },
): void {
  const named = route.schemas.upstream;
  const upstream = named && (named.in === 'path' ? params[named.name] : textOf(body, named.name));
  const { scope } = route.schemas;
  caller.assertMayApply({ key, isWrite: isWrite(route), scope, upstream, isCommon: isCommon(route), isDryRun: dryRun });
}

function isCommon(route: Route | undefined): boolean {
  return route?.schemas.carriesCalls === true || route?.schemas.open === true;
}

function isWrite(route: Route | undefined): boolean {
  return route !== undefined && route.verb !== 'GET';
}

function textOf(body: unknown, name: string): string | undefined {
  const value = (body as Readonly<Record<string, unknown>> | undefined)?.[name];
  return typeof value === 'string' ? value : undefined;
}
